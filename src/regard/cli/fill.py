"""`regard fill`: files or standard input to standard output, line for line."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Device, ModelFolder, SentenceFiles
from regard.cli.lines import Line, pieces_of_lines
from regard.cli.loading import loading
from regard.cli.sentences import print_lines, up_to_too_long

if TYPE_CHECKING:
    from regard.tasks.pretrained_encoder import PretrainedEncoder

Guesses = Annotated[
    int, typer.Option(min=0, help="Write this many guesses for each missing word instead, with their probabilities.")
]


def fill(model: ModelFolder, files: SentenceFiles = None, guesses: Guesses = 0, device: Device = "auto") -> None:
    """Fill in missing words in files or standard input, line by line.

    Each line is a sentence, with spaces between words and punctuation, in which ___ marks a missing word; the output
    is the sentence with the most likely word at each ___, predicted from all other words, or by a unidirectional
    encoder from the words before it. Lines without ___ are unchanged. With --guesses, a line instead has the most
    likely words for each ___, each with its probability, separated by tabs, and " | " between the gaps.

    [bold]Examples[/bold]

      echo "The ___ barks ." | regard fill runs/encoder

      echo "The ___ barks ." | regard fill runs/encoder --guesses 5
    """
    with loading():
        from regard.tasks.pretrained_encoder import load_encoder

        encoder = load_encoder(model, device=device)
    for piece in pieces_of_lines(files or [], "one sentence a line, ___ for a missing word; Ctrl-D ends"):
        print_lines(_filled(encoder, piece, guesses))


def _filled(encoder: "PretrainedEncoder", lines: list[Line], guesses: int) -> Iterator[str]:
    """The output for each line."""
    sentences = [line.text.split() for line in lines]
    whole, refusal = up_to_too_long(encoder, sentences, [line.place for line in lines])
    for line, found in zip(lines, encoder.fill(sentences[:whole], guesses=max(guesses, 1)), strict=False):
        shown = ("\t".join(f"{word} {share:.4f}" for word, share in each) for each in found.guesses)
        yield " | ".join(shown) if guesses else found.text if found.guesses else line.text
    if refusal is not None:
        raise refusal
