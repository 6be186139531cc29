"""How good a translator is on given pairs, every number with its signature."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from platform import python_version

from regard.data import Pair, load_corpus
from regard.errors import UsageError, counted
from regard.inspect import GoldLinks
from regard.metrics import MetricScore, accuracy, alignment_error_rate, bleu, chrf, ter
from regard.metrics.resampling import RESAMPLES
from regard.metrics.score import scores_table
from regard.recipe import HeldOut, TranslationRecipe
from regard.tasks.translations import Scored
from regard.tasks.translator import Translator
from regard.tokens.segmentation import Span, runs
from regard.versions import version_of


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Scores of one model on one set of pairs."""

    outputs: tuple[str, ...]
    scores: tuple[MetricScore, ...]
    """Accuracy (exact match), BLEU, chrF and TER, and if there are several tags, the BLEU of each."""
    by_language: dict[str, MetricScore]
    """Accuracy for each language of the source, where the corpus says it."""
    alignment: MetricScore | None
    """Alignment error rate of the reference against the true links, where the corpus has them."""

    def __repr__(self) -> str:
        scores = ", ".join(f"{score.name} {score.number}" for score in self._all)
        return f"<Evaluation of {counted(len(self.outputs), 'output')}: {scores}>"

    def _repr_html_(self) -> str:
        return scores_table(self._all, f"{len(self.outputs):,} outputs")

    @property
    def _all(self) -> tuple[MetricScore, ...]:
        return (*self.scores, *([self.alignment] if self.alignment else []))

    @property
    def accuracy(self) -> MetricScore:
        return self.scores[0]

    def languages(self) -> list[str]:
        """Accuracy in percent after the code of each language."""
        return [f"{language} {100 * score.value:.0f}" for language, score in self.by_language.items()]


def evaluate(
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    intervals: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Translates every source and compares the outputs with the targets; intervals take some seconds more."""
    if not pairs:
        raise UsageError("there is nothing to evaluate on: the text has no pair")
    outputs = translated(translator, pairs, on_progress)
    references = [pair.target for pair in pairs]
    resamples = RESAMPLES if intervals else 0
    judge = partial(bleu, resamples=resamples, tokenizer=translator.recipe.evaluation.bleu_tokenizer)
    others = (chrf(outputs, references, resamples), ter(outputs, references, resamples))
    tagged = _bleu_of_tags(outputs, pairs, judge)
    scores = (accuracy(outputs, references), judge(outputs, references), *others, *tagged)
    return Evaluation(tuple(outputs), scores, _by_language(outputs, pairs), _alignment(translator, pairs))


def translated(
    translator: Translator, pairs: Sequence[Pair], on_progress: Callable[[int, int], None] | None = None
) -> list[str]:
    """The translation of each source, into the language of its tag if the model has tags."""
    outputs = [""] * len(pairs)
    for told, places in _by_tag(translator, pairs):
        found = told.translate([pairs[place].source for place in places], on_progress=on_progress)
        for place, translation in zip(places, found, strict=True):
            outputs[place] = translation.text
    return outputs


def scored(translator: Translator, pairs: Sequence[Pair]) -> list[Scored]:
    """A model's scores of the target of each pair, in the language of its tag."""
    found: dict[int, Scored] = {}
    for told, places in _by_tag(translator, pairs):
        sources, targets = [pairs[place].source for place in places], [pairs[place].target for place in places]
        found.update(zip(places, told.score(sources, targets), strict=True))
    return [found[place] for place in range(len(pairs))]


def _by_tag(translator: Translator, pairs: Sequence[Pair]) -> Iterator[tuple[Translator, list[int]]]:
    """For each tag, the translator that writes its language, and the places of its pairs."""
    for tag in dict.fromkeys(pair.tag for pair in pairs):
        told = translator.into(tag) if tag and translator.tags else translator
        yield told, [place for place, pair in enumerate(pairs) if pair.tag == tag]


def split_of(recipe: TranslationRecipe, split: HeldOut) -> list[Pair]:
    """The development or test pairs of the corpus that a recipe names."""
    corpora = load_corpus(recipe.data, recipe.seed)
    pairs = list(corpora.test if split == "test" else corpora.dev)
    if not pairs:
        raise UsageError(f"the model's recipe names no {split} text (data.{split}); name the files instead")
    return pairs


def versions() -> dict[str, str]:
    """Versions of the packages that the numbers depend on."""
    return {name: version_of(name) for name in ("regard", "sacrebleu", "torch")} | {"python": python_version()}


def _bleu_of_tags(
    outputs: Sequence[str], pairs: Sequence[Pair], judge: Callable[[list[str], list[str]], MetricScore]
) -> tuple[MetricScore, ...]:
    """BLEU of each output language, because one number over several languages is comparable to nothing."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        places[pair.tag].append(place)
    found = {
        tag: judge([outputs[place] for place in chosen], [pairs[place].target for place in chosen])
        for tag, chosen in places.items()
        if len(places) > 1
    }
    return tuple(replace(score, name=f"{score.name} {tag}") for tag, score in found.items())


def _by_language(outputs: Sequence[str], pairs: Sequence[Pair]) -> dict[str, MetricScore]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        if pair.language:
            places[pair.language].append(place)
    return {
        language: accuracy([outputs[place] for place in chosen], [pairs[place].target for place in chosen])
        for language, chosen in sorted(places.items())
    }


def _alignment(translator: Translator, pairs: Sequence[Pair]) -> MetricScore | None:
    linked = [pair for pair in pairs if pair.links]
    if not linked or not translator.model.cross_taps:
        return None
    found = translator.align([pair.source for pair in linked], [pair.target for pair in linked], units=runs)
    true = [true_links(pair) for pair in linked]
    return alignment_error_rate(found, [links.sure for links in true], [links.possible for links in true])


def true_links(pair: Pair) -> GoldLinks:
    """The links between runs of source and target that the spans of a pair's links touch. Where one side of a link has
    several runs (`27:e`), one of them is enough: such links are possible, not sure."""

    def touched(text: str, span: Span) -> list[int]:
        return [place for place, (start, end) in enumerate(runs(text)) if start < span[1] and span[0] < end]

    linked = [list(product(touched(pair.source, left), touched(pair.target, right))) for left, right in pair.links]
    sure = frozenset(link for links in linked if len(links) == 1 for link in links)
    return GoldLinks(sure, frozenset(link for links in linked for link in links))
