"""Training a dependency parser: trees in, a model that finds the tree of a sentence."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from regard.checkpoint import ModelFolder
from regard.data.batch import pad_rows
from regard.data.conllu import Sentence
from regard.data.fill_rows import Indices
from regard.data.projective import made_projective
from regard.data.sentence_batches import SentenceBatches, plan_sentences
from regard.data.sentences import NumberedSentences
from regard.data.treebank import Treebank
from regard.data.trees import UNSEEN, TreeBatch
from regard.device import device_of
from regard.disk import parse_json, replace_file
from regard.errors import DataError, ModelError, one_of, with_short_paths
from regard.metrics import count_attachments
from regard.models.parsing import DependencyParser, ParserParts, build_parser
from regard.recipe.parsing import ParsingRecipe
from regard.tasks.fingerprints import refuse_other_text, write_fingerprint
from regard.tasks.ranks import gathered
from regard.tasks.task import BatchedTask
from regard.tasks.word_files import WORDS, known_words
from regard.tokens.rows import Rows
from regard.tokens.word_vocabulary import WordVocabulary

RELATIONS = "relations.json"
"""File of a model folder."""


@dataclass(frozen=True)
class ParserNames:
    """The words and relations behind a parser's numbers."""

    words: WordVocabulary
    relations: tuple[str, ...]

    @classmethod
    def learn(cls, recipe: ParsingRecipe, folder: Path, sentences: Sequence[Sentence]) -> Self:
        """The names in the training text, or those of the model to start from."""
        words = known_words(recipe, folder, [sentence.forms for sentence in sentences])
        relations = {relation for sentence in sentences for relation in sentence.relations}
        other = "" if ModelFolder(folder).is_begun else recipe.train.start_from
        if not other:
            return cls(words, tuple(sorted(relations)))
        known = _known_relations(Path(other))
        if new := relations.difference(known):
            raise ModelError(
                f"train.start_from: {other}: this model does not know the relations {one_of(sorted(new))} of the "
                "training text; take over parts alone (train.start), such as 'words' and 'encoder'"
            )
        return cls(words, known)

    @classmethod
    def load(cls, recipe: ParsingRecipe, folder: Path) -> Self:
        """The names in a model's folder."""
        return cls(WordVocabulary.load(recipe.words, folder / WORDS), _known_relations(folder))

    def save(self, folder: Path) -> None:
        self.words.save(folder / WORDS)
        replace_file(folder / RELATIONS, json.dumps(self.relations, indent=0).encode())

    def build(self, recipe: ParsingRecipe) -> DependencyParser:
        return build_parser(recipe.model, ParserParts(recipe.words, self.words, len(self.relations)))


def _known_relations(folder: Path) -> tuple[str, ...]:
    """The relations of the model in a folder."""
    file = folder / RELATIONS
    try:
        return tuple(map(str, parse_json(file.read_bytes())))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{file}: the relations of this model are missing or damaged ({error}); restore the folder from a copy, or "
            "train again"
        ) from None


class NumberedTrees:
    """Sentences and their trees as numbers, from which batches are picked."""

    def __init__(self, sentences: Sequence[Sentence], names: ParserNames, *, projective: bool) -> None:
        numbers = {relation: number for number, relation in enumerate(names.relations)}
        self.sentences = NumberedSentences.of([sentence.forms for sentence in sentences], names.words)
        heads = (made_projective(each.heads)[0] if projective else list(each.heads) for each in sentences)
        self._heads = Rows.of(list(heads))
        # Row numbers are not negative: one more than the relation's number, and 0 for UNSEEN.
        self._relations = Rows.of(
            [[numbers.get(relation, UNSEEN) - UNSEEN for relation in sentence.relations] for sentence in sentences]
        )

    def pick(self, chosen: Indices, shape: tuple[int, int] | None = None) -> TreeBatch:
        """A batch of some sentences, filled up with empty ones to a shape of (rows, width) if one is given."""
        heads, relations = (pad_rows(rows, chosen, shape).tokens for rows in (self._heads, self._relations))
        count = int(self.sentences.lengths[chosen].sum())
        return TreeBatch(self.sentences.pick(chosen, shape), heads, relations + UNSEEN, count)


