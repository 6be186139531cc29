"""Language models: running text in, a model that predicts the next token."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy.typing as npt
import torch
from torch import Tensor, nn

from regard.checkpoint import ModelFolder
from regard.data import CorpusPosition, SegmentBatch
from regard.data.cache import remove_other_caches
from regard.data.segments import reading_segments, training_segments
from regard.data.stream import TokenText, prepare_text
from regard.errors import ModelError, counted, with_short_paths
from regard.models import LanguageModel, build_language_model
from regard.models.pretrained import start_from_vectors
from regard.objectives.language import segment_loss
from regard.recipe import LanguageRecipe, NgramModel
from regard.tasks.fingerprints import refuse_other_text, write_fingerprint
from regard.tasks.loading import refuse_other_task
from regard.tasks.ranks import gathered
from regard.tasks.starting_model import refuse_other_shape
from regard.tasks.task import CountingTask, Task
from regard.tasks.tokenizer_files import TOKENIZER, covers, tokenizer_of_part
from regard.tokens import UNKNOWN, Tokenizer, load_tokenizer, save_tokenizer

SAY_EVERY = 500_000
"""Lines between progress lines of a long preparation."""

VALIDATION_ROWS = 10
"""Most rows in which development text is read side by side; each begins without the preceding text."""


class LanguageTask(Task):
    """A language recipe with its text, tokenizer and batches at hand."""

    def __init__(
        self,
        recipe: LanguageRecipe,
        tokenizer: Tokenizer,
        train: TokenText,
        dev: TokenText | None = None,
        fingerprint: str = "",
    ) -> None:
        self.recipe: LanguageRecipe = recipe
        self.tokenizer, self.fingerprint = tokenizer, fingerprint
        self._train, self._dev = train, dev
        batch_tokens = recipe.train.batch_tokens
        self._batches = training_segments(train, recipe.data, seed=recipe.seed, batch_tokens=batch_tokens)

    @classmethod
    def prepare(cls, recipe: LanguageRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        """Checks the text and says what it found, learns the tokens (or takes those of the model to start from), and
        lays the text out for quick access in the folder's cache."""
        begun = _given_tokenizer(recipe, folder)

        def on_progress(what: str, lines: int) -> None:
            if lines % SAY_EVERY == 0:
                say(f"{what}: {lines:,} lines")

        prepared = prepare_text(recipe, folder / "cache", begun, on_progress)
        for line in prepared.report.lines():
            say(with_short_paths(line))
        tokens, batch = len(prepared.parts["train"]), recipe.train.batch_tokens
        if tokens < batch and not isinstance(recipe.model, NgramModel):
            say(
                f"train: this is less than one batch ({counted(tokens, 'token')}, and train.batch_tokens = {batch}): a "
                "model learns so short a text by heart, and cannot be judged by it; train on more text"
            )
        refuse_other_text(folder, prepared.fingerprint)
        remove_other_caches(prepared.cache)
        return cls(recipe, prepared.tokenizer, prepared.parts["train"], prepared.parts.get("dev"), prepared.fingerprint)

    def save(self, folder: Path) -> None:
        save_tokenizer(self.tokenizer, folder / TOKENIZER)
        write_fingerprint(folder, self.fingerprint)

    def build_model(self) -> LanguageModel:
        return build_language_model(self.recipe.model, self.tokenizer.size)

    def start(self, model: nn.Module) -> list[str]:
        assert not isinstance(self.recipe.model, NgramModel)
        return start_from_vectors(model, self.recipe.model.vectors, {"file": self.tokenizer})

    def batches(self, position: CorpusPosition) -> Iterator[tuple[SegmentBatch, CorpusPosition]]:
        return self._batches.from_position(position)

    def passes(self, position: CorpusPosition) -> float:
        return self._batches.passes(position)

    @property
    def tokens_in_pass(self) -> int:
        return len(self._train)

    def objective(
        self, model: nn.Module, batch: SegmentBatch, carry: Mapping[str, Tensor] | None
    ) -> tuple[Tensor, Mapping[str, Tensor] | None]:
        assert isinstance(model, LanguageModel)
        assert not isinstance(self.recipe.model, NgramModel)
        smoothing, penalty = self.recipe.train.label_smoothing, self.recipe.model.penalty
        return segment_loss(model, batch, carry, label_smoothing=smoothing, penalty=penalty)

    @torch.no_grad()
    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        """`loss` per token, and `perplexity`; the text is read in a few rows, each with its state carried on."""
        assert isinstance(model, LanguageModel)
        if self._dev is None:
            return {}
        data, device = self.recipe.data, model.like.device
        rows = max(1, min(VALIDATION_ROWS, self.recipe.train.batch_tokens // data.segment))
        total, targets = torch.zeros((), dtype=torch.float64, device=device), 0
        carry: Mapping[str, Tensor] | None = None
        for batch, _ in reading_segments(self._dev, data.context, rows=rows, segment=data.segment).once():
            share = batch.rows(rank, world) if world > 1 else batch
            if share.count:
                loss, carry = segment_loss(model, share.to(device), carry)
                total += loss
                targets += share.count
        parts = gathered((total.item(), targets), world)
        mean = sum(part for part, _ in parts) / sum(part for _, part in parts)
        return {"loss": mean, "perplexity": math.exp(min(mean, 700.0))}

    def describe_batch(self, batch: SegmentBatch) -> Any:
        rows = zip(batch.wanted.tokens.tolist(), batch.wanted.lengths.tolist(), strict=True)
        known = [[token if token < self.tokenizer.size else UNKNOWN for token in row[:length]] for row, length in rows]
        return [{"text": self.tokenizer.decode(row)} for row in known]


class NgramTask(LanguageTask, CountingTask):
    """The same for a model that is counted."""

    def count(self, on_progress: Callable[[int], None]) -> LanguageModel:
        # Numba takes a second to import, and other models do not need it.
        from regard.models.ngram.building import count

        assert isinstance(self.recipe.model, NgramModel)
        return count(self._lines(), self.recipe.model, self.tokenizer.size, on_progress)

    def _lines(self) -> Iterator[npt.NDArray[Any]]:
        """The tokens of each line of the training text, without its end."""
        start = 0
        for end in self._train.lines.tolist():
            yield self._train.stream[start : end - 1]
            start = end


def prepare_language(recipe: LanguageRecipe, folder: Path, say: Callable[[str], None]) -> LanguageTask:
    """The task of a recipe, ready to be trained or counted."""
    kind = NgramTask if isinstance(recipe.model, NgramModel) else LanguageTask
    return kind.prepare(recipe, folder, say)


PARTS = ("input.embedding", "embedding", "readout")
"""Parts of a language model that know its tokens."""


def _given_tokenizer(recipe: LanguageRecipe, folder: Path) -> Tokenizer | None:
    """The tokenizer that comes with another model's weights."""
    start = recipe.train.start
    if recipe.train.start_from:
        tokenizer = _tokenizer_of(recipe.train.start_from, folder)
        if not ModelFolder(folder).is_begun:
            refuse_other_shape(recipe, lambda model: build_language_model(model, tokenizer.size))
        return tokenizer
    of_tokens = [other for part, other in start.pairs if any(covers(part, each) for each in PARTS)]
    if of_tokens and ModelFolder(folder).is_begun:
        return load_tokenizer(folder / TOKENIZER)
    return tokenizer_of_part(start.model, of_tokens[0]) if of_tokens else None


def _tokenizer_of(start_from: str, folder: Path) -> Tokenizer:
    """That of the model to start from; a resumed run has it itself and no longer needs the other model."""
    if ModelFolder(folder).is_begun:
        return load_tokenizer(folder / TOKENIZER)
    try:
        refuse_other_task(Path(start_from), "language")
        return load_tokenizer(Path(start_from) / TOKENIZER)
    except ModelError as error:
        raise ModelError(f"train.start_from: {error}") from None
