"""A trained language model: it continues a prompt, and scores a text.

writer = regard.load("runs/mine")
for piece in writer.generate("the", tokens=50): print(piece, end="", flush=True)
writer.score(["a sentence", "another one"]).scores
writer.surprisal("a sentence")                     # (token, bits) of each
writer.inspect("a sentence")                       # candidates, attention, gates and states
writer.continuations("the")                        # what may come next
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.data.batch import Padded
from regard.data.segments import first_token, rows_cut
from regard.data.slots import Slots, slotted
from regard.data.stream import TokenText, encoded
from regard.data.text import Text
from regard.decode import Session
from regard.decode.generate import drawing_of, go_on
from regard.device import choose_device
from regard.display import MOST, html_heat
from regard.errors import DataError, UsageError, counted, one_of
from regard.inspect import BEGIN_LABEL, Array, Inspection, watch_writing
from regard.inspect.outputs import Input, Outputs, next_log_probs, without_positions
from regard.inspect.watch import part_labels, refuse_long_look
from regard.metrics import MetricScore
from regard.metrics.likelihood import Likelihood
from regard.metrics.score import Scores, scores_table
from regard.misuse import explained
from regard.models import ContinuousCache, LanguageModel, build_language_model
from regard.models.continuous_cache import SHARE, THETA
from regard.models.ngram.generator import NgramLanguageModel
from regard.nn.embedding import TokenEmbedding
from regard.nn.undrawn import Undrawn
from regard.recipe import HeldOut, LanguageDecoding, LanguageRecipe, NgramModel
from regard.tasks.decoding import changed_decoding, check_only_decoding
from regard.tasks.embeddings import vectors_of
from regard.tasks.labels import labels_of, token_name, words_of
from regard.tasks.loading import refuse_other_task
from regard.tasks.next_tokens import next_token
from regard.tasks.scoring_text import log_probs_of
from regard.tasks.tokenizer_files import TOKENIZER
from regard.tasks.trained import LoadedModel
from regard.tasks.validating import check_not_empty, check_texts
from regard.tokens import BEGIN, END, PAD, UNKNOWN, Tokenizer, load_tokenizer
from regard.tokens.segmentation import spans_of
from regard.tokens.streaming import TextStream
from regard.vectors import Vectors
from regard.versions import version_of

AT_ONCE = 512
"""Tokens of a row that are scored together, where that affects only speed."""


@dataclass(frozen=True, repr=False)
class ScoredText:
    """A model's scores of a text."""

    likelihood: Likelihood
    log_probs: npt.NDArray[np.float32]
    """Natural logarithms, one for each token, in the order of the text."""
    text: TokenText
    tokenizer: Tokenizer
    beyond: Sequence[str] = ()
    """Text of the tokens beyond the vocabulary."""

    @cached_property
    def scores(self) -> tuple[MetricScore, MetricScore, MetricScore]:
        """Perplexity per token, perplexity per word, and bits per character."""
        return self.likelihood.scores()

    def __repr__(self) -> str:
        scores = ", ".join(f"{score.name} {score.number}" for score in self.scores)
        return f"<ScoredText: {counted(len(self.text), 'token')}, {scores}>"

    def _repr_html_(self) -> str:
        first = list(islice(self.surprisals(), MOST))
        heat = html_heat([token for _, token, _ in first], [bits for *_, bits in first], "bits")
        cut = f", of which the first {MOST} are shown" if len(self.text) > MOST else ""
        return scores_table(self.scores, f"{counted(len(self.text), 'token')}{cut}") + heat

    def inspection(self, title: str = "") -> Inspection:
        """The probability and the surprisal of each token."""
        labels = tuple(token for _, token, _ in self.surprisals())
        arrays = {
            "surprisals": Array(("target",), -self.log_probs / np.float32(math.log(2))),
            "probabilities": Array(("target",), np.exp(self.log_probs)),
        }
        return Inspection(arrays, {"target": labels}, title=title, shown=("surprisals",))

    def surprisals(self) -> Iterator[tuple[int, str, float]]:
        """For each token: the number of its line from 1, its text, and its surprisal in bits."""
        lines = np.searchsorted(self.text.lines, np.arange(len(self.text)), side="right") + 1
        names, size = self.tokenizer.vocabulary, self.tokenizer.size
        for line, token, value in zip(lines.tolist(), self.text.stream.tolist(), self.log_probs.tolist(), strict=True):
            name = names[token] if token < size else self.beyond[token - size]
            yield line, name, -value / math.log(2)


