"""`regard back-translate`: text in the target language becomes additional training pairs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, ModelFolder, Resume, To
from regard.cli.eager_notice import told_if_eager
from regard.cli.progress import progress_of
from regard.cli.repeat import INTERRUPTED
from regard.errors import counted

if TYPE_CHECKING:
    from regard.tasks.backtranslation import Counts


def back_translate(
    model: ModelFolder,
    text: Annotated[
        Path,
        typer.Argument(metavar="TEXT", help="Target text, one sentence per line; may end in .gz.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="A .tsv file for the pairs.", show_default=False)],
    tag: Annotated[
        str, typer.Option(help="Token put before each synthetic source, such as <bt> (Caswell et al. 2019).")
    ] = "",
    resume: Resume = False,
    settings: DecodingChanges = None,
    to: To = None,
    device: Device = "auto",
) -> None:
    """Translate text in the target language back with a model for the reverse direction, to get more training pairs.

    A line of the file is the source that the model generated, a tab, and the given target. Outputs that are empty or
    reach the length limit are left out and counted. The file appears when it is complete; Ctrl-C keeps finished pairs.

    To train from German to English, translate English text with a model from English to German, and append the pairs
    to the real ones. Beam search, the default, was better than sampling in our measurements; a tag tells the model
    which sources are synthetic.

    [bold]Examples[/bold]

      regard back-translate runs/en-de more.en -o written.tsv

      paste train.de train.en | cat - written.tsv > both.tsv

      regard train my.toml --set 'data.train=\\["both.tsv"]'

      regard back-translate runs/en-de more.en -o written.tsv --tag "<bt>" --set decode.method=sample
    """
    from regard.tasks import load_translator
    from regard.tasks.backtranslation import BackTranslation

    translator = load_translator(model, device=device, changes=settings or []).into(to)
    task = BackTranslation(translator, text, out, tag=tag)
    translator.only_writing()
    try:
        with told_if_eager(translator.why_eager), progress_of("lines") as on_progress:
            counts = task.run(resume=resume, on_progress=on_progress)
    except KeyboardInterrupt:
        typer.echo(f"stopped; {counted(task.counts.lines, 'line')} done and safe; continue with --resume", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(in_words(counts, out), err=True)


def in_words(counts: "Counts", out: Path) -> str:
    """A summary of how many lines became pairs, and why others did not."""
    kinds = {
        "blank lines": counts.blank,
        "empty outputs": counts.empty,
        "outputs that reached the length limit": counts.cut,
    }
    left_out = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items() if count)
    told = f"{out}: {counted(counts.pairs, 'pair')} from {counted(counts.lines, 'line')}"
    told += f"; left out: {left_out}" if left_out else ""
    return told + (f"; tabs became spaces in {counted(counts.tabs, 'line')}" if counts.tabs else "")
