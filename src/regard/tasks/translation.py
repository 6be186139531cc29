"""Translation: pairs of texts in, a model that writes the second given the first."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from regard.checkpoint import ModelFolder
from regard.data import EncodedPairs, Pair, PairBatch, PairBatches, evaluation_batches, prepare
from regard.data.cache import remove_other_caches
from regard.data.copying import Copied, Copying, words_in
from regard.data.language_tags import encode_tagged
from regard.data.preparing import GivenTokenizers
from regard.data.sides import Languages, write_languages
from regard.decode import Session, decode_all
from regard.errors import DataError, ModelError, with_short_paths
from regard.metrics import accuracy, bleu, chrf
from regard.metrics.text import bleu_metric, bleu_tokenizer
from regard.models import build_model
from regard.models.generator import Generator
from regard.models.pretrained import start_from_vectors
from regard.objectives import cross_entropy, r_drop
from regard.recipe import TranslationRecipe
from regard.tasks.fingerprints import refuse_other_text, write_fingerprint
from regard.tasks.loading import refuse_other_task
from regard.tasks.ranks import gathered
from regard.tasks.starting_model import refuse_other_shape
from regard.tasks.task import BatchedTask
from regard.tasks.tokenizer_files import SIDES, covers, load_tokenizers, tokenizer_file, tokenizer_of_part
from regard.tasks.unknown_words import Written, texts_of
from regard.tokens import UNKNOWN, Tokenizer, load_tokenizer, save_tokenizer

SAY_EVERY = 100_000
"""Texts between progress lines of a long preparation."""


class TranslationTask(BatchedTask):
    """A translation recipe with its corpus, tokenizers and batches at hand."""

    def __init__(
        self,
        recipe: TranslationRecipe,
        source: Tokenizer,
        target: Tokenizer,
        train: EncodedPairs,
        dev: Sequence[Pair],
        fingerprint: str = "",
        languages: Mapping[str, Languages] | None = None,
    ) -> None:
        self.recipe: TranslationRecipe = recipe
        self.fingerprint = fingerprint
        self._languages = languages
        self.source = source
        self.target = target
        self._dev = list(dev)
        self._decoded_places = _spread(len(self._dev), recipe.train.validation.examples, bool(recipe.data.tags))
        # Chosen by all of the text, even if validations decode only a part of it.
        self._bleu_tokenizer = bleu_tokenizer((pair.target for pair in dev), recipe.evaluation.bleu_tokenizer)
        bleu_metric(self._bleu_tokenizer)  # refuses a missing package, before long work
        if dev and not recipe.data.tags:  # with several languages, each is scored against its own references
            judged = recipe.evaluation.model_copy(update={"bleu_tokenizer": self._bleu_tokenizer})
            self.recipe = recipe.model_copy(update={"evaluation": judged})
        self._dev_sources = encode_tagged(source, [pair.source for pair in dev], [pair.tag for pair in dev])
        self._dev_targets = target.encode_all([pair.target for pair in dev])
        self._copying = Copying(source, target) if recipe.model.copies else None
        self._session: Session | None = None
        self._dev_copied: list[Copied] | None = None
        if self._copying is not None:
            texts = [pair.source for pair in dev]
            self._dev_copied = self._copying.copied_all(self._dev_sources, texts)
            rows = zip(self._dev_targets, dev, self._dev_copied, strict=True)
            self._dev_targets = [self._copying.target(row, pair.target, found.beyond) for row, pair, found in rows]
        self._batches: PairBatches = PairBatches(
            train,
            seed=recipe.seed,
            batch_tokens=recipe.train.batch_tokens,
            source=source,
            target=target,
            longest=recipe.data.longest,
            shapes=recipe.train.fixed_shapes,
            copying=self._copying,
            packed=recipe.train.packs,
        )

    @classmethod
    def prepare(cls, recipe: TranslationRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        """Checks the corpus and says what it found, trains the tokenizers (or takes those of the model to start from),
        and lays the training text out for quick access in the folder's cache."""
        begun = _given_tokenizers(recipe, folder)

        def on_progress(what: str, count: int) -> None:
            if count % SAY_EVERY == 0:
                say(f"{what}: {count:,} texts")

        prepared = prepare(recipe, folder / "cache", begun, on_progress)
        for line in prepared.report.lines():
            say(with_short_paths(line))
        if prepared.recipe.tokens != recipe.tokens:
            other = recipe.train.start_from or recipe.train.start.model
            say(f"tokens: those of {other} are kept; of this recipe's [tokens], only dropout counts")
        refuse_other_text(folder, prepared.fingerprint)
        remove_other_caches(prepared.cache)
        dev = list(prepared.corpora.dev)
        task = cls(prepared.recipe, *prepared.tokenizers, prepared.train, dev, prepared.fingerprint, prepared.languages)
        task.refuse_long_dev()
        return task

    def refuse_long_dev(self) -> None:
        """A table of learned positions is finite, and this must not first show in a validation."""
        learned = self.recipe.model.learned_positions
        if learned is None:
            return
        decoded = set(self._decoded_places) if self.recipe.validates_by_decoding else set()
        setting = self.recipe.model.longest_setting
        few = f"but there are {setting} = {learned} learned positions"
        for number, sides in enumerate(zip(self._dev_sources, self._dev_targets, strict=True), start=1):
            tokens = max(map(len, sides))
            if tokens + 1 > learned:
                raise DataError(
                    f"data.dev: pair {number} has {tokens} tokens on a side and an end-of-sentence mark, {few}; "
                    f"shorten or remove it, or raise {setting}"
                )
            most = self.recipe.decode.longest_output(len(sides[0]))
            if number - 1 in decoded and most + 1 > learned:
                raise DataError(
                    f"data.dev: validation decodes pair {number} into up to {most} tokens (decode.longest_factor and "
                    f"decode.longest_extra) and an end-of-sentence mark, {few}; lower these, or raise {setting}"
                )

    def save(self, folder: Path) -> None:
        for side, tokenizer in zip(SIDES, (self.source, self.target), strict=True):
            save_tokenizer(tokenizer, tokenizer_file(folder, side))
        write_fingerprint(folder, self.fingerprint)
        if self._languages:
            write_languages(folder, self._languages)

    def build_model(self) -> Generator:
        return build_model(self.recipe.model, self.source.size, self.target.size)

    def start(self, model: nn.Module) -> list[str]:
        tokenizers = {"source": self.source, "target": self.target}
        return start_from_vectors(model, self.recipe.model.pretrained, tokenizers)

    def sizes(self, *, decode: bool) -> Mapping[str, int]:
        found = super().sizes(decode=decode)
        return {**found, "decode.batch_tokens": self.recipe.decode.batch_tokens} if decode else found

    def objective(self, model: nn.Module, batch: PairBatch, carry: None) -> tuple[Tensor, None]:
        assert isinstance(model, Generator)
        settings = self.recipe.train
        if settings.r_drop:
            return r_drop(model, batch, settings.r_drop, settings.label_smoothing, settings.coverage), None
        return cross_entropy(model, batch, settings.label_smoothing, settings.coverage), None

    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        assert isinstance(model, Generator)
        if not self._dev:
            return {}
        found = {"loss": self._loss(model, rank, world)}
        if decode:
            outputs = self._decoded(model, rank, world)
            references = [self._dev[place].target for place in self._decoded_places]
            scores = {
                "accuracy": accuracy(outputs, references),
                "bleu": bleu(outputs, references, tokenizer=self._bleu_tokenizer),
                "chrf": chrf(outputs, references),
            }
            found |= {name: score.value for name, score in scores.items()}
        return found

    def describe_batch(self, batch: PairBatch) -> Any:
        batch = batch.apart()

        def texts(tokenizer: Tokenizer, tokens: Tensor) -> list[str]:
            # Copied words have a number, but the batch does not have their text.
            known = tokens.where(tokens < tokenizer.size, UNKNOWN)
            return [tokenizer.decode(row) for row in known[: len(batch.examples)].tolist()]

        sources, targets = texts(self.source, batch.source.tokens), texts(self.target, batch.wanted.tokens)
        return [
            {"example": example, "source": source, "target": target}
            for example, source, target in zip(batch.examples, sources, targets, strict=True)
        ]

    @torch.no_grad()
    def _loss(self, model: Generator, rank: int, world: int) -> float:
        """Mean over the targets of the development text, its batches shared between processes."""
        device = next(model.parameters()).device
        total, count = 0.0, 0
        words, budget = words_in(self._dev_copied), self.recipe.train.batch_tokens
        # In the shape of the training batches: each new shape is slow on a GPU.
        packing = self._batches.packing
        batches = evaluation_batches(self._dev_sources, self._dev_targets, budget, words, packing=packing)
        for place, batch in enumerate(batches):
            if place % world == rank:
                total += cross_entropy(model, batch.to(device)).item()
                count += batch.count
        parts = gathered((total, count), world)
        return sum(total for total, _ in parts) / sum(count for _, count in parts)

    def _decoded(self, model: Generator, rank: int, world: int) -> list[str]:
        """Translations of the decoded part of the development text, its sentences shared between processes."""
        places = self._decoded_places
        sources = [self._dev_sources[place] for place in places]
        copied = None if self._dev_copied is None else [self._dev_copied[place] for place in places[rank::world]]
        found = decode_all(self._session_of(model), sources[rank::world], self.recipe.decode, words=words_in(copied))
        texts = [self._dev[place].source for place in places[rank::world]]
        owns: Sequence[Copied | None] = copied or [None] * len(found)
        rows = zip(texts, sources[rank::world], owns, found, strict=True)
        written = [
            Written(text, read, own.words if own else None, one[0].tokens, own.beyond if own else ())
            for text, read, own, one in rows
        ]
        parts = gathered(texts_of(model, self.source, self.target, written, self.recipe.decode.unknown), world)
        outputs = [""] * len(sources)
        for place, part in enumerate(parts):
            outputs[place::world] = part
        return outputs

    def _session_of(self, model: Generator) -> Session:
        """Reused across validations for its captured steps, which read the current weights; copies of the weights are
        refreshed, since training has changed them."""
        if self._session is None or self._session.model is not model:
            self._session = Session(model)
        self._session.refresh()
        return self._session


