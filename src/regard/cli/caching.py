"""Options of a cache on top of a language model."""

from typing import Annotated

import typer

from regard.errors import UsageError

Cache = Annotated[int, typer.Option(help="Number of recent words in the cache; 0 for no cache.")]
Theta = Annotated[
    float | None, typer.Option(help="With --cache: preference for words after similar states. (default: 0.66)")
]
Share = Annotated[float | None, typer.Option(help="With --cache: its share of the probability. (default: 0.13)")]


def cache_of(size: int, theta: float | None, share: float | None) -> dict[str, float]:
    """The settings of a cache by their names in Python; impossible ones are refused by the names of the options."""
    from regard.models.continuous_cache import refuse_impossible_cache

    for option, value in {"--cache-theta": theta, "--cache-share": share}.items():
        if value is not None and size == 0:
            raise UsageError(f"{option} {value:g} needs a cache; ask for one with --cache 500")
    how = {name: value for name, value in {"theta": theta, "share": share}.items() if value is not None}
    if size:
        refuse_impossible_cache(size, **how, named=("--cache", "--cache-theta", "--cache-share"))
    return how
