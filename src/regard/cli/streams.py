"""Standard streams that are closed or full.

What cannot be written to standard output is an error, as for other programs; what cannot be written to standard error
is lost, and the command continues.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from regard.errors import UsageError


class _Output(io.RawIOBase):
    """Standard output that may be full, or closed (`>&-`); remembers a failed write, and then drops all further
    output."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.failed = raw, False

    def write(self, content: Any) -> int:
        if self.failed:
            return len(content)
        try:
            if self.raw is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            written: int = self.raw.write(content)
        except OSError:
            self.failed = True
            raise
        return written

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self.raw is not None and bool(self.raw.isatty())

    def fileno(self) -> int:
        return int(self.raw.fileno()) if self.raw is not None else super().fileno()


class _Lossy(io.FileIO):
    """Standard error that may be full."""

    def write(self, content: Any) -> int:
        with suppress(OSError):
            super().write(content)
        return len(content)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Lets commands write to streams that are closed or full; a failed write to standard output is an error at the
    end."""
    stderr: Any = sys.stderr
    own: Any = sys.__stderr__
    if stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    elif stderr is own and not stderr.isatty():
        lossy = _Lossy(stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(lossy, stderr.encoding, "backslashreplace", write_through=True)
    output = _watch_output()
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if output is None or not output.failed:
            raise
        if error.errno == errno.EPIPE:  # the reader has closed the pipe
            raise SystemExit(1) from None
        raise UsageError(f"standard output cannot be written: {error.strerror}") from None


def _watch_output() -> _Output | None:
    """Watches standard output, unless it has been replaced by another stream."""
    stdout: Any = sys.stdout
    own: Any = sys.__stdout__
    if stdout is None:
        output = _Output(None)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(output), "utf-8")
        return output
    if stdout is not own:
        return None
    is_plain = not hasattr(stdout.buffer, "raw")  # python -u
    output = _Output(stdout.buffer if is_plain else stdout.buffer.raw)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(output),
        stdout.encoding,
        stdout.errors,
        line_buffering=stdout.line_buffering or is_plain,
        write_through=stdout.write_through,
    )
    return output
