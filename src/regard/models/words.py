"""Word vectors for any encoder: an embedding, optionally concatenated with a character encoder.

    words = WordInput(recipe.words, vocabulary, encoder.input_width)
    encoded = encoder.encode(words(sentences), sentences.lengths)

Characters only influence the vector of their word.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.sentences import Sentences
from regard.models.characters import CHARACTER_ENCODERS
from regard.nn.embedding import TokenEmbedding
from regard.recipe import WordTable
from regard.tap import Tap, name_axes
from regard.tokens import UNKNOWN
from regard.tokens.word_vocabulary import WordVocabulary


class WordEmbedding(TokenEmbedding):
    """Vectors of words. The last `unseen` ones, which do not occur in the training text, are frozen, so that an
    optimizer need not update a whole large table of word vectors in every step.

    `sources` are those of an extended vocabulary (`WordVocabulary.grown`)."""

    def __init__(self, size: int, width: int, unseen: int = 0, sources: Sequence[int] = ()) -> None:
        # Features of variance one, as encoders expect.
        super().__init__(size - unseen, width, scale=width**0.5)
        if unseen:
            self.fixed = nn.Parameter(torch.zeros(unseen, width), requires_grad=False)
        self.unseen, self.sources = unseen, list(sources)

    @property
    def weight(self) -> Float[Tensor, "V E"]:
        return torch.cat([self.vectors, self.fixed]) if self.unseen else self.vectors

    def put(self, vectors: Float[Tensor, "V E"]) -> None:
        self.vectors.copy_(vectors[: self.size])
        if self.unseen:
            self.fixed.copy_(vectors[self.size :])

    def grown(
        self, vectors: Float[Tensor, "L E"], fixed: Float[Tensor, "unseen E"] | None = None
    ) -> Float[Tensor, "M E"]:
        """The vectors of a model that lacks some of these words: each new word gets the vector it was read with."""
        known = vectors if fixed is None else torch.cat([vectors, fixed])
        fits = max(self.sources, default=0) < len(known)  # or else they are not those that it was extended from
        return torch.cat([vectors, known[self.sources]]) if fits else vectors

    def look_up(self, tokens: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        if not self.unseen:
            return super().look_up(tokens)
        learned = F.embedding(tokens.clamp(max=self.size - 1), self.vectors)
        fixed = F.embedding((tokens - self.size).clamp(min=0), self.fixed)
        return torch.where((tokens < self.size).unsqueeze(-1), learned, fixed)


class WordInput(nn.Module):
    """The tap `output` shows the vectors, "B S E". Those of padding are arbitrary."""

    def __init__(self, settings: WordTable, vocabulary: WordVocabulary, width: int | None = None) -> None:
        super().__init__()
        self.settings = settings
        self.width = settings.vector_width if width is None else width
        self.embedding = WordEmbedding(vocabulary.size, settings.width, vocabulary.unseen, vocabulary.sources)
        name_axes(self.embedding, step="source")
        self.characters: nn.Module | None = None
        if settings.characters.kind != "none":
            build = CHARACTER_ENCODERS[settings.characters.kind]
            self.characters = build(settings.characters, len(vocabulary.characters))
            name_axes(self.characters, row="spelling", step="character")
        fits = self.width == settings.vector_width
        self.join = nn.Identity() if fits else nn.Linear(settings.vector_width, self.width)
        self.output = Tap("row", "source", "feature")
        self.embedding.vectors.requires_grad_(not settings.vectors.freeze)

    def forward(self, sentences: Sentences) -> Float[Tensor, "B S E"]:
        tokens = sentences.tokens
        if self.training and self.settings.dropout:
            dropped = torch.rand(tokens.shape, device=tokens.device) < self.settings.dropout
            tokens = tokens.masked_fill(dropped, UNKNOWN)
        vectors = self.embedding(tokens)
        if self.characters is not None:
            assert sentences.forms is not None
            spelled = nn.functional.embedding(sentences.forms, self.characters(sentences.spellings))
            vectors = torch.cat([vectors, spelled], -1)
        output: Tensor = self.output(self.join(vectors))
        return output

    def start(self, vocabulary: WordVocabulary) -> list[str]:
        """Copies the word vectors that the settings name into the embedding; returns lines that say so."""
        from regard.models.pretrained import start_from_vectors  # word vectors take long to import

        return start_from_vectors(self, self.settings.vectors, {"file": vocabulary}, "words.vectors")
