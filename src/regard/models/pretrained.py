"""Embeddings initialized from pre-trained word vectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ModelError, RegardError, UsageError, counted
from regard.nn.embedding import TokenEmbedding, TokenVectors
from regard.recipe import PretrainedVectors
from regard.tokens import Tokenizer
from regard.tokens.subwords import Subwords
from regard.tokens.vocabulary import SPECIAL_NAMES
from regard.tokens.word_vocabulary import WordVocabulary
from regard.vectors import Vectors

PARTS = {"source": "encoder", "target": "decoder", "file": ""}
"""The part of a model that contains the embedding of a setting."""


@dataclass(frozen=True)
class Coverage:
    """How many tokens have a vector."""

    tokens: int
    """Tokens of text in the vocabulary."""
    exact: int
    """Tokens whose word has a vector."""
    folded: int
    """Tokens whose word has one only in lower case."""

    def __str__(self) -> str:
        covered = self.exact + self.folded
        folded = f", {self.folded:,} of them in lower case," if self.folded else ""
        return f"{covered:,} of {counted(self.tokens, 'token')} ({100 * covered / max(1, self.tokens):.1f} %){folded}"


def embed_from(
    vectors: Vectors, tokenizer: Tokenizer | WordVocabulary, new: Float[Tensor, "V E"]
) -> tuple[Float[Tensor, "V E"], Coverage]:
    """A copy of the matrix `new` with the vectors of known words in their tokens' rows, and the coverage.

    Of subwords, only those that are whole words have a vector. All vectors are scaled by one factor to the average
    length of new ones, as a model expects features of variance one.
    """
    rows, places, folded = [], [], 0
    for index in range(len(SPECIAL_NAMES), tokenizer.size):
        word = _word(tokenizer, index)
        if word in vectors:
            known = word
        elif word.lower() in vectors:
            known, folded = word.lower(), folded + 1
        else:
            continue
        rows.append(index)
        places.append(vectors.places[known])
    coverage = Coverage(tokenizer.size - len(SPECIAL_NAMES), len(rows) - folded, folded)
    if not rows:
        return new.clone(), coverage
    found = torch.from_numpy(vectors.matrix[places]).to(new)
    length = found.square().sum(1).mean().sqrt()
    matrix = new.clone()
    matrix[rows] = found / length.clamp(min=1e-12)
    return matrix, coverage


@torch.no_grad()
def start_from_vectors(
    model: nn.Module,
    settings: PretrainedVectors,
    tokenizers: Mapping[str, Tokenizer] | Mapping[str, WordVocabulary],
    table: str = "model.vectors",
) -> list[str]:
    """Copies the vectors of the settings' files into a new model; returns a line about each file. `table` is the name
    of the settings."""
    lines = []
    for setting, file in settings.files.items():
        embedding = embedding_of(model, setting)
        vectors = _load(file, f"{table}.{setting}", embedding.width)
        matrix, coverage = embed_from(vectors, tokenizers[setting], embedding.weight)
        if not coverage.exact + coverage.folded:
            raise ModelError(
                f"{table}.{setting} = {file!r}: not one of {counted(coverage.tokens, 'token')} is among its "
                f"{counted(len(vectors), 'word')}; choose vectors of the language and the kind of tokens of the model"
            )
        embedding.put(matrix)
        rest = "" if coverage.exact + coverage.folded == coverage.tokens else "; the others start at random"
        frozen = "; all of them are frozen" if settings.freeze else ""
        shared = _sharing(model, embedding)
        lines.append(f"{_name(setting)}: {coverage} start from {file}{rest}{frozen}{shared}")
    return lines


def freeze_embeddings(model: nn.Module, settings: PretrainedVectors) -> None:
    """Freezes the embeddings that start from a file, if the settings say so; does not need the file."""
    for setting in settings.files if settings.freeze else ():
        embedding_of(model, setting).weight.requires_grad_(False)


def embedding_of(model: nn.Module, setting: str) -> TokenEmbedding:
    part = model.get_submodule(PARTS[setting])
    return next(module for module in part.modules() if isinstance(module, TokenEmbedding))


def _word(tokenizer: Tokenizer | WordVocabulary, index: int) -> str:
    """The word that a token stands for, or an empty string."""
    token = tokenizer.vocabulary[index]
    if not isinstance(tokenizer, Subwords):
        return token
    # A space marks the beginning of a word; other subwords may look like a word by accident.
    return token[1:] if token.startswith(" ") else ""


def _load(file: str, setting: str, width: int) -> Vectors:
    try:
        vectors = Vectors.load(Path(file))
    except RegardError as error:
        raise type(error)(f"{setting}: {error}") from None
    if vectors.width != width:
        raise UsageError(
            f"{setting} = {file!r}: its vectors have width {vectors.width}, but the model's embedding "
            f"has width {width}; set the width of the embedding to {vectors.width}, or choose other vectors"
        )
    return vectors


def _name(setting: str) -> str:
    return "vectors" if setting == "file" else f"{setting} vectors"


def _sharing(model: nn.Module, embedding: TokenEmbedding) -> str:
    """Names the other parts of a model with the same weights."""
    others = [module for module in model.modules() if isinstance(module, TokenVectors) and module is not embedding]
    kinds = {isinstance(other, TokenEmbedding) for other in others if other.weight is embedding.weight}
    shared = [name for kind, name in ((True, "the other side"), (False, "the readout")) if kind in kinds]
    return f" (shared with {' and '.join(shared)})" if shared else ""
