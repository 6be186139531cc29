"""A model as the explorer knows it: what can be asked of it, one request at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from regard.errors import UsageError
from regard.inspect import Outputs
from regard.inspect.attention_steps import attention_of
from regard.inspect.changes import CHANGES, Change, changed
from regard.inspect.watch import LONGEST
from regard.tap import Tap
from regard.tasks.trained import Explainable, Trained
from regard.tasks.translator import Translator
from regard.web.messages import ModelCard, Place

DATES = ["3. März 2021", "Wednesday, 17 January 1990", "le 1er août 1999", "2021年3月3日", "٣ مارس ٢٠٢١"]
"""To begin with, for translators of the built-in corpus."""
DATES_IN_WORDS = ["3 . März 2021", "Wednesday , 17 January 1990", "le 1er août 1999"]
"""The same for models that read words."""


class Explored:
    """A model as the page knows it."""

    def __init__(self, name: str, folder: str, model: Trained) -> None:
        self.name, self.folder, self.model = name, folder, model
        self.lock = Lock()
        """Held while it computes: what a model keeps for decoding is not made for several threads."""

    def card(self) -> ModelCard:
        model, writes = self.model, isinstance(self.model, Translator)
        corpus = getattr(getattr(model.recipe, "data", None), "corpus", "")
        taps = {name: module for name, module in model.named_modules() if isinstance(module, Tap)}
        places = [
            Place(tap=name, axes=[*tap.axes], kinds=kinds) for name, tap in taps.items() if (kinds := _kinds(name, tap))
        ]
        return ModelCard(
            name=self.name,
            about=dict(getattr(model, "about", {})),
            task=model.recipe.task,
            writes=writes,
            explains=isinstance(model, Explainable),
            tours=[*_followed(model)] if isinstance(model, Translator) else [],
            languages=[*model.tags] if isinstance(model, Translator) else [],
            examples=(DATES if writes else DATES_IN_WORDS) if str(corpus).startswith("dates") else [],
            places=places,
        )

    def into(self, tag: str | None) -> Any:
        """The model, told to write a language if there is one to tell."""
        if tag is not None and not isinstance(self.model, Translator):
            raise UsageError(f"into = {tag!r}: this model does not write several languages; leave it out")
        return self.model.into(tag) if isinstance(self.model, Translator) else self.model

    def translator(self, text: str, prefix: str, tag: str | None) -> Translator:
        """The model, if it translates and the text is short enough to look at."""
        model = self.into(tag)
        if not isinstance(model, Translator):
            raise UsageError(f"{self.name} is for {self.model.recipe.task} and does not translate; inspect a text")
        if not text.strip():
            raise UsageError("the text is empty: there is nothing to translate; give at least one word")
        for side, count in (
            ("text", model.count_tokens(text)),
            ("beginning", len(model.target_tokenizer.encode(prefix))),
        ):
            if count >= LONGEST:
                raise UsageError(f"a {side} of {count:,} tokens is too long to look at; give one below {LONGEST}")
        return model

    def outputs(self, texts: Sequence[str], tag: str | None) -> Outputs:
        """What the model chooses for an example, if it can be asked why."""
        model = self.into(tag)
        if not isinstance(model, Explainable):
            raise UsageError(f"{self.name} is for {self.model.recipe.task} and gives no outputs to explain; inspect it")
        return model.outputs(*texts)

    @contextmanager
    def computing(self, changes: Sequence[Change] = ()) -> Iterator[None]:
        """The model alone, with the changes."""
        with self.lock, changed(self.model, changes):
            yield


def _followed(model: Translator) -> Iterator[str]:
    """The layers of attention to the source that are computed from queries, keys and values."""
    for layer in model.model.cross_taps:
        with suppress(UsageError):
            attention_of(model.model, model.model.cross_taps, layer)
            yield layer


def _kinds(name: str, tap: Tap) -> list[str]:
    """The changes that suit a tap: those of attention where there are weights, and of gates and states."""
    last = name.rpartition(".")[2]
    if last == "weights":
        return [kind for kind, each in CHANGES.items() if kind != "SetGate" and each.suits(tap.axes)]
    return ["SetGate"] if ".gates." in name or last in ("state", "memory", "share") else []
