"""Regard trains, runs and looks inside attention-based sequence models, from scratch, on one's own data.

    model = regard.load("runs/mine")
    best = model.translate(["Das ist ein Haus ."])[0]        # best.text, best.score, best.alignment
    model.inspect("Das ist ein Haus .").save("look.html")     # attention, gates, states, candidates
    with regard.record(model, "encoder.*.output") as seen: ...
    regard.Vectors.load("runs/vectors").most_similar("hotel")

Names are found when they are first used, so that `import regard` takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.attention import attend
    from regard.errors import RegardError
    from regard.recipe import read_recipe
    from regard.tap import intervene, record
    from regard.tasks import load
    from regard.train import run
    from regard.vectors import Vectors

_HOMES = {
    "RegardError": "regard.errors",
    "Vectors": "regard.vectors",
    "attend": "regard.attention",
    "intervene": "regard.tap",
    "load": "regard.tasks",
    "read_recipe": "regard.recipe",
    "record": "regard.tap",
    "run": "regard.train",
}

__all__ = ["RegardError", "Vectors", "attend", "intervene", "load", "read_recipe", "record", "run"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
