"""A trained translator: text in, text out, and its inspections.

translator = regard.load("runs/mine")
best = translator.translate(["Das ist ein Haus ."])[0]
best.text, best.score, best.alignment
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice, product
from pathlib import Path
from typing import Any, Self

import numpy as np
from torch import Tensor

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.data.batch import PairBatch, padded_sources
from regard.data.copying import Copied, Copying, with_new_words, words_in
from regard.data.language_tags import encode_tagged
from regard.decode import Hypothesis, Session, decode_all, score_all
from regard.decode.bayes import least_risk
from regard.decode.constraints import never_written
from regard.decode.forced_terms import check_can_force, decode_forced
from regard.decode.tree import next_tokens, search_tree
from regard.device import choose_device, device_of
from regard.display import Listed
from regard.errors import UsageError, one_of
from regard.inspect import BEGIN_LABEL, Array, Inspection, watch, watch_writing
from regard.inspect.attention_steps import PARTS, as_compared, attention_of, followed_layers
from regard.inspect.labels import arrow_between
from regard.inspect.outputs import Input, Outputs, next_log_probs, without_positions
from regard.inspect.watch import part_labels, refuse_long_look
from regard.metrics import MetricScore
from regard.metrics.score import Scores
from regard.misuse import explained
from regard.models import build_model
from regard.models.generator import Generator
from regard.nn.embedding import TokenEmbedding
from regard.nn.undrawn import Undrawn
from regard.recipe import Decoding, HeldOut, TranslationRecipe, change_section
from regard.tasks.attention_choice import kept_choice
from regard.tasks.attention_links import AlignsByAttention
from regard.tasks.decoding import changed_decoding, check_only_decoding
from regard.tasks.embeddings import vectors_of
from regard.tasks.labels import labels_of, token_name, touched, words_of
from regard.tasks.loading import refuse_other_task
from regard.tasks.search_trees import candidates_inspection, tree_inspection
from regard.tasks.tokenizer_files import load_tokenizers
from regard.tasks.trained import LoadedModel
from regard.tasks.translations import Scored, Translation
from regard.tasks.unknown_words import Written, texts_of
from regard.tasks.validating import check_not_empty, check_pair_up, check_terms, check_texts
from regard.tokens import BEGIN, END, UNKNOWN, Tokenizer
from regard.tokens.segmentation import Span, begins_unspaced
from regard.tokens.subwords import Subwords
from regard.vectors import Vectors

SIDES = {"source": "encoder", "past": "decoder"}
"""The part of a model that reads along each axis."""
BEYOND_TRAINING = 16
"""Longest text, as a multiple of the longest in training."""


@explained
class Translator(AlignsByAttention, LoadedModel[TranslationRecipe, Generator]):
    """A model with its tokenizers, ready for use."""

    def __init__(
        self,
        recipe: TranslationRecipe,
        model: Generator,
        source: Tokenizer,
        target: Tokenizer,
        *,
        folder: Path | None = None,
    ) -> None:
        self.recipe = recipe
        self.model = model.eval()
        self.session = Session(self.model)
        self.source_tokenizer = source
        self.target_tokenizer = target
        self._copying = Copying(source, target) if model.copies else None
        self._tag = ""
        self.folder = folder
        """The model's folder, if it was loaded."""
        self._first = 0

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto", changes: Sequence[str] = ()) -> Self:
        """The model in a folder, with `key=value` changes to decoding and evaluation."""
        check_only_decoding(changes, "evaluation.")
        recipe = ModelFolder(folder).read_recipe(TranslationRecipe, changes)
        source, target = load_tokenizers(folder)
        with Undrawn():
            model = build_model(recipe.model, source.size, target.size)
        put_weights(model, load_weights(folder), folder)
        model.to(choose_device(device))
        return cls(recipe, model, source, target, folder=folder).looking_at(kept_choice(folder, model))

    @property
    def _facts(self) -> dict[str, str]:
        sides = {"source": self.source_tokenizer, "target": self.target_tokenizer}
        facts = {side: f"{tokenizer.size:,} {tokenizer.kind}" for side, tokenizer in sides.items()}
        facts |= {"languages": ", ".join(self.tags)} if self.tags else {}
        return facts | {"on": str(device_of(self.model))}

    @property
    def tags(self) -> tuple[str, ...]:
        """The languages it can write (`data.tags`); none if it writes only one."""
        return self.source_tokenizer.vocabulary.tags

    def into(self, tag: str | None) -> Self:
        """The same translator, writing one of its several languages; None for a model that has only one."""
        if tag is None:
            return self
        if not self.tags:
            raise UsageError(
                f"{tag!r}: this model was trained without tags (data.tags), so it writes but one language; name none"
            )
        if tag not in self.tags:
            raise UsageError(f"{tag!r} is not a tag of this model; its tags are {one_of(self.tags, tag)}")
        told = copy(self)
        told._tag = tag
        return told

    def counting_from(self, first: int) -> Self:
        """The same translator with texts numbered from `first`: samples are a function of the seed and a text's
        number."""
        told = copy(self)
        told._first = first
        return told

    @property
    def most_tokens(self) -> int:
        """Most tokens of a sentence, by the model's training text; time and memory grow with their square."""
        return BEYOND_TRAINING * self.recipe.data.longest

    def count_tokens(self, text: str, *, written: bool = False) -> int:
        """Number of tokens of a source text, or of one that it writes."""
        return len((self.target_tokenizer if written else self.source_tokenizer).encode(text))

    def only_writing(self) -> Self:
        """This translator, for decoding alone, in the recipe's `decode.precision`: a GPU then holds its weights only in
        that format, and everything later is computed in it."""
        self.session.hold_only(self.recipe.decode.precision)
        return self

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """Its scores on the development or test text of its recipe: those of `regard evaluate`, with the alignment
        error rate where the corpus has true links."""
        from regard.tasks.evaluation import evaluate, split_of

        found = evaluate(self, split_of(self.recipe, split))
        return Scores((*found.scores, *([found.alignment] if found.alignment else [])))

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = None,
        n_best: int | None = None,
        decoding: Decoding | Mapping[str, Any] | None = None,
        prefixes: Sequence[str] | None = None,
        terms: Sequence[Sequence[str]] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> list[Translation]:
        """The best translation of each text; the next `n_best - 1` are its `others`. A beam that has found a text in
        several ways gives the best of them, so there may be fewer.

        Settings are the recipe's unless given: `beam`, `n_best`, or any others by name in `decoding`, as in
        `{"method": "sample", "top_p": 0.9}`; a whole `Decoding` replaces the recipe's. A translation begins with its
        `prefix` if there are any, and contains all of its `terms` (see `Glossary`), each as often as it is given; words
        that the model does not know are written as they are. The translation of a text without a word is empty.
        """
        check_texts("texts", texts)
        if prefixes is not None:
            check_texts("prefixes", prefixes)
        if terms is not None:
            check_terms(terms)
        decoding = _changed(changed_decoding(self.recipe.decode, decoding), beam, n_best)
        for name, given in (("prefixes", prefixes), ("lists of terms", terms)):
            if given is not None and len(given) != len(texts):
                raise UsageError(f"{len(given)} {name} for {len(texts)} texts: give one for each, empty if need be")
        if any(not text.strip() for text in texts):
            return self._around_empty(texts, decoding, prefixes, terms, on_progress)
        if terms is not None:
            return self._translate_forced(texts, terms, decoding, prefixes, on_progress)
        read = self._read(texts)
        search = partial(decode_all, self.session, read.tokens, decoding.search(), words=read.words, first=self._first)
        if prefixes is None:
            return self._translations(texts, read, search(on_progress=on_progress), read.beyond, decoding)
        rows, beyond = self._forced([[prefix] for prefix in prefixes], read)
        begin = [row for (row,) in rows]
        # Out-of-vocabulary words are written as they are nonetheless.
        known = [self._as_read(row, words) for row, words in zip(begin, read.beyond, strict=True)]
        found = [
            [replace(one, tokens=(*row, *one.tokens[len(row) :])) for one in hypotheses]
            for row, hypotheses in zip(begin, search(prefixes=known, on_progress=on_progress), strict=True)
        ]
        return self._translations(texts, read, found, beyond, decoding)

    def _around_empty(
        self,
        texts: Sequence[str],
        decoding: Decoding,
        prefixes: Sequence[str] | None,
        terms: Sequence[Sequence[str]] | None,
        on_progress: Callable[[int, int], None] | None,
    ) -> list[Translation]:
        """Translates the texts with words; the others have an empty translation of probability 1."""
        places = [place for place, text in enumerate(texts) if text.strip()]
        found = iter(
            self.translate(
                [texts[place] for place in places],
                decoding=decoding,
                prefixes=None if prefixes is None else [prefixes[place] for place in places],
                terms=None if terms is None else [terms[place] for place in places],
                on_progress=on_progress,
            )
            if places
            else []
        )
        empty = partial(Translation, text="", score=0.0, log_prob=0.0, finished=True, tokens=(), translator=self)
        return Listed(next(found) if text.strip() else empty(text) for text in texts)

    def _translate_forced(
        self,
        texts: Sequence[str],
        terms: Sequence[Sequence[str]],
        decoding: Decoding,
        prefixes: Sequence[str] | None,
        on_progress: Callable[[int, int], None] | None,
    ) -> list[Translation]:
        """Texts with terms are translated by a constrained search; the others as usual."""
        check_can_force(decoding)
        chosen = [place for place, each in enumerate(terms) if each]
        others = [place for place, each in enumerate(terms) if not each]

        def after(before: int) -> Callable[[int, int], None] | None:
            return None if on_progress is None else lambda done, _: on_progress(before + done, len(texts))

        free = self.translate(
            [texts[place] for place in others],
            decoding=decoding,
            prefixes=None if prefixes is None else [prefixes[place] for place in others],
            on_progress=after(0),
        )
        some = [texts[place] for place in chosen]
        begin = [""] * len(texts) if prefixes is None else prefixes
        read = self._read(some)
        rows, beyond = self._forced([[begin[place], *terms[place]] for place in chosen], read)
        found = decode_forced(
            self.session,
            read.tokens,
            decoding.search(),
            [row[1:] for row in rows],
            prefixes=[row[0] for row in rows],
            continuing=self._continuing,
            words=read.words,
            on_progress=after(len(others)),
        )
        bound = self._translations(some, read, found, beyond, decoding)
        whole = dict(zip([*others, *chosen], [*free, *bound], strict=True))
        return Listed(whole[place] for place in range(len(texts)))

    @cached_property
    def _continuing(self) -> frozenset[int]:
        """Tokens that continue the word before them: subwords that begin with a letter, unless their script has no
        blanks. Empty for characters and bytes, where every term would need a space."""
        if not isinstance(self.target_tokenizer, Subwords):
            return frozenset()
        free = begins_unspaced if self._writes_no_blanks else lambda text: False
        tokens = enumerate(self.target_tokenizer.vocabulary)
        return frozenset(token for token, text in tokens if token > END and re.match(r"\w", text) and not free(text))

    @cached_property
    def _writes_no_blanks(self) -> bool:
        """Whether the target text puts no blanks between words: most subwords of scripts without blanks have none."""
        tokens = [text for text in self.target_tokenizer.vocabulary.tokens if len(text) > 1]
        after_blanks = sum(text.startswith(" ") and begins_unspaced(text[1:]) for text in tokens)
        return sum(map(begins_unspaced, tokens)) >= max(after_blanks, 1)

    def why_eager(self, *, terms: bool = False) -> str | None:
        """On a CUDA device, why decoding steps are not captured in a CUDA graph; None if they are.

        `terms` says that some outputs must contain terms."""
        return self.session.why_eager(self.recipe.decode, terms=terms)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """The log-probabilities of given translations."""
        check_pair_up(sources, targets)
        read = self._read(sources)
        rows = self._targets(targets, read)
        batch_tokens = self.recipe.decode.batch_tokens
        log_probs = score_all(self.model, read.tokens, rows, batch_tokens, words=read.words)
        vocabulary = self.target_tokenizer.vocabulary
        every = ((*vocabulary, *beyond) for beyond in read.beyond)
        names = [[*map(words.__getitem__, row), "</s>"] for words, row in zip(every, rows, strict=True)]
        return Listed(Scored(tuple(row), tuple(name)) for row, name in zip(log_probs, names, strict=True))

    def inspect(self, source: str, target: str | None = None, *, links: Sequence[tuple[Span, Span]] = ()) -> Inspection:
        """An inspection of the model while it writes `target`, or its own translation if none is given: attention,
        gates and states, probabilities and candidates. `links` are true ones between characters of source and target,
        where they are known."""
        target = self._target_of(source, target)
        reader, writer = self.source_tokenizer, self.target_tokenizer
        batch, name = self._pair(source, target)
        first, shown = len(self._no_words), self.model.cross_taps
        arrays = watch_writing(self.model, batch.source, batch.given.tokens, batch.wanted.tokens, name)
        if self.attention_choice is not None:
            layers = {name: arrays[name].values for name in shown}
            arrays["alignment"] = Array(("target", "source"), self.attention_choice.token_weights(layers))
            shown = ("alignment", *shown)
        return Inspection(
            arrays,
            self._labels(source, target) | part_labels(arrays),
            title=arrow_between(source, target),
            words=self._words(source, target),
            shown=shown or ("surprisals", "candidates"),
            gold=frozenset(
                both
                for one, other in links
                for both in product(touched(reader, source, one, first), touched(writer, target, other, 0))
            ),
        )

    def followed(self) -> list[str]:
        """Layers of attention to the source that `attention_steps` can show: those computed from queries, keys and
        values."""
        return followed_layers(self.model, self.model.cross_taps)

    def attention_steps(self, source: str, target: str | None = None, *, layer: str | None = None) -> Inspection:
        """One attention to the source step by step, while it writes `target` or its own translation: `query`, `key`,
        `value`, `scores`, `weights`, `context` of every head, the `output` of the decoder and the predictions."""
        stem, attention = attention_of(self.model, self.model.cross_taps, layer)
        target = self._target_of(source, target)
        batch, name = self._pair(source, target)
        taps = {f"{stem}.{part}": part for part in PARTS} | {"decoder.output": "output"}
        found = watch_writing(self.model, batch.source, batch.given.tokens, batch.wanted.tokens, name, [*taps])
        arrays = {taps.get(name, name): array for name, array in found.items()}
        arrays, scored = as_compared(attention.score, arrays)
        return Inspection(
            arrays,
            self._labels(source, target),
            title=arrow_between(source, target),
            words=self._words(source, target),
            shown=("scores", "weights"),
            note=f"a score is {scored}" if scored else "",
        )

    def _pair(self, source: str, target: str) -> tuple[PairBatch, Callable[[int], str]]:
        """A source with its target as the model takes them, and the text of a token."""
        read = self._read([source])
        batch = PairBatch.of(read.tokens, self._targets([target], read), [0], words=read.words)
        return batch.to(device_of(self.model)), partial(token_name, self.target_tokenizer, read.beyond[0])

    def outputs(self, source: str, target: str | None = None) -> Outputs:
        """The tokens of `target`, or of its own translation, as functions of the model's inputs and activations."""
        target = self._target_of(source, target)
        read = self._read([source])
        (tokens,), (row,) = read.tokens, self._targets([target], read)
        refuse_long_look(max(len(tokens), len(row)) + 1)

        def run(place: int, axis: str, without: Sequence[Collection[int]]) -> Tensor:
            sources = [without_positions(tokens, gone if axis == "source" else ()) for gone in without]
            given = [without_positions([BEGIN, *row[:place]], gone if axis == "past" else ()) for gone in without]
            words = None
            if read.words is not None:
                words = [without_positions(read.words[0], gone if axis == "source" else ()) for gone in without]
            return next_log_probs(self.model, padded_sources(sources, words, len(tokens) + 1), given)

        return Outputs(
            self.model,
            "target",
            self._labels(source, target),
            [*row, END],
            partial(token_name, self.target_tokenizer, read.beyond[0]),
            {side: Input(f"{part}.input.embedding.output") for side, part in SIDES.items()},
            run,
            words=self._words(source, target),
            made_at={"target": 0},
            title=arrow_between(source, target),
        )

    def embeddings(self) -> dict[str, Vectors]:
        """A copy of the token embeddings of each side."""
        every, sides = dict(self.named_modules()), {"source": self.source_tokenizer, "target": self.target_tokenizer}
        found = zip(sides.items(), SIDES.values(), strict=True)
        return {
            side: vectors_of(part, tokenizer)
            for (side, tokenizer), name in found
            if isinstance(part := every.get(f"{name}.input.embedding"), TokenEmbedding)
        }

    def _target_of(self, source: str, target: str | None) -> str:
        """The given target, or else its own translation."""
        check_texts("texts", [source] if target is None else [source, target])
        check_not_empty("source", source)
        if target is None:
            return self.translate([source])[0].text
        check_not_empty("target", target)
        return target

    def _labels(self, source: str, target: str) -> dict[str, tuple[str, ...]]:
        labels = labels_of(self.target_tokenizer, target)
        tag = (f"<2{self._tag}>" for _ in self._no_words)
        read = (*tag, *labels_of(self.source_tokenizer, source))
        return {"source": read, "target": labels, "past": (BEGIN_LABEL, *labels[:-1])}

    def _words(self, source: str, target: str) -> dict[str, tuple[int | None, ...]]:
        words = words_of(self.target_tokenizer, target)
        read = (*self._no_words, *words_of(self.source_tokenizer, source))
        return {"source": read, "target": words, "past": (None, *words[:-1])}

    def search_tree(self, source: str, *, beam: int | None = None, prefix: str = "") -> Inspection:
        """The hypotheses of a beam search from a prefix, as a tree: nodes with their label, their `parents` (-1 for the
        root), their `probabilities` given these, and their `scores`: the log-probability of the whole prefix, with its
        text. Where one of the outputs ends, `ranks` has its rank among them, counted from 1, and its text."""
        check_texts("texts", [source, prefix])
        check_not_empty("source", source)
        decoding = _changed(self.recipe.decode, self.recipe.decode.beam if beam is None else beam, None)
        read = self._read([source])
        ((begin,),), (beyond,) = self._forced([[prefix]], read)
        batch = PairBatch.of(read.tokens, [[]], [0], words=read.words).to(device_of(self.model))
        found = search_tree(self.model, batch.source, decoding, self._as_read(begin, read.beyond[0]))
        words = None if read.words is None else read.words[0]
        written = [Written(source, read.tokens[0], words, tokens, beyond) for tokens in found.nodes]
        texts = texts_of(self.model, self.source_tokenizer, self.target_tokenizer, written, decoding.unknown)
        name = partial(token_name, self.target_tokenizer, beyond)
        labels = (prefix or BEGIN_LABEL, *(name(tokens[-1]) for tokens in [*found.nodes][1:]))
        return tree_inspection(found, labels, texts, title=source)

    def alternatives(self, source: str, prefix: str = "", *, count: int = 10) -> Inspection:
        """The likeliest tokens after the beginning of a translation, as `candidates` with their probabilities; `texts`
        are the beginning with each of them. Tokens that are never written, such as padding, are left out."""
        check_texts("texts", [source, prefix])
        check_not_empty("source", source)
        read = self._read([source])
        ((begin,),), (beyond,) = self._forced([[prefix]], read)
        known = self._as_read(begin, read.beyond[0])
        batch = PairBatch.of(read.tokens, [known], [0], words=read.words).to(device_of(self.model))
        never = never_written(self.recipe.decode)
        likeliest = next_tokens(self.model, batch.source, batch.given.tokens, count, never)
        texts = [self.target_tokenizer.decode((*begin, token), beyond) for token in likeliest]
        name = partial(token_name, self.target_tokenizer, beyond)
        names = ["(unknown)" if token == UNKNOWN else name(token) for token in likeliest]
        return candidates_inspection([*likeliest.values()], names, texts, title=arrow_between(source, f"{prefix} …"))

    def _as_read(self, tokens: Sequence[int], beyond: Sequence[str]) -> list[int]:
        """Tokens as the model reads them, with UNKNOWN for words outside its vocabulary."""
        size = self.target_tokenizer.size + len(beyond)
        return [token if token < size else UNKNOWN for token in tokens]

    @property
    def _no_words(self) -> list[None]:
        """None for the tag before the words of a source, if there is one."""
        return [None] if self._tag else []

    def _watch(self, sources: Sequence[str], targets: Sequence[str]) -> list[dict[str, np.ndarray]]:
        """The attention to the source of every pair, by the names of its taps."""
        read = self._read(sources)
        found = watch(self.model, read.tokens, self._targets(targets, read), words=read.words)
        return [{name: array.values for name, array in arrays.items()} for arrays in found]

    def _read(self, texts: Sequence[str]) -> "_Read":
        if self.tags and not self._tag:
            raise UsageError(
                f"this model writes several languages; say which by --to, or in Python by into: {one_of(self.tags)}"
            )
        tokens = encode_tagged(self.source_tokenizer, texts, [self._tag] * len(texts))
        return _Read(tokens, None if self._copying is None else self._copying.copied_all(tokens, texts))

    def _targets(self, texts: Sequence[str], read: "_Read") -> list[list[int]]:
        """The tokens of targets, given their sources."""
        rows = self.target_tokenizer.encode_all(texts)
        if self._copying is None:
            return rows
        each = zip(rows, texts, read.beyond, strict=True)
        return [self._copying.target(row, text, beyond) for row, text, beyond in each]

    def _forced(self, texts: Sequence[Sequence[str]], read: "_Read") -> tuple[list[list[list[int]]], list[list[str]]]:
        """The tokens of texts that the output for each source must contain, its prefix first, without unknown tokens;
        and the words that have numbers beyond the target's vocabulary, including those of these texts."""
        beyond = [list(words) for words in read.beyond]

        def tokens(place: int, text: str, words: list[str]) -> list[int]:
            within = place > 0 and begins_unspaced(text) and self._writes_no_blanks
            return with_new_words(self.target_tokenizer, text, words, within=within)

        both = zip(texts, beyond, strict=True)
        return [[tokens(place, text, words) for place, text in enumerate(each)] for each, words in both], beyond

    def _translations(
        self,
        sources: Sequence[str],
        read: "_Read",
        found: Sequence[Sequence[Hypothesis]],
        beyond: Sequence[Sequence[str]],
        decoding: Decoding,
    ) -> list[Translation]:
        words: Sequence[list[int] | None] = read.words or [None] * len(sources)
        rows = zip(sources, read.tokens, words, found, beyond, strict=True)
        written = [
            Written(source, tokens, copied, hypothesis.tokens, names)
            for source, tokens, copied, hypotheses, names in rows
            for hypothesis in hypotheses
        ]
        texts = iter(texts_of(self.model, self.source_tokenizer, self.target_tokenizer, written, decoding.unknown))
        each = zip(sources, found, strict=True)
        return Listed(
            self._translation(source, some, list(islice(texts, len(some))), decoding) for source, some in each
        )

    def _translation(
        self, source: str, hypotheses: Sequence[Hypothesis], texts: list[str], decoding: Decoding
    ) -> Translation:
        """The requested outputs among all hypotheses of a search."""
        if decoding.risk != "none":
            drawn = decoding.method == "sample"
            text_of = {hypothesis.tokens: text for hypothesis, text in zip(hypotheses, texts, strict=True)}
            tokenizer = self.recipe.evaluation.bleu_tokenizer
            hypotheses = least_risk(hypotheses, texts, decoding.risk, drawn=drawn, tokenizer=tokenizer)
            hypotheses = hypotheses[: decoding.n_best]
            texts = [text_of[hypothesis.tokens] for hypothesis in hypotheses]
        elif decoding.method == "beam":
            # Of several segmentations of one text the best is kept. Samples stay as they were drawn.
            best: dict[str, Hypothesis] = {}
            for hypothesis, text in zip(hypotheses, texts, strict=True):
                best.setdefault(text, hypothesis)
            texts, hypotheses = list(best), list(best.values())
        outputs = [
            Translation(
                source,
                text,
                hypothesis.score,
                hypothesis.log_prob,
                hypothesis.finished,
                hypothesis.tokens,
                translator=self,
            )
            for hypothesis, text in zip(hypotheses, texts, strict=True)
        ]
        return replace(outputs[0], others=tuple(outputs[1:]))


