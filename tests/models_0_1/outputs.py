"""What a model in a folder gives: texts, tokens, links as they are, numbers rounded to what a test compares."""

from itertools import islice
from pathlib import Path
from typing import Any

import regard
from regard.tasks import Translator
from regard.tasks.evaluation import evaluate, split_of
from regard.tasks.translations import Translation
from regard.tasks.writer import Writer
from regard.vectors import Vectors

PAIRS = 3
"""Sentence pairs of the model's own test text that it translates, scores and aligns."""


def outputs_of(folder: Path) -> dict[str, Any]:
    if (folder / "vectors.json").exists():
        return _vectors(Vectors.load(folder))
    model = regard.load(folder, device="cpu")
    return _translations(model, folder) if isinstance(model, Translator) else _written(model)


def _translations(model: Translator, folder: Path) -> dict[str, Any]:
    held_out = split_of(model.recipe, "test")
    pairs = list(islice(held_out, PAIRS))
    tag = pairs[0].tag or None
    model = model.into(tag)
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]

    def with_settings(*changes: str) -> Translator:
        return regard.load(folder, device="cpu", changes=[f"decode.{change}" for change in changes]).into(tag)

    found: dict[str, Any] = {
        "sources": sources,
        "translate": [_translation(best) for best in model.translate(sources)],
        "beam": [
            _translation(each)
            for best in with_settings("method=beam", "beam=4", "n_best=3").translate(sources)
            for each in (best, *best.others)
        ],
        "sample": [_translation(best) for best in with_settings("method=sample", "seed=3").translate(sources)],
        "score": [
            {"tokens": list(scored.tokens), "log_probs": _rounded(scored.log_probs)}
            for scored in model.score(sources, targets)
        ],
        "evaluate": [[score.name, round(score.value, 6)] for score in evaluate(model, held_out).scores],
    }
    if model.recipe.model.kind == "transformer" or model.recipe.model.attention.score != "none":
        found["align"] = [sorted(links) for links in model.align(sources, targets)]
    return found


def _translation(one: Translation) -> dict[str, Any]:
    return {
        "text": one.text,
        "tokens": list(one.tokens),
        "score": round(one.score, 6),
        "log_prob": round(one.log_prob, 6),
        "finished": one.finished,
    }


def _written(model: Writer) -> dict[str, Any]:
    lines = Path(model.recipe.data.test[0]).read_text(encoding="utf-8").splitlines()
    scored = model.score(lines)
    return {
        "scores": [[score.name, round(score.value, 6)] for score in scored.scores],
        "surprisals": [[name, round(bits, 6)] for _, name, bits in islice(scored.surprisals(), 30)],
        "generate": ["".join(model.generate("the cat", tokens=20, sample=sample)) for sample in range(2)],
    }


def _vectors(vectors: Vectors) -> dict[str, Any]:
    words = list(islice(vectors, 3))
    return {
        "words": list(vectors),
        "similar": {
            word: [[other, round(float(value), 6)] for other, value in vectors.most_similar(word, top=3)]
            for word in words
        },
        "first": _rounded(vectors[words[0]].tolist()),
    }


def _rounded(values: Any) -> list[float]:
    return [round(value, 6) for value in values]
