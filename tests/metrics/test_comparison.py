"""Comparisons of two systems: intervals and p-values against brute force, and what is said about them."""

import random
from itertools import product

import numpy as np
import pytest

from regard.errors import UsageError
from regard.metrics import Comparison, bleu, chrf, compare, ter
from regard.metrics import comparison as module

JUDGES = {"BLEU": bleu, "chrF2": chrf, "TER": ter}


def noisy(lines: list[str], share: float, seed: int) -> list[str]:
    """The lines with some of their words replaced."""
    draw = random.Random(seed)
    return [" ".join("x" if draw.random() < share else word for word in line.split()) for line in lines]


def text(lines: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices("abcdefghijklmnop", k=draw.randint(4, 12))) for _ in range(lines)]


@pytest.fixture
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 80)
    monkeypatch.setattr(module, "TRIALS", 200)


@pytest.mark.usefixtures("_few_draws")
def test_intervals_are_those_of_a_brute_force_paired_bootstrap() -> None:
    references = text(15)
    ours, theirs = noisy(references, 0.1, 1), noisy(references, 0.3, 2)
    draws = np.random.default_rng(12345).choice(15, size=(80, 15), replace=True)
    for found in compare(ours, theirs, references):
        judge = JUDGES[found.name]

        def difference(rows: np.ndarray, judge=judge) -> float:
            first, second, wanted = ([texts[row] for row in rows] for texts in (ours, theirs, references))
            return judge(first, wanted).value - judge(second, wanted).value

        drawn = sorted(map(difference, draws))
        assert found.low == pytest.approx(drawn[2])
        assert found.high == pytest.approx(drawn[-3])
        assert found.difference == pytest.approx(difference(np.arange(15)))
        assert found.value == pytest.approx(judge(ours, references).value)
        assert found.low < found.high


def test_p_values_are_those_of_all_swaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 40)
    monkeypatch.setattr(module, "TRIALS", 1500)
    references = text(7)
    ours, theirs = noisy(references, 0.15, 3), noisy(references, 0.4, 4)
    for found in compare(ours, theirs, references):
        judge = JUDGES[found.name]
        beyond = total = 0
        for swaps in product((False, True), repeat=7):
            first = [b if swap else a for a, b, swap in zip(ours, theirs, swaps, strict=True)]
            second = [a if swap else b for a, b, swap in zip(ours, theirs, swaps, strict=True)]
            difference = abs(judge(first, references).value - judge(second, references).value)
            total += 1
            beyond += difference >= abs(found.difference) - 1e-9
        assert found.p_value == pytest.approx(beyond / total, abs=0.04)


def test_swaps_that_differ_exactly_as_much_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """One edit better on 8 of 40 lines and worse on 2: a sign test, whose exact value is 2 (1 + 10 + 45) / 1024."""
    monkeypatch.setattr(module, "RESAMPLES", 40)
    references = ["a b c d e f"] * 40
    wrong = "a b c x e f"
    ours = [*references[:8], wrong, wrong, *references[10:]]
    theirs = [wrong] * 8 + references[8:]
    found = {found.name: found for found in compare(ours, theirs, references)}["TER"]
    assert found.p_value == pytest.approx(112 / 1024, abs=0.02)
    assert not found.is_significant


@pytest.mark.usefixtures("_few_draws")
def test_different_outputs_of_equal_score_have_p_one() -> None:
    references = ["a b c d e f"] * 6
    wrong = "a b c x e f"
    ours, theirs = [wrong] * 3 + references[3:], references[:3] + [wrong] * 3
    for found in compare(ours, theirs, references):
        assert (found.difference, found.p_value) == (0, 1)


@pytest.mark.usefixtures("_few_draws")
def test_p_values_are_as_good_when_few_swaps_fit_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    references = text(30)
    ours, theirs = noisy(references, 0.2, 1), noisy(references, 0.25, 2)
    whole = compare(ours, theirs, references)
    monkeypatch.setattr(module, "SWAPS_AT_ONCE", 100)
    for one, other in zip(whole, compare(ours, theirs, references), strict=True):
        assert 0.05 < one.p_value < 1
        assert one.p_value == pytest.approx(other.p_value, abs=0.15)


