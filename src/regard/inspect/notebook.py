"""An inspection as a notebook shows it: its panels as small tables, and a list of what else there is. No script."""

from html import escape

from regard.errors import counted
from regard.inspect.inspection import Inspection
from regard.inspect.panel import Panel, panels

MOST = 64
"""Rows and columns of a panel that are shown."""
LABEL = "padding:0 .2em;text-align:right;font-weight:normal;min-width:1.4em;height:1.4em"
"""Labels give cells their size, because there are many cells and a notebook saves each with its style."""


def cell(inspection: Inspection) -> str:
    """The HTML of a notebook's output cell."""
    found = panels(inspection) if len(inspection) else []
    tables = "".join(_table(panel, name=len(found) > 1) for panel in found)
    listed = "".join(
        f"<li><code>{escape(name)}</code> {escape(repr(array))}</li>" for name, array in inspection.items()
    )
    note = f"<p>{escape(inspection.note)}</p>" if inspection.note else ""
    count = f"<details><summary>{counted(len(inspection), 'array')}</summary><ul>{listed}</ul></details>"
    return f"<div><b dir='auto'>{escape(inspection.heading)}</b>{note}{tables}{count}</div>"


def _table(panel: Panel, *, name: bool) -> str:
    columns, rows = panel.columns[:MOST], panel.rows[:MOST]
    upright = "writing-mode:vertical-rl;transform:rotate(180deg);" if panel.texts is None else ""
    head = "".join(f"<th style='{LABEL}'><span style='{upright}'>{escape(label)}</span></th>" for label in columns)
    body = "".join(
        f"<tr><th style='{LABEL}'>{escape(label)}</th>"
        + "".join(_cell(panel, row, column) for column in range(len(columns)))
        + "</tr>"
        for row, label in enumerate(rows)
    )
    cut = "" if len(columns) == len(panel.columns) and len(rows) == len(panel.rows) else f", the first {MOST}"
    caption = escape(f"{panel.name} ({panel.meaning}{cut})" if name or cut else panel.meaning)
    style = "border-spacing:1px;border-collapse:separate;font-size:12px"
    table = f"<table style='{style}'><tr><th></th>{head}</tr>{body}</table>"
    return f"<p style='margin:.6em 0 .2em;opacity:.7'>{caption}</p>{table}"


def _cell(panel: Panel, row: int, column: int) -> str:
    value = float(panel.values[row, column])
    share = min(abs(value) / panel.largest, 1.0) if value == value else 0.0
    color, text = ("084a9e" if value >= 0 else "a63a12"), ""
    if panel.texts is not None:
        text = f"<span style='padding:0 .4em;color:{'#fff' if share > 0.55 else 'inherit'}'>"
        text += f"{escape(str(panel.texts[row, column]))}</span>"
    return f"<td title='{value:.3g}' style='padding:0;background:#{color}{round(255 * share):02x}'>{text}</td>"
