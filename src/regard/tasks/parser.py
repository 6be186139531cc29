"""A trained dependency parser.

parser = regard.load("runs/mine")
tree = parser.parse(["The dog barks ."])[0]       # tree.heads, tree.relations
print(tree.conllu, end="")
parser.inspect("The dog barks .").save("look.html")
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.data.conllu import Sentence
from regard.data.sentences import NumberedSentences
from regard.data.treebank import Treebank
from regard.device import choose_device, device_of
from regard.display import Listed, html_table
from regard.errors import UsageError, counted
from regard.inspect import Array, Inspection, Outputs
from regard.inspect.outputs import Input, without_positions
from regard.inspect.watch import INSIDE, recorded
from regard.metrics import MetricScore, count_attachments
from regard.metrics.score import Scores
from regard.misuse import explained
from regard.models.parsing import DependencyParser
from regard.models.parsing.arc_hybrid import MOVE_NAMES
from regard.models.parsing.graph import GraphParser
from regard.nn.undrawn import Undrawn
from regard.recipe import HeldOut
from regard.recipe.parsing import ParsingRecipe
from regard.tasks.decoding import check_only_decoding
from regard.tasks.loading import refuse_company, refuse_other_task
from regard.tasks.parsing import ParserNames, find_trees
from regard.tasks.trained import LoadedModel
from regard.tasks.validating import words_of, words_to_look_at

ROOT = "<root>"
RANKS = 3
"""Number of likeliest relations shown for a word."""


@dataclass(frozen=True, repr=False)
class Parse:
    """The tree of a sentence."""

    words: tuple[str, ...]
    heads: tuple[int, ...]
    """The number of each word's head, from 1; 0 for the root."""
    relations: tuple[str, ...]

    @property
    def conllu(self) -> str:
        """In CoNLL-U, with the blank line that ends a sentence."""
        return Sentence.of(self.words).with_tree(self.heads, self.relations).text

    @property
    def head_words(self) -> tuple[str, ...]:
        """The head of each word as text."""
        return tuple(self.words[head - 1] if head else ROOT for head in self.heads)

    def __repr__(self) -> str:
        arcs = zip(self.words, self.relations, self.head_words, strict=True)
        return f"<Parse: {', '.join(f'{word} {relation}←{head}' for word, relation, head in arcs)}>"

    def _repr_html_(self) -> str:
        rows = zip(map(str, range(1, len(self.words) + 1)), self.words, self.relations, self.head_words, strict=True)
        return html_table(rows, heading=("", "word", "relation", "head"))


