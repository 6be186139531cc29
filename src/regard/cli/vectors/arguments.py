"""Arguments that several commands about vectors take, described once."""

from pathlib import Path
from typing import Annotated, Literal

import typer

VectorsPath = Annotated[
    Path,
    typer.Argument(
        metavar="VECTORS",
        help="A folder of vectors, or a file of word2vec, GloVe, or fastText (.gz or not).",
        show_default=False,
    ),
]
Method = Annotated[
    Literal["additive", "multiplicative"],
    typer.Option(help="How to combine the given words: additive (3CosAdd) or multiplicative (3CosMul)."),
]
Top = Annotated[int, typer.Option(min=1, help="Number of words to show.")]
KeepGiven = Annotated[
    bool, typer.Option("--keep-given", help="Allow the given words as answers, too: they nearly always win.")
]
Frequent = Annotated[int | None, typer.Option(min=1, help="Use only this many words, the most frequent ones.")]