def _spread(count: int, examples: int, tagged: bool) -> Sequence[int]:
    """The indices of `examples` out of `count` development pairs, or of all: the first, or, for tagged text, whose
    languages follow one another, evenly spaced ones."""
    chosen = min(examples or count, count)
    return [(2 * place + 1) * count // (2 * chosen) for place in range(chosen)] if tagged else range(chosen)


PARTS = {"source": ("encoder.input.embedding",), "target": ("decoder.input.embedding", "readout")}
"""Parts of a translator that know the tokens of a side."""


def _given_tokenizers(recipe: TranslationRecipe, folder: Path) -> GivenTokenizers:
    """The tokenizers that come with another model's weights, of each side."""
    start = recipe.train.start
    if recipe.train.start_from:
        tokenizers = _tokenizers_of(recipe.train.start_from, folder)
        if not ModelFolder(folder).is_begun:
            refuse_other_shape(recipe, lambda model: build_model(model, *(each.size for each in tokenizers)))
        return tokenizers
    found: list[Tokenizer | None] = []
    for side in SIDES:
        of_side = [other for part, other in start.pairs if any(covers(part, each) for each in PARTS[side])]
        if ModelFolder(folder).is_begun and of_side:
            found.append(load_tokenizer(tokenizer_file(folder, side)))
        else:
            found.append(tokenizer_of_part(start.model, of_side[0]) if of_side else None)
    source, target = found
    if not recipe.tokens.shared:
        return source, target
    if source and target and (source.kind, source.state()) != (target.kind, target.state()):
        raise ModelError(
            f"train.start: tokens.shared = true, but the parts of {start.model} have different tokenizers; set "
            "tokens.shared = false"
        )
    return source or target, source or target


def _tokenizers_of(start_from: str, folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """Those of the model to start from; a resumed run has them itself and no longer needs the other model."""
    if ModelFolder(folder).is_begun:
        return _tokenizers_in(folder)
    try:
        refuse_other_task(Path(start_from), "translation")
        return _tokenizers_in(Path(start_from))
    except ModelError as error:
        raise ModelError(f"train.start_from: {error}") from None


def _tokenizers_in(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """Those of a model: the same object if both sides share a vocabulary."""
    source, target = load_tokenizers(folder)
    return source, source if ModelFolder(folder).read_recipe(TranslationRecipe).tokens.shared else target
