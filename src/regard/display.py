"""How results are displayed: short lines in a terminal, small tables in a notebook.

A notebook asks an object for `_repr_html_`. The HTML is escaped, because texts are the user's, has no scripts, and
stays small, because a notebook saves it.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, TypeVar

LONGEST = 400
"""Characters of a text that a cell of a table shows."""
MOST = 200
"""Rows of a table, or pieces of a text, that are shown."""
MOST_RESULTS = 20
"""Results of a list that are shown."""
CELL = "text-align:left"


T = TypeVar("T")


class Listed(list[T]):
    """A list of results: a list like any other, which a notebook shows."""

    def _repr_html_(self) -> str:
        some: list[Any] = self[:MOST_RESULTS]
        more = f"<p>… and {len(self) - MOST_RESULTS:,} more</p>" if len(self) > MOST_RESULTS else ""
        return f"<div>{''.join(each._repr_html_() for each in some)}{more}</div>"


def shortened(text: str, most: int = 60) -> str:
    """The text, cut to a maximum number of characters; an ellipsis marks the cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def html_table(rows: Iterable[Sequence[object]], *, title: str = "", heading: Sequence[str] = ()) -> str:
    """Rows of texts as a table, after a title if there is one."""
    every = [[str(value) for value in row] for row in rows]
    lines = ["".join(f"<th style='{CELL}'>{escape(name)}</th>" for name in heading)] if heading else []
    lines += [
        "".join(f"<td dir='auto' style='{CELL}'>{escape(shortened(text, LONGEST))}</td>" for text in row)
        for row in every[:MOST]
    ]
    if len(every) > MOST:
        lines.append(f"<td style='{CELL}'>… and {len(every) - MOST:,} more</td>")
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    above = f"<b dir='auto'>{escape(shortened(title, LONGEST))}</b>" if title else ""
    return f"<div>{above}<table>{body}</table></div>"


def html_heat(pieces: Sequence[str], numbers: Sequence[float], unit: str) -> str:
    """Pieces of a text, darker where their number is larger; the number is shown where the mouse points."""
    largest = max((number for number in numbers if number < float("inf")), default=0.0) or 1.0
    shown = "".join(
        f"<span title='{number:.3g} {escape(unit)}' style='background:rgba(8,74,158,{_opacity(number / largest)});"
        f"padding:0 .15em;margin-right:.2em'>{escape(shortened(piece))}</span>"
        for piece, number in zip(pieces[:MOST], numbers[:MOST], strict=True)
    )
    more = f" … and {len(pieces) - MOST:,} more" if len(pieces) > MOST else ""
    return f"<p dir='auto' style='line-height:1.7'>{shown}{more}</p>"


def _opacity(share: float) -> str:
    """At most one half, so that black text stays readable."""
    return f"{0.5 * min(max(share, 0.0), 1.0):.2f}" if share == share else "0"
