"""Lazy `numba.njit`: importing numba and reading its cache takes a second, and many commands need no compiled loop.

    @njit(nogil=True, cache=True)
    def total(numbers): ...

A loop may call others of its module, or that its module imports, as functions of numba do.
"""

import functools
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[F], F]:
    """`numba.njit`, applied when the function is first called."""
    return lambda function: _Loop(function, options)  # type: ignore[return-value]


class _Loop:
    """A function that numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.options = function, options
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is None:
            with _COMPILING:
                self.compile()
        return self._compiled(*arguments)

    def compile(self) -> Any:
        """The loop as a numba function; in its module, the names of all loops are then bound to numba functions, which
        it may call."""
        if self._compiled is None:
            self._compiled = import_numba().njit(**self.options)(self.function)
            names = self.function.__globals__
            for name, value in list(names.items()):
                if isinstance(value, _Loop):
                    names[name] = value.compile()
        return self._compiled


_COMPILING = Lock()


_TO_SAY: list[Callable[[], None]] = []


def when_compiling(say: Callable[[], None]) -> None:
    """Calls `say` once, as soon as numba compiles something that is not in its cache: the first command ever spends its
    first seconds on that."""
    _TO_SAY[:] = [say]


@functools.cache
def import_numba() -> Any:
    """Imports numba, and listens for compilations."""
    import numba
    from numba.core import event

    class Compiling(event.Listener):
        def on_start(self, event: Any) -> None:
            while _TO_SAY:
                _TO_SAY.pop()()

        def on_end(self, event: Any) -> None: ...

    event.register("numba:compile", Compiling())  # type: ignore[no-untyped-call]
    return numba
