"""Texts to learn vectors from, as streams and back."""

import gzip
from pathlib import Path

import numpy as np

from regard.recipe import VectorsData
from regard.vectors.corpus import Corpus, load_corpus
from regard.vectors.stream import LINE_END


def corpus_of(text: str, folder: Path, name: str = "text.txt", **settings: object) -> Corpus:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return load_corpus(VectorsData.model_validate({"train": [str(path)], **settings}), folder / "cache")


def lines_in(corpus: Corpus) -> list[list[str]]:
    """The stream as words again; lines without words are left out."""
    pieces = np.split(corpus.tokens, np.flatnonzero(corpus.tokens == LINE_END))
    lines = [[corpus.vocabulary.words[number] for number in piece if number >= 0] for piece in pieces]
    return [line for line in lines if line]
