"""Durations as text."""


def duration(seconds: float) -> str:
    """`7 s`, `3:05 min` or `2:07 h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60}:{whole % 60:02} min" if whole < 3600 else f"{whole // 3600}:{whole % 3600 // 60:02} h"
