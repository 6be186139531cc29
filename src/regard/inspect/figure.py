"""Shared by all pictures: their colors, and the files they are saved to."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import UsageError, one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
INK, PALE, LINE, GOLD = "#1f2933", "#6b7885", "#c5ced6", "#e4672e"


def check_picture_name(path: str | Path, others: Sequence[str] = ()) -> None:
    """Refuses a file whose suffix is not a picture format; call it before long work. `others` are suffixes that the
    caller writes itself, to be listed among the allowed ones."""
    path = Path(path)
    if _kind(path) not in FORMATS:
        raise UsageError(
            f"{path}: pictures are not written as {path.suffix or 'a file without suffix'}; "
            f"choose a name that ends in {one_of([*('.' + known for known in FORMATS), *others], path.suffix)}"
        )


def new_figure(**options: Any) -> "Figure":
    """An empty figure of matplotlib that a notebook shows as a picture, without pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png", dpi=100)
            return file.getvalue()

    figure = Picture(**{"dpi": 160, "facecolor": "white", **options})
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: "Figure", path: str | Path) -> None:
    """Writes a figure; the suffix of the file (.png, .svg or .pdf) decides the format."""
    with writing(path):
        figure.savefig(path, format=_kind(Path(path)))


def write_text(text: str, path: str | Path) -> None:
    """Writes a text into a file."""
    with writing(path):
        Path(path).write_text(text, encoding="utf-8")


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turns a failure to write a file into a readable error."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); choose a folder that exists") from None


def _kind(path: Path) -> str:
    return path.suffix.removeprefix(".").lower()
