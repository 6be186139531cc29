"""`regard explore`: a local page that shows what models attend to, and what happens when that is changed."""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, Head
from regard.cli.caching import Cache, Share, Theta, cache_of
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.tasks.trained import Trained
    from regard.vectors import Vectors


def explore(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL…", help="Folders of trained models, or of word vectors.", show_default=False),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 admits others in your network.")
    ] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port. (default: 8765, or a free one)")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page in a browser.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write the page to this .html file instead.", show_default=False),
    ] = None,
    texts: Annotated[
        list[str] | None,
        typer.Option(
            "--example", help="A text that the file shows; repeatable. (default: built-in ones)", show_default=False
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Arrays to show, by name or pattern, such as 'encoder.*'; look --list prints all names. (default: "
            "all)",
            show_default=False,
        ),
    ] = None,
    head: Head = None,
    cache: Cache = 0,
    cache_theta: Theta = None,
    cache_share: Share = None,
    settings: DecodingChanges = None,
    device: Device = "auto",
) -> None:
    """Serve a page that shows what models attend to, and what happens when you change it.

    By default, it accepts connections from this machine only (--host). It loads nothing from the internet; Ctrl-C ends
    it. With --out, it is one file that needs neither a server nor an internet connection, with all views that need no
    model, for some texts.

    [bold]Examples[/bold]

      regard explore runs/demo

      regard explore runs/recurrent runs/transformer --port 9000 --no-browser

      regard explore runs/lstm --cache 500

      regard explore runs/vectors glove.6B.50d.txt

      regard explore runs/demo runs/transformer --example "3. März 2021" --example "June 7, 1987" -o dates.html
    """
    _refuse_impossible(out, {"--example": texts, "--show": show, "--head": head})
    names: dict[str, Path] = {}
    for folder in models:
        names[_unique(folder.resolve().name, names)] = folder
    how = cache_of(cache, cache_theta, cache_share)
    loaded = _load(names, device, settings or [])
    if cache:
        loaded = _with_caches(loaded, cache, how)
    folders = {name: str(folder) for name, folder in names.items()}
    if out is not None:
        _write(_readers(loaded, names), folders, texts or [], out, show, head)
        return
    from regard.web.serving import serve

    def tell(address: str) -> None:
        typer.echo(f"{address}  (Ctrl-C ends it)")

    serve(loaded, folders, host=host, port=port, browser=not no_browser, tell=tell)


def _refuse_impossible(out: Path | None, given: Mapping[str, object]) -> None:
    if out is None and (alone := next((name for name, value in given.items() if value is not None), None)):
        raise UsageError(f"{alone} chooses what a file shows; name one with --out FILE.html, or leave {alone} out")
    if out is not None and out.suffix.lower() != ".html":
        raise UsageError(f"{out}: the page is written as .html; choose a name that ends so")
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(f"the page needs {error.name}, which is not installed: pip install 'regard[web]'") from None


def _load(names: Mapping[str, Path], device: str, changes: Sequence[str]) -> "dict[str, Trained | Vectors]":
    from regard.cli.loading import loading
    from regard.tasks import load, task_of
    from regard.tasks.trained import Embedding, Inspectable
    from regard.vectors import Vectors, are_vectors

    with loading():
        loaded = {
            name: Vectors.load(folder) if are_vectors(folder) else load(folder, device=device, changes=changes)
            for name, folder in names.items()
        }
    for name, model in loaded.items():
        if not isinstance(model, Inspectable | Embedding):
            raise UsageError(
                f"{names[name]}: is for {task_of(names[name])}, which has nothing to look inside; leave it out"
            )
    return loaded


def _with_caches(
    loaded: "Mapping[str, Trained | Vectors]", size: int, how: Mapping[str, float]
) -> "dict[str, Trained | Vectors]":
    able = {name: model.with_cache(size, **how) for name, model in loaded.items() if hasattr(model, "with_cache")}
    if not able:
        raise UsageError(f"--cache {size}: only language models have one, and none of these is; leave it out")
    return {**loaded, **able}


def _readers(loaded: "Mapping[str, Trained | Vectors]", names: Mapping[str, Path]) -> "dict[str, Trained]":
    """Models that read texts, which are all that a file can hold."""
    from regard.tasks.trained import Inspectable

    readers = {name: model for name, model in loaded.items() if isinstance(model, Inspectable)}
    unread = next((names[name] for name in loaded if name not in readers), None)
    if unread is not None:
        raise UsageError(f"{unread}: vectors of words have a page of their own; regard vectors map {unread} writes it")
    return readers


def _write(
    models: "Mapping[str, Trained]",
    folders: Mapping[str, str],
    texts: Sequence[str],
    out: Path,
    show: str | None,
    head: int | None,
) -> None:
    from regard.cli.progress import progress_of
    from regard.inspect.figure import write_text
    from regard.web.recording import Recorder

    with progress_of("asking") as on_progress:
        recording = Recorder(models, folders, show, head).record(texts, on_progress)
    write_text(recording.page("Regard"), out)
    typer.echo(out)


def _unique(name: str, taken: Collection[str]) -> str:
    """The name, with a number if another has the same."""
    numbered = (f"{name}-{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)