class ParsingTask(BatchedTask):
    """A parsing recipe with its trees, names and batches at hand."""

    def __init__(self, recipe: ParsingRecipe, names: ParserNames, treebank: Treebank) -> None:
        self.recipe: ParsingRecipe = recipe
        self.names, self.fingerprint = names, treebank.fingerprint
        self._dev = treebank.sentences("dev")
        projective = recipe.model.needs_projective
        self._train_trees = NumberedTrees(treebank.sentences("train"), names, projective=projective)
        self._dev_trees = NumberedTrees(self._dev, names, projective=projective)
        self._batches = SentenceBatches(
            self._train_trees.sentences.lengths,
            self._train_trees.pick,
            seed=recipe.seed,
            batch_tokens=recipe.train.batch_tokens,
            shapes=recipe.train.fixed_shapes,
        )

    @classmethod
    def prepare(cls, recipe: ParsingRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        """Reads and checks the trees, says what was found, and learns the words and relations."""
        treebank = Treebank.read(recipe.data)
        report = treebank.report
        for line in report.lines():
            say(with_short_paths(line))
        report.raise_if_refused()
        if recipe.model.needs_projective:
            say(f"model.kind = {recipe.model.kind!r}: training trees are made projective")
        refuse_other_text(folder, treebank.fingerprint)
        refuse_long(recipe, treebank)
        return cls(recipe, ParserNames.learn(recipe, folder, treebank.sentences("train")), treebank)

    def save(self, folder: Path) -> None:
        self.names.save(folder)
        write_fingerprint(folder, self.fingerprint)

    def build_model(self) -> DependencyParser:
        return self.names.build(self.recipe)

    def start(self, model: nn.Module) -> list[str]:
        assert isinstance(model, DependencyParser)
        return model.words.start(self.names.words)

    def sizes(self, *, decode: bool) -> Mapping[str, int]:
        found = super().sizes(decode=decode)
        return {**found, "decode.batch_tokens": self.recipe.decode.batch_tokens} if decode else found

    def objective(self, model: nn.Module, batch: TreeBatch, carry: None) -> tuple[Tensor, None]:
        assert isinstance(model, DependencyParser)
        return model.loss(batch), None

    @torch.no_grad()
    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        assert isinstance(model, DependencyParser)
        if not self._dev:
            return {}
        device, total = device_of(model), 0.0
        plan = plan_sentences(self._dev_trees.sentences.lengths, self.recipe.train.batch_tokens)
        for chosen in plan[rank::world]:
            total += model.loss(self._dev_trees.pick(chosen).map(lambda tensor: tensor.to(device))).item()
        words = sum(map(len, self._dev))
        found = {"loss": sum(gathered(total, world)) / words}
        if decode:
            judged = self._dev[: self.recipe.train.validation.examples or None]
            share = find_trees(model, self.names, [each.forms for each in judged[rank::world]], self.recipe)
            trees: list[Sentence] = list(judged)
            for place, part in enumerate(gathered(share, world)):
                trees[place::world] = [
                    one.with_tree(tree.heads, tree.relations)
                    for one, tree in zip(judged[place::world], part, strict=True)
                ]
            scores = count_attachments(trees, judged).scores()
            found |= {score.name.lower(): score.value for score in scores}
        return found

    def describe_batch(self, batch: TreeBatch) -> Any:
        names = self.names.words.vocabulary
        rows = zip(batch.sentences.tokens.tolist(), batch.sentences.lengths.tolist(), batch.heads.tolist(), strict=True)
        return [
            {"words": [names[word] for word in words[:length]], "heads": heads[:length]}
            for words, length, heads in rows
            if length
        ]


def refuse_long(recipe: ParsingRecipe, treebank: Treebank) -> None:
    """Refuses sentences longer than a table of learned positions."""
    most = recipe.model.encoder.learned_positions
    if most is None:
        return
    for sentence in (each for part in treebank.parts.values() for each in part.sentences):
        if len(sentence) + 1 > most:
            raise DataError(
                f"{sentence.place()}: a sentence of {len(sentence):,} words and the root, but there are "
                f"model.encoder.longest = {most} learned positions; shorten it, or raise model.encoder.longest"
            )


@dataclass(frozen=True)
class FoundTree:
    """The tree that a parser found for a sentence."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]
    log_probs: tuple[float, ...]
    """Probabilities of relations, given the head."""


@torch.no_grad()
def find_trees(
    model: DependencyParser, names: ParserNames, sentences: Sequence[Sequence[str]], recipe: ParsingRecipe
) -> list[FoundTree]:
    """The tree of each sentence, in the given order; sentences of similar length are read together."""
    numbered, device = NumberedSentences.of(sentences, names.words), device_of(model)
    found = [FoundTree((), (), ())] * len(sentences)
    some = np.flatnonzero(numbered.lengths)
    for rows in plan_sentences(numbered.lengths[some], recipe.decode.batch_tokens):
        chosen = some[rows]
        batch = numbered.pick(chosen).map(lambda tensor: tensor.to(device))
        trees = model.trees(batch, projective=recipe.decode.projective)
        best = trees.relations.max(-1)
        values = zip(trees.heads.tolist(), best.indices.tolist(), best.values.tolist(), strict=True)
        for example, (heads, relations, log_probs) in zip(chosen.tolist(), values, strict=True):
            cut = slice(len(sentences[example]))
            labels = tuple(names.relations[relation] for relation in relations[cut])
            found[example] = FoundTree(tuple(heads[cut]), labels, tuple(log_probs[cut]))
    return found
