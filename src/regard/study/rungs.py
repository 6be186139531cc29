"""The rungs of the ladder of language models: each adds one idea to those below it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regard.recipe import LanguageRecipe, read_recipe, toml
from regard.recipe.language import UNCOUNTED

Settings = Mapping[str, Any]
"""Settings by their dotted names."""


@dataclass(frozen=True)
class Rung:
    """One model of the ladder."""

    idea: str
    """What it adds, in a few words."""
    against: str
    """The rung that shows what it adds; empty for the first."""
    settings: Settings = field(default_factory=dict)
    trained: bool = True
    """False for a rung put on top of another one's model, `against`, without training."""


_RECURRENT: Settings = {
    "model.embedding": 160,
    "model.hidden": 160,
    "model.tie": True,
    "model.dropout.input": 0.1,
    "model.dropout.output": 0.2,
}

RUNGS: dict[str, Rung] = {
    "ngram": Rung(
        "counts of up to five words, Kneser–Ney",
        "",
        {"model.kind": "ngram", "data.context": "lines", "train.steps": 1},
    ),
    "window": Rung(
        "words have vectors; a network sees the last four",
        "ngram",
        {"model.kind": "window", "model.embedding": 160, "model.hidden": 160, "model.tie": True, "model.dropout": 0.1},
    ),
    "rnn": Rung(
        "a state goes on from word to word (tanh)",
        "window",
        {"model.kind": "recurrent", "model.cell": "rnn", **_RECURRENT},
    ),
    "lstm": Rung("gates let the state last", "rnn", {"model.kind": "recurrent", "model.cell": "lstm", **_RECURRENT}),
    "attentive": Rung("looks back at its earlier states", "lstm", {"model.kind": "attentive", **_RECURRENT}),
    "copying": Rung("may write an earlier word again (sentinel)", "lstm", {"model.kind": "copying", **_RECURRENT}),
    "cache": Rung("the LSTM with a cache of its last words, not trained", "lstm", trained=False),
    "transformer": Rung(
        "attention alone, to all words of a segment and the one before",
        "lstm",
        {
            "model.kind": "transformer",
            "model.width": 160,
            "model.heads": 4,
            "model.feedforward": 480,
            "model.layers": 3,
            "model.position": "relative",
            "model.memory": 32,
            "model.dropout": 0.1,
        },
    ),
}
"""The rungs by name, in the order in which they were thought of."""

TRAINING: Settings = {
    "data.segment": 32,
    "train.batch_tokens": 1024,
    "train.optimizer.rate": 4e-3,
    "train.schedule.kind": "plateau",
    "train.schedule.warmup": 30,
    "train.schedule.patience": 1,
    "train.validation.every": 200,
    "train.validation.patience": 5,
    # A rung has no time to decay its rate gradually; the average of the last weights is nearly as good.
    "train.average.decay": 0.995,
    "train.log_every": 25,
    "train.keep": 1,
}
"""Training settings of all rungs, besides the time limit."""
_OF_STEPS = tuple(f"train.{setting}" for setting in UNCOUNTED)


def rung_recipe(name: str, text: Settings, minutes: float, changes: list[str]) -> LanguageRecipe:
    """The recipe of a rung on a text, given by the settings of its `[data]` and `[tokens]`, with further changes."""
    settings = {**TRAINING, "train.minutes": minutes, **text, **RUNGS[name].settings}
    spelled = [*(f"{key}={toml(value)}" for key, value in settings.items()), *changes]
    if RUNGS[name].settings["model.kind"] == "ngram":
        spelled = [change for change in spelled if not change.startswith(_OF_STEPS)]
    return read_recipe(None, ["task=language", *spelled], kind=LanguageRecipe)