@pytest.mark.usefixtures("_few_draws")
def test_identical_systems_do_not_differ() -> None:
    references = text(12)
    outputs = noisy(references, 0.2, 1)
    for found in compare(outputs, outputs, references):
        assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
        assert not found.is_significant
        assert found.verdict() == "no difference at all"


@pytest.mark.usefixtures("_few_draws")
def test_a_few_lines_are_no_evidence() -> None:
    references = text(40)
    outputs = noisy(references, 0.5, 1)
    better = [*references[:4], *outputs[4:]]
    for found in compare(better, outputs, references):
        assert found.p_value == pytest.approx(1 / 8, abs=0.06)  # all swapped or none, of four lines
        assert found.verdict().startswith("no difference can be shown on this text: equally good systems differ this ")


@pytest.mark.usefixtures("_few_draws")
def test_the_better_system_is_called_better_whichever_way_the_metric_points() -> None:
    references = text(60)
    good, bad = noisy(references, 0.05, 1), noisy(references, 0.5, 2)
    there, back = compare(good, bad, references), compare(bad, good, references)
    assert [found.name for found in there] == ["BLEU", "chrF2", "TER"]
    for one, other in zip(there, back, strict=True):
        assert one.is_significant
        assert one.verdict().startswith("better, and hardly by chance: equally good systems differ this much in ")
        assert other.verdict().startswith("worse, and hardly by chance: ")
        assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))


@pytest.mark.usefixtures("_few_draws")
def test_signatures_say_how_and_with_which_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    references = text(10)
    outputs, others = noisy(references, 0.1, 1), noisy(references, 0.4, 2)
    first = compare(outputs, others, references)
    assert first == compare(outputs, others, references)
    assert first[0].signature.startswith("nrefs:1|bs:80|ar:200|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|")
    assert "|ties:counted|version:" in first[0].signature
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    second = compare(outputs, others, references)
    assert "|seed:7|" in second[0].signature
    assert (first[0].low, first[0].high) != (second[0].low, second[0].high)


@pytest.mark.parametrize(
    ("p_value", "numbers", "often"),
    [
        (0.0001, "p < 0.001", "fewer than 1 of 1,000"),
        (0.004, "p = 0.004", "about 4 of 1,000"),
        (0.03, "p = 0.030", "about 3 of 100"),
        (0.41, "p = 0.410", "about 41 of 100"),
    ],
)
def test_words(p_value: float, numbers: str, often: str) -> None:
    found = Comparison("BLEU", 34.256, 33.1, 0.3, 2.0, p_value, "tok:13a")
    assert found.numbers() == f"BLEU 34.26 against 33.10: +1.16 (95 % interval +0.30 to +2.00), {numbers}"
    assert found.verdict().endswith(f": equally good systems differ this much in {often} comparisons")


def test_a_metric_of_which_less_is_better_says_so() -> None:
    found = Comparison("TER", 50.0, 52.0, -3.0, -1.0, 0.001, "tok:tercom", lower_is_better=True)
    assert found.numbers().startswith("TER (lower is better) 50.00 against 52.00: -2.00 (95 % interval -3.00 to -1.00)")
    assert found.verdict().startswith("better, ")
    assert "lower is better" in found._repr_html_()
    assert "lower" not in Comparison("BLEU", 34.0, 33.0, 0.3, 2.0, 0.03, "tok:13a").numbers()


def test_what_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        compare(["a", "b"], ["a"], ["a", "b"])
    assert str(error.value) == "comparison: 2 outputs and 1 of the other system do not pair up"
    with pytest.raises(UsageError, match="comparison: 1 outputs cannot be compared with 2 references"):
        compare(["a"], ["a"], ["a", "b"])
    with pytest.raises(UsageError, match="comparison: there is nothing to score"):
        compare([], [], [])