@dataclass(frozen=True)
class _Read:
    """Sources as a model reads them."""

    tokens: list[list[int]]
    copied: list[Copied] | None

    @property
    def words(self) -> list[list[int]] | None:
        """The target-side numbers of each source's tokens, if they can be copied."""
        return words_in(self.copied)

    @property
    def beyond(self) -> list[tuple[str, ...]]:
        """The words of each source that have numbers beyond the target's vocabulary."""
        return [()] * len(self.tokens) if self.copied is None else [each.beyond for each in self.copied]


def _changed(decoding: Decoding, beam: int | None, n_best: int | None) -> Decoding:
    """The settings with these changes. Giving a beam selects beam search; requesting more outputs than the beam holds
    widens it."""
    changes: dict[str, int | str] = {}
    if n_best is not None:
        changes |= {"n_best": n_best}
    if beam is not None or (changes and decoding.method != "sample"):
        changes |= {"method": "beam", "beam": max(n_best or 1, decoding.beam) if beam is None else beam}
    return change_section(decoding, changes)


def load_translator(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> Translator:
    """The translator in a folder. With folders of `others` they decode as an ensemble: the mean of their
    probabilities."""
    from regard.tasks.ensembles import load_ensemble

    folders = [Path(each) for each in (folder, *others)]
    for each in folders:
        refuse_other_task(each, "translation")
    if others:
        return load_ensemble(folders, device=device, changes=changes)
    return Translator.load(folders[0], device=device, changes=changes)
