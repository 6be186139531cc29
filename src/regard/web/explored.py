"""A model as the explorer uses it: its capabilities, one request at a time."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from types import MappingProxyType
from typing import Any, Literal

from regard.errors import UsageError, one_of
from regard.inspect import Outputs
from regard.inspect.changes import CHANGES, Change, as_python, changed
from regard.inspect.watch import LONGEST
from regard.models import ContinuousCache
from regard.nn.cells import Cell
from regard.nn.recurrent import RecurrentLayer
from regard.tap import Tap
from regard.tasks.trained import (
    Embedding,
    Explainable,
    Following,
    Inspectable,
    Multilingual,
    Reader,
    Searching,
    Trained,
)
from regard.vectors import Vectors
from regard.web.messages import ModelCard, Place

DATES = ["3. März 2021", "Wednesday, 17 January 1990", "le 1er août 1999", "2021年3月3日", "٣ مارس ٢٠٢١"]
"""Initial examples for translators of the built-in corpus."""
DATES_IN_WORDS = ["3 . März 2021", "Wednesday , 17 January 1990", "le 1er août 1999"]
"""The same for models that read words."""
LIBRARY = ["the value of the attribute is", "if the file does not exist ,", "return a new object"]
"""Initial examples for language models of the built-in texts."""


class Explored:
    """A model as the page knows it."""

    def __init__(self, name: str, folder: str, model: Trained | Vectors) -> None:
        self.name, self.folder = name, folder
        self._model = model
        self._vectors: Mapping[str, Vectors] | None = None
        self.lock = Lock()
        """Held while it computes: a model's decoding caches are not thread-safe."""

    @property
    def model(self) -> Trained:
        """The model that reads texts."""
        if not isinstance(self._model, Inspectable):
            raise UsageError(f"{self.name} has vectors of words and reads no texts; ask for a map or for neighbors")
        return self._model

    @property
    def vectors(self) -> Mapping[str, Vectors]:
        """Its vectors by name, copied from the model on first access."""
        if self._vectors is None:
            self._vectors = self._model.embeddings() if isinstance(self._model, Embedding) else {}
        return self._vectors

    def vectors_named(self, name: str) -> tuple[str, Vectors]:
        """The vectors of that name, or the first; and their name."""
        known = self.vectors
        if not known:
            raise UsageError(f"{self.name} has no vectors of its words that could be mapped")
        if name and name not in known:
            raise UsageError(f"{self.name} has no vectors {name!r}; it has {one_of(known, name)}")
        chosen = name or next(iter(known))
        return chosen, known[chosen]

    def card(self) -> ModelCard:
        if not isinstance(self._model, Inspectable):
            _, own = self.vectors_named("")
            about = {"model": "vectors", "words": f"{len(own):,}", "dimensions": str(own.width)}
            return ModelCard(name=self.name, about=about, task="", reads=False, vectors=[*self.vectors])
        model, writes = self.model, isinstance(self.model, Searching)
        corpus = getattr(getattr(model.recipe, "data", None), "corpus", "")
        return ModelCard(
            name=self.name,
            about=dict(getattr(model, "about", {})),
            task=model.recipe.task,
            writes=writes,
            explains=isinstance(model, Explainable),
            goes_on=isinstance(model, Reader),
            vectors=[*self.vectors],
            tours=[*model.followed()] if isinstance(model, Following) else [],
            languages=[*model.tags] if isinstance(model, Multilingual) else [],
            examples=_examples(str(corpus), writes),
            places=[*_places(model)],
        )

    def into(self, tag: str | None) -> Any:
        """The model, writing the language of the tag if it writes several."""
        if isinstance(self.model, Multilingual):
            return self.model.into(tag)
        if tag is not None:
            raise UsageError(f"into = {tag!r}: this model does not write several languages; leave it out")
        return self.model

    def translator(self, text: str, prefix: str, tag: str | None) -> Searching:
        """The model, if it writes a text given another and the text is short enough to inspect."""
        model = self.into(tag)
        if not isinstance(model, Searching):
            raise UsageError(f"{self.name} is for {self.model.recipe.task} and does not translate; inspect a text")
        if not text.strip():
            raise UsageError("the text is empty: there is nothing to translate; give at least one word")
        for side, count in (
            ("text", model.count_tokens(text)),
            ("beginning", model.count_tokens(prefix, written=True)),
        ):
            if count >= LONGEST:
                raise UsageError(f"a {side} of {count:,} tokens is too long to look at; give one below {LONGEST}")
        return model

    def follower(self, texts: Sequence[str], tag: str | None) -> Following:
        """The model, if it has attention that can be followed, and the text is short enough to inspect."""
        model = self.into(tag)
        if not isinstance(model, Following):
            what = "has no attention to follow step by step"
            raise UsageError(f"{self.name} is for {self.model.recipe.task} and {what}; inspect a text")
        if isinstance(model, Searching):
            self.translator(texts[0], "", tag)
        return model

    def reader(self, tag: str | None) -> Reader:
        """The model, if it is a language model."""
        model = self.into(tag)
        if not isinstance(model, Reader):
            raise UsageError(f"{self.name} is for {self.model.recipe.task} and does not write on; inspect a text")
        return model

    def outputs(self, texts: Sequence[str], tag: str | None) -> Outputs:
        """The model's outputs for an example, if they can be explained."""
        model = self.into(tag)
        if not isinstance(model, Explainable):
            raise UsageError(f"{self.name} is for {self.model.recipe.task} and gives no outputs to explain; inspect it")
        return model.outputs(*texts)

    @contextmanager
    def computing(self, changes: Sequence[Change] = ()) -> Iterator[None]:
        """Holds the lock, with the changes applied to the model."""
        with self.lock, changed(self.model, changes):
            yield

    def program(
        self,
        call: str,
        changes: Sequence[Change] = (),
        *,
        into: str | None = None,
        name: str = "seen",
        after: Sequence[str] = (),
        used: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> str:
        """A Python program that does the same (`as_python`)."""
        return as_python(self._loading(into), call, changes, name=name, after=after, used=used)

    def program_of_vectors(self, name: str, call: str, *imported: str) -> str:
        """A Python program that does the same with its vectors."""
        own = not isinstance(self._model, Inspectable)
        first = "from regard.vectors import Vectors" if own else "import regard"
        load = f"Vectors.load({self.folder!r})" if own else f"{self._loading()}.embeddings()[{name!r}]"
        return "\n".join([first, *imported, "", f"vectors = {load}", f"seen = {call}", ""])

    def _loading(self, into: str | None = None) -> str:
        """The Python expression that loads the model."""
        told, inner = f".into({into!r})" if into else "", getattr(self.model, "model", None)
        if isinstance(inner, ContinuousCache):
            told += f".with_cache({inner.size}, theta={inner.theta:g}, share={inner.share:g})"
        return f"regard.load({self.folder!r}){told}"


def _examples(corpus: str, writes: bool) -> list[str]:
    if corpus.startswith("dates"):
        return DATES if writes else DATES_IN_WORDS
    return LIBRARY if corpus in ("topics", "library") else []


def _places(model: Trained) -> Iterator[Place]:
    """Taps that can be changed: attention, and the gates, candidates (behind a gate) and states of recurrent cells."""
    modules = dict(model.named_modules())
    taps = {name: module for name, module in modules.items() if isinstance(module, Tap)}
    cells = {name: module for name, module in modules.items() if isinstance(module, Cell)}
    backward = {f"{name}.back" for name, module in modules.items() if isinstance(module, RecurrentLayer)}
    kinds: dict[str, Literal["gate", "candidate", "state"]] = {name: "gate" for name in taps if name.endswith("share")}
    for name, cell in cells.items():
        kinds |= {f"{name}.gates.{gate}": "candidate" if gate == "candidate" else "gate" for gate in cell.gate_names}
        kinds |= {f"{name}.{state}": "state" for state in cell.state_names}
    for name, tap in taps.items():
        own = {"tap": name, "axes": [*tap.axes], "backward": any(name.startswith(f"{cell}.") for cell in backward)}
        if name in kinds:
            yield Place(kinds=["SetGate"], kind=kinds[name], **own)
        elif name.endswith("weights"):
            suiting = [kind for kind, each in CHANGES.items() if kind != "SetGate" and each.suits(tap.axes)]
            yield Place(kinds=suiting, kind="attention", **own)
