"""Several trained models as one translator."""

from collections.abc import Sequence
from pathlib import Path

from regard.errors import UsageError
from regard.models import Ensemble
from regard.tasks.tokenizer_files import SIDES
from regard.tasks.translator import Translator
from regard.tokens import Tokenizer


def load_ensemble(folders: Sequence[Path], *, device: str = "auto", changes: Sequence[str] = ()) -> Translator:
    """The models in several folders, which must tokenize alike on both sides; the first one's recipe says how they
    decode, and on what text they are evaluated."""
    first = Translator.load(folders[0], device=device, changes=changes)
    others = [Translator.load(folder, device=device) for folder in folders[1:]]
    for folder, other in zip(folders[1:], others, strict=True):
        pairs = zip(_tokenizers(first), _tokenizers(other), strict=True)
        for side, (ours, theirs) in zip(SIDES, pairs, strict=True):
            if not tokenize_alike(ours, theirs):
                raise UsageError(
                    f"{folder}: its {side} tokenizer is not that of {folders[0]}, so they cannot write together; take "
                    "models trained on the same text with the same [tokens]"
                )
    model = Ensemble([first.model, *(other.model for other in others)])
    return Translator(first.recipe, model, *_tokenizers(first), folder=first.folder)


def tokenize_alike(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether two tokenizers give every text the same tokens, whatever they did in training."""
    facts = ((each.kind, each.settings.lowercase, each.vocabulary.tags, each.state()) for each in (one, other))
    return next(facts) == next(facts)


def _tokenizers(translator: Translator) -> tuple[Tokenizer, Tokenizer]:
    return translator.source_tokenizer, translator.target_tokenizer
