"""Tokenizers and vocabularies."""

from regard.tokens.tokenizer import Piece, Tokenizer
from regard.tokens.vocabulary import BEGIN, END, PAD, UNKNOWN, Vocabulary

__all__ = ["BEGIN", "END", "PAD", "UNKNOWN", "Piece", "Tokenizer", "Vocabulary"]