@dataclass(frozen=True)
class Prompt:
    """A prompt as a model reads it."""

    tokens: list[int]
    unknown: tuple[str, ...]
    """Its out-of-vocabulary words, in order."""


@explained
class Writer(LoadedModel[LanguageRecipe, LanguageModel]):
    """A language model with its tokenizer, ready for use."""

    def __init__(self, recipe: LanguageRecipe, model: LanguageModel, tokenizer: Tokenizer) -> None:
        self.recipe, self.model, self.tokenizer = recipe, model.eval(), tokenizer
        self.session = Session(self.model)
        self.encoder = slotted(tokenizer, recipe.model)
        self.beyond = self.encoder.beyond if isinstance(self.encoder, Slots) else ()

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto", changes: Sequence[str] = ()) -> Self:
        """The model in a folder, with `key=value` changes to how it writes."""
        check_only_decoding(changes)
        recipe = ModelFolder(folder).read_recipe(LanguageRecipe, changes)
        tokenizer = load_tokenizer(folder / TOKENIZER)
        with Undrawn():
            model = build_language_model(recipe.model, tokenizer.size)
        weights = load_weights(folder)
        if isinstance(model, NgramLanguageModel):
            model.make_room(weights)
        put_weights(model, weights, folder)
        return cls(recipe, model.to(choose_device(device)), tokenizer)

    @property
    def _facts(self) -> dict[str, str]:
        cache = {"cache": f"{self.model.size:,} words"} if isinstance(self.model, ContinuousCache) else {}
        tokens = f"{self.tokenizer.size:,} {self.tokenizer.kind}"
        return {"tokens": tokens, **cache, "on": str(self.model.like.device)}

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """Its scores on the development or test text of its recipe."""
        if not self.recipe.data.has(split):
            remedy = "score files with `regard score`"
            raise UsageError(f"the model's recipe names no {split} text (data.{split}); {remedy}")
        return Scores(self.score_text(Text(split, self.recipe.data)).scores)

    def with_cache(self, size: int, theta: float = THETA, share: float = SHARE) -> "Writer":
        """The same model with a cache of its last `size` words, which get `share` of the probability (Grave et al.
        2017); it needs no training."""
        if isinstance(self.model, NgramLanguageModel):
            raise UsageError(
                "a cache finds words again by what the model computed where they stood, and an n-gram model computes "
                "nothing; leave the cache out, or put it on a model that is trained"
            )
        return Writer(self.recipe, ContinuousCache(self.model, size=size, theta=theta, share=share), self.tokenizer)

    def prompt(self, text: str) -> Prompt:
        """The prompt as the model reads it: all lines of a text, the last of which is continued."""
        *whole, last = text.split("\n")
        for number, line in enumerate((*whole, last), start=1):
            if (place := line.find("\0")) >= 0:
                raise DataError(
                    f"prompt, line {number}: a NUL character at character {place + 1} of the line, so this is not "
                    "text; take it out (convert UTF-16 to UTF-8 first)"
                )
        end = [END] if self.recipe.data.end_of_line else []
        rows = self.encoder.encode_all([*whole, last])
        tokens = [token for row in rows[:-1] for token in (*row, *end)] + rows[-1]
        unknown = tuple(
            line[piece.start : piece.end]
            for line in (*whole, last)
            for piece in self.tokenizer.pieces(line)
            if piece.token == UNKNOWN
        )
        words = [token for token in tokens if token != END]
        if unknown and len(unknown) == len(words) and not self.beyond:
            near = one_of(get_close_matches(unknown[0], self.tokenizer.vocabulary.tokens))
            raise UsageError(
                f"prompt {text!r}: the model knows none of its words{near and f'; near {unknown[0]!r} are {near}'}. "
                "Write it as the training text is written, also in upper and lower case, or give no prompt"
            )
        return Prompt(tokens, unknown)

    def generate(
        self,
        prompt: str = "",
        *,
        tokens: int = 100,
        sample: int = 0,
        decoding: LanguageDecoding | Mapping[str, Any] | None = None,
    ) -> Iterator[str]:
        """Continues a prompt by a number of tokens, and yields the new text in pieces as they are written. It is a
        function of the seed and of the sample's number.

        Settings are the recipe's, but for those that `decoding` gives by name, as in `{"temperature": 0.8}`; a whole
        `LanguageDecoding` replaces the recipe's."""
        if tokens < 1:
            raise UsageError(f"tokens = {tokens}: ask for at least one")
        decoding = changed_decoding(self.recipe.decode, decoding)
        read = self.prompt(prompt).tokens
        given = [first_token(self.recipe.data.context), *read]
        learned = getattr(self.recipe.model, "learned_positions", None)
        # The last token is written but not read.
        positions = len(given) + tokens - 1
        if learned is not None and positions > learned:
            raise UsageError(
                f"a prompt of {counted(len(read), 'token')} and {tokens:,} more need {positions:,} positions, but this "
                f"model has learned {learned:,} (model.longest); ask for fewer tokens"
            )
        rules = self._never, self._begin
        return self._shown(go_on(self.session, given, decoding, *rules, tokens=tokens, sample=sample), read)

    def continuations(
        self,
        prompt: str = "",
        written: Sequence[int] = (),
        *,
        count: int = 10,
        sample: int = 0,
        decoding: LanguageDecoding | Mapping[str, Any] | None = None,
    ) -> Inspection:
        """The next-token distribution after a prompt and the tokens (numbers) `written` since: the likeliest
        `candidates` with their probabilities at the temperature of `decoding`, and as `tokens`; which of them would be
        written (`next`), as by `generate`; the `text` up to here; of a model that copies, the `parts` of each
        probability at temperature 1, and what is `copied` from where; and the weights of attention heads."""
        if count < 1:
            raise UsageError(f"count = {count}: ask for at least one")
        decoding, read = changed_decoding(self.recipe.decode, decoding), self.prompt(prompt).tokens
        given, size = [first_token(self.recipe.data.context), *read], self.tokenizer.size + len(self.beyond)
        for place, token in enumerate(written):
            if not 0 <= token < size:
                raise UsageError(f"written[{place}] = {token}: this model has {size:,} tokens, counted from 0")
            # Of lines that are read alone, the preceding ones are forgotten.
            given = [self._begin] if token == END and self._begin is not None else [*given, token]
        refuse_long_look(len(given))
        drawing = drawing_of(decoding, sample, len(written) + 1, self.model.like.device)
        name = partial(token_name, self.tokenizer, self.beyond)
        arrays, names = next_token(self.model, given, self._never, drawing, len(written), count, name)
        text = prompt + "".join(self._shown(iter(written), read))
        arrays["text"] = Array((), np.zeros(()), np.array(text, dtype=object))
        return Inspection(
            arrays, {"past": (BEGIN_LABEL, *names[1:])} | part_labels(arrays), title=text, shown=("candidates",)
        )

    def why_eager(self) -> str | None:
        """On a CUDA device, why steps of writing are not captured in a CUDA graph; None if they are."""
        return self.session.why_eager(self.recipe.decode)

    def embeddings(self) -> dict[str, Vectors]:
        """A copy of its token embeddings; none for a counted model."""
        found = [part for _, part in self.model.named_modules() if isinstance(part, TokenEmbedding)]
        return {"tokens": vectors_of(found[0], self.tokenizer)} if found else {}

    @property
    def _never(self) -> list[int]:
        """Tokens that are not generated: an unknown word is not text, unless the text itself has a word for it."""
        return [PAD, BEGIN] if self.tokenizer.settings.unknown else [PAD, BEGIN, UNKNOWN]

    @property
    def _begin(self) -> int | None:
        """The token that begins each line; None if lines continue each other."""
        context = self.recipe.data.context
        return first_token(context) if context == "lines" else None

    def score(
        self, lines: str | Sequence[str], *, rows: int = 1, on_progress: Callable[[int, int], None] | None = None
    ) -> ScoredText:
        """The model's scores of lines of text, read in order, in the context of its recipe."""
        given = lines.split("\n") if isinstance(lines, str) else lines
        return self.score_text(Text("test", self.recipe.data, given), rows=rows, on_progress=on_progress)

    def score_text(
        self,
        text: Text,
        *,
        context: str | None = None,
        rows: int = 1,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> ScoredText:
        """The same for a text that may be in files, and with another `context` than that of the recipe.

        `rows` stretches of a stream are read side by side, which is faster, but each begins without its past."""
        data = self.recipe.data
        context = context or data.context
        if rows < 1:
            raise UsageError(f"rows = {rows}: a text is read in at least one")
        if context == "documents" and data.documents == "none":
            raise UsageError(
                "context = 'documents': the model's recipe does not say where documents begin (data.documents); "
                "use 'stream' or 'lines'"
            )
        tokens = self.tokens_of(text)
        found = log_probs_of(self.model, tokens, context, segment=self.segment, rows=rows, on_progress=on_progress)
        # Only a stream is cut into rows: lines and documents have no past that rows could cut off.
        read = rows_cut(len(tokens), rows) if context == "stream" else 1
        likelihood = Likelihood(
            log_prob=float(found.sum(dtype=np.float64)),
            tokens=len(tokens),
            words=text.found["words"],
            characters=text.found["characters"],
            lines=len(tokens.lines),
            unknown=int(((tokens.stream == UNKNOWN) | (tokens.stream >= self.tokenizer.size)).sum()),
            ends=data.end_of_line,
            conditions=self._conditions(context, read, text.origin),
        )
        return ScoredText(likelihood, found, tokens, self.tokenizer, self.beyond)

    def tokens_of(self, text: Text) -> TokenText:
        """A text as the model reads it."""
        return TokenText.of(encoded(text.lines(), self.encoder, self.recipe.data.end_of_line))

    @property
    def segment(self) -> int:
        """Tokens of a text read at a time; more than in training where that does not change scores."""
        own, settings = self.recipe.data.segment, self.recipe.model
        carries_everything = isinstance(settings, NgramModel) or settings.carries_everything
        return max(own, AT_ONCE) if carries_everything else own

    def surprisal(self, text: str) -> list[tuple[str, float]]:
        """Each token of a text with its surprisal in bits."""
        return [(token, bits) for _, token, bits in self.score(text).surprisals()]

    def inspect(self, *texts: str) -> Inspection:
        """An inspection of the model on a text under teacher forcing: the probability and the candidates of each token,
        and attention, gates and states where the model has them."""
        text, given, labels, words = self._looked_at(texts)
        read = torch.tensor([given], device=self.model.like.device)
        nothing = Padded(read[:, :0], read.new_zeros(1))
        name = partial(token_name, self.tokenizer, self.beyond)
        arrays = watch_writing(self.model, nothing, read[:, :-1], read[:, 1:], name)
        attention = tuple(name for name, array in arrays.items() if "head" in array.axes)
        return Inspection(
            arrays,
            labels | part_labels(arrays),
            title=text,
            words=words,
            shown=("surprisals", "candidates", *attention),
            note="" if len(arrays) > 3 else "this model has no attention, gates or states inside: only its candidates",
        )

    def outputs(self, *texts: str) -> Outputs:
        """The tokens of a text, as functions of the model's inputs and activations up to each."""
        text, tokens, labels, words = self._looked_at(texts)
        refuse_long_look(len(tokens) - 1)

        def run(place: int, axis: str, without: Sequence[Collection[int]]) -> torch.Tensor:
            given = [without_positions(tokens[: place + 1], gone) for gone in without]
            return next_log_probs(self.model, Padded.of([[] for _ in without]), given)

        embedding = next((name for name, part in self.model.named_modules() if isinstance(part, TokenEmbedding)), None)
        return Outputs(
            self.model,
            "target",
            labels,
            tokens[1:],
            partial(token_name, self.tokenizer, self.beyond),
            {} if embedding is None else {"past": Input(f"{embedding}.output")},
            run,
            words=words,
            made_at={"target": 0, "past": 0},
            title=text,
        )

    def _looked_at(
        self, texts: Sequence[str]
    ) -> tuple[str, list[int], dict[str, tuple[str, ...]], dict[str, tuple[int | None, ...]]]:
        """The text, its tokens after the initial one, and by axis the labels and words of these."""
        check_texts("texts", texts)
        if len(texts) != 1:
            raise UsageError(
                f"a language model reads a single text, not {len(texts)}; put it between one pair of quotes"
            )
        (text,), data = texts, self.recipe.data
        lines = text.split("\n")
        check_not_empty("text", text)
        if data.context == "lines" and len(lines) > 1:
            raise UsageError("this model reads each line by itself (data.context = 'lines'); give a text of one line")
        tokens = [int(token) for token in self.tokens_of(Text("test", data, lines)).stream]
        kept = [line for line in lines if line.strip() or data.empty != "drop"]
        ends = None if data.end_of_line else -1
        labels = tuple(label for line in kept for label in labels_of(self.tokenizer, line)[:ends])
        before = accumulate((len(spans_of(line)) for line in kept), initial=0)
        words = tuple(
            word
            for first, line in zip(before, kept, strict=False)
            for word in words_of(self.tokenizer, line, first)[:ends]
        )
        return (
            text,
            [first_token(data.context), *tokens],
            {"target": labels, "past": (BEGIN_LABEL, *labels[:-1])},
            {"target": words, "past": (None, *words[:-1])},
        )

    def _shown(self, tokens: Iterator[int], before: Sequence[int]) -> Iterator[str]:
        stream = TextStream(self.tokenizer, before, self.beyond)
        for token in tokens:
            yield stream.add(token)
        yield stream.rest()

    def _conditions(self, context: str, rows: int, origin: str) -> str:
        """The conditions of the scores besides the user's text, for their signature."""
        data, tokenizer = self.recipe.data, self.tokenizer
        seen = "" if context == "lines" else ", carried"
        if context != "lines" and not self.model.blank(1):
            seen = f", segments of {data.segment} apart"
        vocabulary = f"vocabulary:{tokenizer.size} {tokenizer.kind}"
        if self.beyond:
            vocabulary += ", unknown words told apart where they can be copied"
        parts = [vocabulary, f"context:{context}{seen}", f"rows:{rows}"]
        if isinstance(self.model, ContinuousCache):
            cache = self.model
            parts.append(f"cache:{cache.size} words, theta {cache.theta:g}, share {cache.share:g}")
        if isinstance(self.model, NgramLanguageModel) and not self.model.sums_to_one:
            parts.append("scores:divided by their sum")
        if origin:
            parts.append(f"text:{origin}")
        return "|".join([*parts, f"regard:{version_of('regard')}"])


def load_writer(folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()) -> Writer:
    """The language model in a folder."""
    if others:
        raise UsageError(f"{folder}: is a language model, which writes alone; name one folder")
    refuse_other_task(Path(folder), "language")
    return Writer.load(Path(folder), device=device, changes=changes)
