"""The vectors that a trained model has learned for its tokens, as vectors to compare and to map."""

import numpy as np

from regard.nn.embedding import TokenVectors
from regard.tokens import Tokenizer
from regard.tokens.vocabulary import SPECIAL_NAMES
from regard.vectors import Vectors


def vectors_of(embedding: TokenVectors, tokenizer: Tokenizer) -> Vectors:
    """A copy of the vectors of all tokens of text, in the order of the vocabulary."""
    tokens, first = tokenizer.vocabulary.tokens, len(SPECIAL_NAMES)
    matrix = embedding.weight.detach()[first : first + len(tokens)].float().cpu().numpy()
    return Vectors(tokens, np.array(matrix))
