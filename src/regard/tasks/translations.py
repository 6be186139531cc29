"""Results of a translator: translations, and the probabilities of given ones."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from regard.display import html_heat, html_table, shortened
from regard.errors import counted
from regard.inspect import Links

if TYPE_CHECKING:
    from regard.tasks.translator import Translator


@dataclass(frozen=True, repr=False)
class Translation:
    """One output for one input."""

    source: str
    text: str
    score: float
    """Ranks it among the outputs for the same input: `log_prob` divided by the number of tokens (to the power
    `decode.length_penalty`), so about the mean of a token's log-probability, with penalties if there are any."""
    log_prob: float
    """Log-probability of the whole: the sum over its tokens and the end-of-sentence mark."""
    finished: bool
    """False if the length limit was reached before the end-of-sentence mark."""
    tokens: tuple[int, ...]
    others: tuple["Translation", ...] = ()
    """The next best outputs, if more than one was requested."""
    translator: "Translator" = field(kw_only=True, repr=False, compare=False)

    @cached_property
    def alignment(self) -> Links:
        """Links (source word, target word) between source and text, by attention."""
        return self.translator.align([self.source], [self.text])[0]

    def __repr__(self) -> str:
        end = "" if self.finished else ", cut at the length limit"
        return f"<{shortened(self.source)!r} → {shortened(self.text)!r}, score {self.score:.4g}{end}>"

    def _repr_html_(self) -> str:
        rows = [(one.text, f"{one.score:.4g}", f"{one.log_prob:.4g}") for one in (self, *self.others)]
        return html_table(rows, title=self.source, heading=("translation", "score", "log-probability"))


@dataclass(frozen=True, repr=False)
class Scored:
    """A model's scores of a given translation."""

    log_probs: tuple[float, ...]
    """Log-probability of each target token, and of the end-of-sentence mark."""
    tokens: tuple[str, ...]

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole: their sum, not their mean."""
        return sum(self.log_probs)

    def __repr__(self) -> str:
        return f"<Scored: {counted(len(self.tokens), 'token')}, log-probability {self.log_prob:.4g}>"

    def _repr_html_(self) -> str:
        heat = html_heat(self.tokens, [-value for value in self.log_probs], "nats of surprisal")
        return html_table([("log-probability", f"{self.log_prob:.4g}")]) + heat
