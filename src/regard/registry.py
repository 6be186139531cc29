"""Registries of lazily imported objects: names are known without importing the objects, so that recipes, help, and
checks need no torch."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, Generic, TypeVar

from regard.errors import UsageError, one_of

T = TypeVar("T")


@dataclass(frozen=True)
class Package:
    """The package that registered a name."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


OWN = Package("regard", "")
_registering: ContextVar[Package] = ContextVar("registering", default=OWN)


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A registered object and its settings."""

    target: str | T
    """The object, or where to import it from: `package.module:attribute`."""
    uses: Iterable[str] = ()
    """Settings of the table that not every entry uses (see `recipe.section.Only`)."""
    table: type[Any] | None = None
    """Its own recipe table, in registries where each entry has one."""
    package: Package = OWN

    def load(self) -> T:
        return locate(self.target) if isinstance(self.target, str) else self.target


def locate(target: str) -> Any:
    """Imports `package.module:attribute`."""
    module, _, attribute = target.partition(":")
    return reduce(getattr, attribute.split("."), import_module(module))


def found_on_use(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """A package's `__getattr__`, which imports names from the modules they are at home in when they are first used. A
    name that a module has as well is not one of them."""

    def find(name: str) -> Any:
        for home, names in homes.items():
            if name in names:
                return getattr(import_module(f"{package}.{home}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find


class Registry(Mapping[str, T]):
    """A dictionary of objects by name. The first lookup loads those of other packages (`regard.plugins`)."""

    def __init__(self, noun: str, entries: Mapping[str, "str | Entry[T]"] | None = None) -> None:
        self.noun = noun
        """The name of an entry in messages: `score`."""
        self._entries: dict[str, Entry[T]] = {
            name: Entry(each) if isinstance(each, str) else each for name, each in (entries or {}).items()
        }
        REGISTRIES.append(self)

    def register(self, name: str, target: str | T, *, uses: Iterable[str] = (), table: type[Any] | None = None) -> None:
        """Adds a name, which must be free. Entries with their own tables can only be added by packages
        (`regard.plugins`), before recipes are read."""
        if name in self._entries:
            package = self._entries[name].package
            raise UsageError(f"the {self.noun} {name!r} is taken by {package}; choose another name")
        if (table is None) == bool(self.tables()):
            problem = "needs a table of settings (table=…)" if table is None else "has no table of its own"
            raise UsageError(f"the {self.noun} {name!r} {problem}")
        self._entries[name] = Entry(target, tuple(uses), table, _registering.get())

    def entry(self, name: str) -> Entry[T]:
        """The entry of a name, without importing its object."""
        self._complete()
        if name not in self._entries:
            raise KeyError(f"{self.noun} {name!r} is not known; known are {one_of(self._entries, name)}")
        return self._entries[name]

    def using(self, setting: str) -> list[str]:
        """The names that use a setting of their table."""
        return [name for name in self if setting in self._entries[name].uses]

    def tables(self) -> dict[str, type[Any]]:
        """The recipe tables of the names registered so far."""
        return {name: entry.table for name, entry in self._entries.items() if entry.table is not None}

    def __getitem__(self, name: str) -> T:
        return self.entry(name).load()

    def __iter__(self) -> Iterator[str]:
        self._complete()
        return iter(list(self._entries))

    def __len__(self) -> int:
        self._complete()
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        self._complete()
        return name in self._entries

    # Compared by identity, because registries annotate settings.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def forget(self, package: Package) -> None:
        """Removes the entries of a package that failed halfway."""
        self._entries = {name: entry for name, entry in self._entries.items() if entry.package != package}

    def _complete(self) -> None:
        from regard.plugins import load_plugins

        load_plugins()


REGISTRIES: list[Registry[Any]] = []


@contextmanager
def registering(package: Package) -> Iterator[None]:
    """Attributes registrations in the block to a package; removes them if the block fails."""
    token = _registering.set(package)
    try:
        yield
    except BaseException:
        for registry in REGISTRIES:
            registry.forget(package)
        raise
    finally:
        _registering.reset(token)
