"""The links of a translator: its attention between the tokens of a pair, folded into words."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import repeat
from typing import TYPE_CHECKING, Self

from regard.errors import UsageError
from regard.inspect import Alignment, Joining, Links, WordWeights, fold, link
from regard.misuse import explained
from regard.models.generator import Generator
from regard.tasks.attention_choice import AttentionChoice, Layers, Watched
from regard.tasks.labels import blocks_of
from regard.tasks.long_pairs import is_too_long, no_links
from regard.tasks.validating import check_pair_up
from regard.tokens import Tokenizer
from regard.tokens.segmentation import Units, pieces_of, spans_of

if TYPE_CHECKING:
    from regard.tasks.translations import Scored

WATCHED_AT_ONCE = 1000
"""Pairs whose attention is held at a time: enough to sort by length, few enough for memory."""
CHARACTERS_AT_ONCE = 40_000_000
"""Characters of the source times characters of the target of these pairs: as many as of 1,000 pairs of 200 and 200. A
model of six layers with eight heads then needs about a gigabyte."""


def within_memory(sources: Sequence[str], targets: Sequence[str]) -> Iterator[slice]:
    """Runs of consecutive pairs, as many as may be watched together; a larger pair is alone."""
    first = cells = 0
    for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
        size = len(source) * len(target)
        if place > first and (cells + size > CHARACTERS_AT_ONCE or place - first == WATCHED_AT_ONCE):
            yield slice(first, place)
            first, cells = place, 0
        cells += size
    if first < len(sources):
        yield slice(first, len(sources))


@explained
class AlignsByAttention(ABC):
    """Word alignment by a translator's attention."""

    model: Generator
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    attention_choice: AttentionChoice | None = None

    @abstractmethod
    def score(self, sources: Sequence[str], targets: Sequence[str]) -> "list[Scored]":
        """The log-probabilities of given translations."""

    @abstractmethod
    def _watch(self, sources: Sequence[str], targets: Sequence[str]) -> Sequence[Layers]:
        """The attention to the source of every pair, by the names of its taps."""

    @property
    @abstractmethod
    def _no_words(self) -> list[None]:
        """One None for each token before the words of a source."""

    def looking_at(self, choice: AttentionChoice | None) -> Self:
        """The same translator, with links from this attention by default."""
        told = copy(self)
        told.attention_choice = choice
        return told

    def align(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        layer: str | None = None,
        head: int | None = None,
        threshold: float = 0.0,
        units: Units | tuple[Units, Units] = "auto",
    ) -> list[Links]:
        """Links (source word, target word) of given translations: each target word with the source word that got most
        of its attention; words that share a token have the same links.

        `units` defines a word (`regard.tokens.segmentation`), as a pair if it differs between source and target:
        "blanks"; "characters" where a script is written without blanks; "auto" is either, by text; or a function that
        gives the words of a text, in order, or their spans.
        """
        if not 0 <= threshold <= 1:
            raise UsageError(f"threshold = {threshold}: attention weights lie between 0 and 1; choose one in between")
        weights = self.word_weights(sources, targets, layer=layer, head=head, units=units)
        return [link(each, threshold) for each in weights]

    @property
    def joining(self) -> Joining:
        """How its links are joined with those of a translator of the other direction."""
        choice = self.attention_choice
        return Joining() if choice is None or choice.agreement is None else Joining("by-probability")

    def alignments(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        units: Units | tuple[Units, Units] = "auto",
        scored: bool = False,
    ) -> Iterator[Alignment]:
        """The weights behind the links of given translations, of this direction; with `scored`, the mean
        log-probability of a word of each, the end-of-sentence mark among them."""
        check_pair_up(sources, targets)
        read, written = units if isinstance(units, tuple) else (units, units)
        for start in range(0, len(sources), WATCHED_AT_ONCE):
            pairs = list(zip(sources[start : start + WATCHED_AT_ONCE], targets[start:], strict=False))
            sizes = [(len(spans_of(source, read)), len(spans_of(target, written))) for source, target in pairs]
            fit = [pair for pair, size in zip(pairs, sizes, strict=True) if not is_too_long(*size)]
            ours, theirs = [pair[0] for pair in fit], [pair[1] for pair in fit]
            log_probs = (row.log_prob for row in self.score(ours, theirs)) if scored and fit else repeat(None)
            found = zip(self.word_weights(ours, theirs, units=units), log_probs, strict=False)
            for (source, _), size in zip(pairs, sizes, strict=True):
                if is_too_long(*size):
                    yield no_links(source, *size, both=False)
                    continue
                weights, log_prob = next(found)
                yield Alignment(weights, score=None if log_prob is None else log_prob / (1 + size[1]))

    def word_weights(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        layer: str | None = None,
        head: int | None = None,
        units: Units | tuple[Units, Units] = "auto",
    ) -> Iterator[WordWeights]:
        """How much each word of given translations attended to each word of its source, for one pair after another.
        Words that share a token have the weight of all of them."""
        check_pair_up(sources, targets)
        choice = self.attention_choice
        if choice is None or layer is not None or head is not None:
            choice = AttentionChoice.named(layer, head)
        # The weights of all pairs would not fit into memory.
        for some in within_memory(sources, targets):
            watched = self.watched(sources[some], targets[some], units)
            for place, layers in enumerate(watched.layers):
                yield watched.fold(place, layers, choice)

    def watched(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        units: Units | tuple[Units, Units] = "auto",
        *,
        turned: bool = False,
    ) -> Watched:
        """The attention of every layer on given translations, to choose links from; with `turned`, its targets are the
        sources of the other direction."""
        if not self.model.cross_taps:
            raise UsageError(
                "this model has no attention (model.attention.score = 'none'), so there is nothing to align"
            )
        check_pair_up(sources, targets)
        attention = self._watch(sources, targets)
        read, written = units if isinstance(units, tuple) else (units, units)

        def fold_words(place: int, layers: Layers, choice: AttentionChoice) -> WordWeights:
            source, target = sources[place], targets[place]
            rows, target_blocks = blocks_of(self.target_tokenizer, target, written)
            columns, source_blocks = blocks_of(self.source_tokenizer, source, read)
            counts = (max(target_blocks, default=-1) + 1, max(source_blocks, default=-1) + 1)
            words = [*self._no_words, *columns]
            found = fold(choice.weights(layers), choice.row_words(rows), words, counts)
            folded = found.weights[target_blocks][:, source_blocks]
            weights = WordWeights(folded, found.elsewhere[target_blocks], source_blocks)
            return choice.without_marks(weights, pieces_of(source, read), pieces_of(target, written))

        return Watched(self.model.cross_taps, attention, fold_words, turned)
