"""Tokenizers and vocabularies."""

from regard.tokens.kinds import TOKENIZERS, load_tokenizer, save_tokenizer, train_tokenizer
from regard.tokens.tokenizer import Piece, Tokenizer
from regard.tokens.vocabulary import BEGIN, END, PAD, UNKNOWN, Vocabulary

__all__ = [
    "BEGIN",
    "END",
    "PAD",
    "TOKENIZERS",
    "UNKNOWN",
    "Piece",
    "Tokenizer",
    "Vocabulary",
    "load_tokenizer",
    "save_tokenizer",
    "train_tokenizer",
]
