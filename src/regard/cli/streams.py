"""Standard streams that are closed or full.

What cannot be written to standard output is an error, as for other programs; what cannot be written to standard error
is lost, and the command goes on.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from regard.errors import UsageError


class _Closed(io.RawIOBase):
    """Standard output where there is none (`>&-`): it fails as soon as something is written."""

    is_over = False

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if not self.is_over:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return len(content)


class _Lossy(io.FileIO):
    """Standard error that may be full."""

    def write(self, content: Any) -> int:
        with suppress(OSError):
            super().write(content)
        return len(content)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Lets commands write to streams that are closed or full; that standard output could not take all is said in the
    end, as an error."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    elif sys.stderr is sys.__stderr__ and not sys.stderr.isatty():
        lossy = _Lossy(sys.stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(lossy, sys.stderr.encoding, "backslashreplace", write_through=True)  # type: ignore[type-var]
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()), "utf-8")
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if not _cannot_flush():
            raise
        _drop_output()
        if error.errno == errno.EPIPE:  # whoever read it has seen enough
            raise SystemExit(1) from None
        raise UsageError(f"standard output cannot be written: {error.strerror}") from None


def _cannot_flush() -> bool:
    """Whether what was written to standard output is still on its way: then it was that which failed."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _drop_output() -> None:
    """Lets go of what is still on its way, which Python would try to write once more in the end."""
    raw = getattr(sys.stdout.buffer, "raw", None)
    if isinstance(raw, _Closed):
        raw.is_over = True
    elif raw is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, raw.fileno())
        os.close(nowhere)
