"""An inspection as a file: a picture, a page, or JSON."""

from pathlib import Path

from regard.inspect.figure import check_picture_name, write_text
from regard.inspect.inspection import Inspection

PAGES, DATA = (".html", ".htm"), ".json"


def check_look_name(path: str | Path) -> None:
    """Refuses a file whose suffix is not a format of inspections; call it before long work."""
    if Path(path).suffix.lower() not in (*PAGES, DATA):
        check_picture_name(path, others=(PAGES[0], DATA))


def save(inspection: Inspection, path: str | Path, *, show: str | None = None, head: int | None = None) -> None:
    """Writes an inspection in the format of the file's suffix."""
    check_look_name(path)
    suffix = Path(path).suffix.lower()
    if suffix in PAGES:
        from regard.inspect.page import save_page

        save_page([inspection.only(show).only_head(head)], path)
    elif suffix == DATA:
        write_text(inspection.only(show).only_head(head).to_json() + "\n", path)
    else:
        from regard.inspect.heatmap import save_pictures

        save_pictures([inspection], path, show=show, head=head)