@explained
class Parser(LoadedModel[ParsingRecipe, DependencyParser]):
    """A parser with its words and relations, ready for use."""

    def __init__(self, recipe: ParsingRecipe, model: DependencyParser, names: ParserNames) -> None:
        self.recipe, self.model, self.names = recipe, model.eval(), names

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto", changes: Sequence[str] = ()) -> Self:
        """The parser in a folder, with `key=value` changes to how it finds trees."""
        check_only_decoding(changes)
        recipe = ModelFolder(folder).read_recipe(ParsingRecipe, changes)
        names = ParserNames.load(recipe, folder)
        with Undrawn():
            model = names.build(recipe)
        put_weights(model, load_weights(folder), folder)
        return cls(recipe, model.to(choose_device(device)), names)

    @property
    def _facts(self) -> dict[str, str]:
        sizes = {"words": f"{self.names.words.size:,}", "relations": f"{len(self.names.relations)}"}
        return {**sizes, "on": str(device_of(self.model))}

    def parse(self, sentences: Sequence[str] | Sequence[Sequence[str]]) -> list[Parse]:
        """The tree of each sentence: a list of words, or a text with blanks between its words, punctuation included."""
        words = words_of("sentences", sentences)
        for place, sentence in enumerate(words):
            self.refuse_long(len(sentence), f"sentences[{place}]: ")
        trees = find_trees(self.model, self.names, words, self.recipe)
        return Listed(Parse(tuple(each), tree.heads, tree.relations) for each, tree in zip(words, trees, strict=True))

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        """LAS, UAS and CLAS on the development or test trees of its recipe, in percent."""
        if not self.recipe.data.has(split):
            raise UsageError(f"the model's recipe names no {split} trees (data.{split}); set it in the recipe")
        treebank = Treebank.read(self.recipe.data, [split])
        treebank.report.raise_if_refused()
        gold = treebank.sentences(split)
        trees = find_trees(self.model, self.names, [sentence.forms for sentence in gold], self.recipe)
        return Scores(count_attachments(trees, gold).scores(margins=True))

    @torch.inference_mode()
    def inspect(self, *texts: str) -> Inspection:
        """An inspection of a sentence: the probabilities of arcs, moves and relations, the tree, the moves that were
        `made`, and attention, gates and states of the encoder."""
        words = words_to_look_at("a parser", "sentence", texts)
        self.refuse_long(len(words))
        batch = NumberedSentences.of([words], self.names.words).pick(np.arange(1))
        sentences = batch.map(lambda tensor: tensor.to(device_of(self.model)))
        lengths = {"word": [len(words)], "source": [len(words) + 1], "target": [2 * len(words)]}
        (arrays,), trees = recorded(
            self.model,
            ("arcs", "moves", *INSIDE),
            lengths,
            lambda: self.model.trees(sentences, projective=self.recipe.decode.projective),
        )
        likeliest = trees.relations[0].exp().topk(min(RANKS, len(self.names.relations)))
        relations = np.array([[self.names.relations[each] for each in row] for row in likeliest.indices.tolist()])
        found = Parse(tuple(words), tuple(trees.heads[0].tolist()), tuple(relations[:, 0]))
        probabilities = likeliest.values.cpu().numpy()
        arcs = [f"{relation}←{head}" for relation, head in zip(found.relations, found.head_words, strict=True)]
        arrays |= {
            "tree": Array(("word",), probabilities[:, 0], np.array(arcs, dtype=object)),
            "heads": Array(("word",), np.array(found.heads, dtype=np.float32)),
            "relations": Array(("word", "rank"), probabilities, relations.astype(object)),
        }
        if trees.moves is not None:
            made = trees.moves[0].cpu().numpy()
            arrays["made"] = Array(("target",), made, np.array([MOVE_NAMES[move] for move in made], dtype=object))
        labels = {"word": found.words, "source": (ROOT, *found.words), "move": MOVE_NAMES}
        shown = tuple(name for name in ("tree", "arcs", "moves") if name in arrays)
        return Inspection(arrays, labels, title=texts[0], shown=shown)

    def outputs(self, *texts: str) -> Outputs:
        """The attachment of each word, as a function of the parser's inputs and activations: its head, where every arc
        has a score; else its relation to the predicted head."""
        words = words_to_look_at("a parser", "sentence", texts)
        self.refuse_long(len(words))
        model, places = self.model, (ROOT, *words)
        parse = self.parse([words])[0]

        def run(place: int, axis: str, without: Sequence[Collection[int]]) -> torch.Tensor:
            rows = [without_positions(range(len(places)), gone) for gone in without]
            sentences = NumberedSentences.of([[places[each] for each in row[1:]] for row in rows], self.names.words)
            batch = sentences.pick(np.arange(len(rows))).map(lambda tensor: tensor.to(device_of(model)))
            features = model.read(batch)
            at = [row.index(place + 1) - 1 for row in rows]
            if not isinstance(model, GraphParser):
                heads = batch.tokens.new_zeros(batch.tokens.shape)
                heads[torch.arange(len(rows)), at] = heads.new_tensor([row.index(parse.heads[place]) for row in rows])
                return model.relation_log_probs(features, heads)[torch.arange(len(rows)), at]
            found = model.arc_log_probs(features, batch)[torch.arange(len(rows)), at]
            # A removed head is impossible; padding goes into an extra column.
            columns = [[*row, *[len(places)] * (found.shape[1] - len(row))] for row in rows]
            every = found.new_full((len(rows), len(places) + 1), -torch.inf)
            return every.scatter(1, torch.tensor(columns, device=found.device), found)[:, :-1]

        by_arcs = isinstance(model, GraphParser)
        return Outputs(
            model,
            "word",
            {"word": words, "source": places},
            parse.heads if by_arcs else [self.names.relations.index(each) for each in parse.relations],
            (places if by_arcs else self.names.relations).__getitem__,
            {"source": Input("words.output", first=1)},
            run,
            words={"source": (None, *range(len(words)))},
            made_at={"word": 0, "source": 1},
            bound=lambda place: (place + 1,) if by_arcs else (place + 1, parse.heads[place]),
            title=" ".join(words),
        )

    def refuse_long(self, words: int, where: str = "") -> None:
        """Refuses a sentence that is too long for the model; `where` says which one."""
        most = self.recipe.model.encoder.learned_positions
        if most is not None and words + 1 > most:
            raise UsageError(
                f"{where}a sentence of {counted(words, 'word')}, but this model has learned {most} positions "
                "(model.encoder.longest), one of them for the root; split it"
            )


def load_parser(folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()) -> Parser:
    """The parser in a folder."""
    refuse_company(folder, "parser", others)
    refuse_other_task(Path(folder), "parsing")
    return Parser.load(Path(folder), device=device, changes=changes)
