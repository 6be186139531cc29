"""Scores of output text against reference text, line by line."""

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER, TERScore

from regard.errors import UsageError
from regard.metrics.score import MetricScore

TextMetric = BLEU | CHRF | TER


class _PlainChrf(CHRF):
    """chrF that always returns Python floats. sacreBLEU's own returns numpy floats for bootstrap samples with a match
    and Python floats for those without, and its mean over a mix of both raises a TypeError."""

    def _compute_f_score(self, statistics: list[int]) -> float:
        return float(super()._compute_f_score(statistics))


class _PlainTer(TER):
    """The same fix for samples with and without reference words."""

    def _compute_score_from_stats(self, stats: list[float]) -> TERScore:
        return super()._compute_score_from_stats([float(count) for count in stats])


def text_metrics() -> dict[str, TextMetric]:
    """New instances of the sacreBLEU metrics that Regard reports; they are stateful, so do not share them."""
    # `force` silences a warning about text that looks tokenized, which would land in the middle of a progress bar.
    return {"BLEU": BLEU(force=True), "chrF": _PlainChrf(), "TER": _PlainTer()}


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> MetricScore:
    """Share of outputs that equal their reference, character for character, from 0 to 1."""
    refuse_unpaired("accuracy", outputs, references)
    right = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return MetricScore("accuracy", right / len(outputs), f"exact|lines:{len(outputs)}")


def bleu(outputs: Sequence[str], references: Sequence[str], resamples: int = 0) -> MetricScore:
    """BLEU (Papineni et al. 2002) of detokenized text, from 0 to 100."""
    return _by_sacrebleu("BLEU", outputs, references, resamples)


def chrf(outputs: Sequence[str], references: Sequence[str], resamples: int = 0) -> MetricScore:
    """chrF2 (Popović 2015), from 0 to 100."""
    return _by_sacrebleu("chrF", outputs, references, resamples)


def ter(outputs: Sequence[str], references: Sequence[str], resamples: int = 0) -> MetricScore:
    """Translation edit rate (Snover et al. 2006), in percent of the reference's words: lower is better."""
    return _by_sacrebleu("TER", outputs, references, resamples)


def _by_sacrebleu(name: str, outputs: Sequence[str], references: Sequence[str], resamples: int) -> MetricScore:
    """With `resamples` above 1, the margin is estimated from that many bootstrap samples of the lines (Koehn 2004)."""
    refuse_unpaired(name, outputs, references)
    metric = text_metrics()[name]
    result = metric.corpus_score(list(outputs), [list(references)], n_bootstrap=max(1, resamples))
    margin = float(result._ci) if resamples > 1 else None
    return MetricScore(result.name, float(result.score), str(metric.get_signature()), margin)


def refuse_unpaired(name: str, outputs: Sequence[str], references: Sequence[str]) -> None:
    """Refuses empty input, or a number of outputs that is not that of the references."""
    if len(outputs) != len(references):
        raise UsageError(
            f"{name}: {len(outputs)} outputs cannot be compared with {len(references)} references; give one for each"
        )
    if not outputs:
        raise UsageError(f"{name}: there is nothing to score; give at least one output and its reference")
