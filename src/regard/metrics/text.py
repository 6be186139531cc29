"""Scores of output text against reference text, line by line."""

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.errors import UsageError
from regard.metrics.score import Score


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Share of outputs that equal their reference, character for character, from 0 to 1."""
    _refuse_unpaired("accuracy", outputs, references)
    right = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Score("accuracy", right / len(outputs), f"exact|lines:{len(outputs)}")


def bleu(outputs: Sequence[str], references: Sequence[str], resamples: int = 0) -> Score:
    """BLEU (Papineni et al. 2002) of detokenized text, from 0 to 100."""
    # `force` silences a warning about text that looks tokenized, which would land in the middle of a progress bar.
    return _by_sacrebleu(BLEU(force=True), outputs, references, resamples)


def chrf(outputs: Sequence[str], references: Sequence[str], resamples: int = 0) -> Score:
    """chrF2 (Popović 2015), from 0 to 100."""
    return _by_sacrebleu(CHRF(), outputs, references, resamples)


def ter(outputs: Sequence[str], references: Sequence[str], resamples: int = 0) -> Score:
    """Translation edit rate (Snover et al. 2006), in percent of the reference's words: lower is better."""
    return _by_sacrebleu(TER(), outputs, references, resamples)


def _by_sacrebleu(
    metric: BLEU | CHRF | TER, outputs: Sequence[str], references: Sequence[str], resamples: int
) -> Score:
    """With `resamples` above 1, the margin comes from so many bootstrap samples of the lines (Koehn 2004)."""
    _refuse_unpaired(type(metric).__name__, outputs, references)
    result = metric.corpus_score(list(outputs), [list(references)], n_bootstrap=max(1, resamples))
    margin = float(result._ci) if resamples > 1 else None
    return Score(result.name, float(result.score), str(metric.get_signature()), margin)


def _refuse_unpaired(name: str, outputs: Sequence[str], references: Sequence[str]) -> None:
    if len(outputs) != len(references):
        raise UsageError(
            f"{name}: {len(outputs)} outputs cannot be compared with {len(references)} references; give one for each"
        )
    if not outputs:
        raise UsageError(f"{name}: there is nothing to score; give at least one output and its reference")
