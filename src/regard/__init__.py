"""Train attention-based sequence models from scratch on your own data, run them, and look inside.

    model = regard.load("runs/mine")
    best = model.translate(["Das ist ein Haus ."])[0]        # best.text, best.score, best.alignment
    model.inspect("Das ist ein Haus .").save("look.html")     # attention, gates, states, candidates
    with regard.record(model, "encoder.*.output") as seen: ...
    regard.run(regard.read_recipe("my.toml", ["train.steps=1000"]), "runs/mine")
    regard.Vectors.load("runs/vectors").most_similar("hotel")

What is public is listed in docs/reference/python.md: the names of `__all__`, and some of `regard.attention`,
`regard.inspect`, `regard.metrics`, `regard.recipe`, `regard.train`, `regard.vectors`, and `regard.web`. All else may
change. Names are found when they are first used, so that `import regard` takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard import attention
    from regard.attention import attend
    from regard.errors import (
        DataError,
        EncodingError,
        ModelError,
        ModelWarning,
        PictureWarning,
        RecipeError,
        RegardError,
        RegardWarning,
        TrainingError,
        UsageError,
    )
    from regard.inspect import Inspection
    from regard.recipe import (
        Decoding,
        LanguageDecoding,
        Recipe,
        built_in_recipes,
        parse_recipe,
        read_recipe,
        write_recipe,
    )
    from regard.tap import intervene, record, taps
    from regard.tasks import (
        AlignedPair,
        Classified,
        Classifier,
        Filled,
        MarkedTexts,
        Parse,
        Parser,
        PretrainedEncoder,
        Scored,
        ScoredText,
        Tagged,
        Tagger,
        Translation,
        Translator,
        WordAligner,
        Writer,
        load,
    )
    from regard.train import run
    from regard.train.vectors import learn_vectors
    from regard.vectors import Neighbor, Vectors

    __version__: str

_HOMES = {
    "AlignedPair": "regard.tasks",
    "Classified": "regard.tasks",
    "Classifier": "regard.tasks",
    "DataError": "regard.errors",
    "Decoding": "regard.recipe",
    "EncodingError": "regard.errors",
    "Filled": "regard.tasks",
    "Inspection": "regard.inspect",
    "LanguageDecoding": "regard.recipe",
    "MarkedTexts": "regard.tasks",
    "ModelError": "regard.errors",
    "ModelWarning": "regard.errors",
    "Neighbor": "regard.vectors",
    "Parse": "regard.tasks",
    "Parser": "regard.tasks",
    "PictureWarning": "regard.errors",
    "PretrainedEncoder": "regard.tasks",
    "Recipe": "regard.recipe",
    "RecipeError": "regard.errors",
    "RegardError": "regard.errors",
    "RegardWarning": "regard.errors",
    "Scored": "regard.tasks",
    "ScoredText": "regard.tasks",
    "Tagged": "regard.tasks",
    "Tagger": "regard.tasks",
    "TrainingError": "regard.errors",
    "Translation": "regard.tasks",
    "Translator": "regard.tasks",
    "UsageError": "regard.errors",
    "Vectors": "regard.vectors",
    "WordAligner": "regard.tasks",
    "Writer": "regard.tasks",
    "attend": "regard.attention",
    "built_in_recipes": "regard.recipe",
    "intervene": "regard.tap",
    "learn_vectors": "regard.train.vectors",
    "load": "regard.tasks",
    "parse_recipe": "regard.recipe",
    "read_recipe": "regard.recipe",
    "record": "regard.tap",
    "run": "regard.train",
    "taps": "regard.tap",
    "write_recipe": "regard.recipe",
}

__all__ = [
    "AlignedPair",
    "Classified",
    "Classifier",
    "DataError",
    "Decoding",
    "EncodingError",
    "Filled",
    "Inspection",
    "LanguageDecoding",
    "MarkedTexts",
    "ModelError",
    "ModelWarning",
    "Neighbor",
    "Parse",
    "Parser",
    "PictureWarning",
    "PretrainedEncoder",
    "Recipe",
    "RecipeError",
    "RegardError",
    "RegardWarning",
    "Scored",
    "ScoredText",
    "Tagged",
    "Tagger",
    "TrainingError",
    "Translation",
    "Translator",
    "UsageError",
    "Vectors",
    "WordAligner",
    "Writer",
    "__version__",
    "attend",
    "attention",
    "built_in_recipes",
    "intervene",
    "learn_vectors",
    "load",
    "parse_recipe",
    "read_recipe",
    "record",
    "run",
    "taps",
    "write_recipe",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "attention":
        return import_module("regard.attention")
    if name == "__version__":
        from regard.versions import version_of

        return version_of("regard")
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
