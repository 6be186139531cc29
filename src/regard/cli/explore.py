"""`regard explore`: a local page that shows what models attend to, and what happens when that is changed."""

from collections.abc import Collection
from itertools import chain, count
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device
from regard.cli.caching import Cache, Share, Theta, cache_of
from regard.errors import UsageError


def explore(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL…", help="Folders of trained models, or of word vectors.", show_default=False),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 lets others in your network see it.")
    ] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port. (default: 8765, or a free one)")] = None,
    cache: Cache = 0,
    cache_theta: Theta = None,
    cache_share: Share = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page in a browser.")] = False,
    settings: DecodingChanges = None,
    device: Device = "auto",
) -> None:
    """Serve a page that shows what models attend to, and what happens when that is changed.

    It answers this machine alone unless --host says otherwise, loads nothing from elsewhere, and ends with Ctrl-C.

    [bold]Examples[/bold]

      regard explore runs/demo

      regard explore runs/recurrent runs/transformer --port 9000 --no-browser

      regard explore runs/lstm --cache 500

      regard explore runs/vectors glove.6B.50d.txt
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(f"the page needs {error.name}, which is not installed: pip install 'regard[web]'") from None
    from regard.cli.loading import loading
    from regard.tasks import load, task_of
    from regard.vectors import Vectors, are_vectors
    from regard.web.serving import serve

    how = cache_of(cache, cache_theta, cache_share)
    names: dict[str, Path] = {}
    for folder in models:
        names[_unique(folder.resolve().name, names)] = folder
    with loading():
        loaded = {
            name: Vectors.load(folder) if are_vectors(folder) else load(folder, device=device, changes=settings or [])
            for name, folder in names.items()
        }

    for name, model in loaded.items():
        if not isinstance(model, Vectors) and not hasattr(model, "inspect"):
            raise UsageError(
                f"{names[name]}: is for {task_of(names[name])}, which has nothing to look inside; leave it out"
            )

    if cache:
        able = {name: model for name, model in loaded.items() if hasattr(model, "with_cache")}
        if not able:
            raise UsageError(f"--cache {cache}: only language models have one, and none of these is; leave it out")
        loaded |= {name: model.with_cache(cache, **how) for name, model in able.items()}

    def tell(address: str) -> None:
        typer.echo(f"{address}  (Ctrl-C ends it)")

    folders = {name: str(folder) for name, folder in names.items()}
    serve(loaded, folders, host=host, port=port, browser=not no_browser, tell=tell)


def _unique(name: str, taken: Collection[str]) -> str:
    """The name, with a number if another has the same."""
    numbered = (f"{name}-{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)
