"""Faults of a whole corpus, or of a stretch of it, are found with their share, place and remedy; good text has none."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair_strategies import data, invented_words, spoken_pairs, two_files

from regard.data import Report
from regard.data.characters import Characters
from regard.data.check import check
from regard.data.languages import Language
from regard.data.repetition import is_loop
from regard.data.stretches import densest

Pairs = list[tuple[str, str]]
KINDS = ("identical", "swapped", "shifted", "language of the source", "language of the target", "loops")
KINDS += ("repeated text", "copied")


def foreign(lines: int) -> list[str]:
    draw = random.Random(1)
    return [" ".join(draw.choices(invented_words("other"), k=draw.randint(3, 25))) for _ in range(lines)]


def shifted(pairs: Pairs, start: int) -> Pairs:
    targets = [target for _, target in pairs]
    del targets[start]
    return [(source, target) for (source, _), target in zip(pairs, targets, strict=False)]


PLANTED: dict[str, Callable[[Pairs, int], Pairs]] = {
    "identical": lambda pairs, start: pairs[:start] + [(source, source) for source, _ in pairs[start:]],
    "swapped": lambda pairs, start: pairs[:start] + [(target, source) for source, target in pairs[start:]],
    "shifted": shifted,
    "language of the source": lambda pairs, start: [
        *pairs[:start],
        *((other, target) for other, (_, target) in zip(foreign(len(pairs)), pairs[start:], strict=False)),
    ],
    "language of the target": lambda pairs, start: [
        *pairs[:start],
        *((source, other) for other, (source, _) in zip(foreign(len(pairs)), pairs[start:], strict=False)),
    ],
    "loops": lambda pairs, start: pairs[:start] + [(source, "and so " * 12) for source, _ in pairs[start:]],
    "repeated text": lambda pairs, start: [
        *pairs[:start],
        *((source, "this is the only translation there is") for source, _ in pairs[start:]),
    ],
    "copied": lambda pairs, start: pairs[:start] + pairs[: len(pairs) - start],
}


def report_of(folder: Path, pairs: Pairs, **more: object) -> Report:
    train, dev = two_files(folder, pairs), two_files(folder, spoken_pairs(150, seed=99), "dev")
    return check(data(train=train, dev=dev, **more))


@given(seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_good_text_has_no_fault(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    report = report_of(tmp_path_factory.mktemp("corpus"), spoken_pairs(400, seed))
    assert [finding.kind for finding in report.findings if finding.kind in KINDS] == []


@pytest.mark.parametrize("kind", PLANTED)
@given(seed=st.integers(0, 1000), share=st.sampled_from([0.0, 0.3, 0.6]))
@settings(max_examples=4)
def test_what_was_planted_is_found_at_its_place(
    kind: str, seed: int, share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    share = max(share, 0.6) if kind == "copied" else share
    start = int(400 * share)
    report = report_of(folder, PLANTED[kind](spoken_pairs(400, seed), start))
    found = [finding for finding in report.findings if finding.kind in KINDS]
    assert [finding.kind for finding in found] == [kind]
    (finding,) = found
    assert finding.line() in report.lines()
    assert abs(finding.count - (400 - start)) <= 12
    assert finding.remedy in finding.line()
    if share:
        line = int(finding.what.rpartition("from ")[2].rpartition(":")[2].removesuffix(" on)"))
        assert abs(line - start - 1) <= 12
        assert f"({100 * finding.count / (400 - (kind == 'shifted')):.0f} %, from " in finding.what
    report.raise_if_refused()


def test_sentences_about_faults(tmp_path: Path) -> None:
    pairs = spoken_pairs(400, 1)
    train = [str(tmp_path / "train.de"), str(tmp_path / "train.en")]

    def told(kind: str, share: float) -> str:
        finding = report_of(tmp_path, PLANTED[kind](pairs, int(400 * share))).find(kind)
        assert finding is not None
        return finding.line()

    line = told("identical", 0)
    assert line.startswith("train: 400 pairs with the same text on both sides (100 %): kept (data.identical); ")
    assert f'{train[0]}:1 ("' in line
    assert line.endswith('; name the right file for each side, or set data.identical to "drop"')
    line = told("swapped", 0)
    assert line.startswith("train: 400 pairs with source and target swapped against the dev text (100 %): kept; ")
    assert line.endswith("; exchange the two files (or columns) of train, or those of dev")
    line = told("shifted", 0.5)
    assert "pairs shifted by 1 line: " in line
    assert line.endswith("; a line is missing in the target, or too many in the source, just before: mend the files")
    line = told("language of the target", 0)
    assert "400 pairs whose target is not in the language of the dev target (100 %): kept; " in line
    assert line.endswith("; look at these lines, and name files of the right languages in train and dev")
    line = told("loops", 0)
    assert "400 pairs in which one side repeats a phrase over and over (100 %): kept; " in line
    assert line.endswith("; remove them; a machine that got stuck writes like this")
    line = told("repeated text", 0)
    assert "400 pairs whose target is the same text for many sources (100 %): kept; " in line
    assert line.endswith("; remove them; a machine or a template wrote them")
    line = told("copied", 0.6)
    assert f"160 pairs that repeat, in order, those from {train[0]}:1 on (40 %, from {train[0]}:241 on): kept; " in line
    assert line.endswith('; remove the copy, or set data.duplicates to "drop"')


@pytest.mark.parametrize("data_settings", [{}, {"held_out": 0.05}], ids=["no dev", "held out"])
@given(seed=st.integers(0, 1000))
@settings(max_examples=4)
def test_sides_swapped_from_some_line_on_are_found_without_other_text(
    data_settings: dict[str, object], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    train = two_files(folder, PLANTED["swapped"](spoken_pairs(1500, seed), 750))
    finding = check(data(train=train, **data_settings)).find("swapped")
    assert finding is not None
    assert "swapped against the beginning of the text (50 %, from " in finding.what
    assert abs(int(finding.what.rpartition(":")[2].removesuffix(" on)")) - 751) <= 40
    assert finding.line().endswith("; exchange the sides of these pairs, or of those before")


def test_a_few_lines_of_another_kind_are_not_in_another_language(tmp_path: Path) -> None:
    """Names and commands, which are alike in every language: on both sides, or in few lines."""
    pairs = spoken_pairs(2000, 1)
    few, many = list(pairs), list(pairs)
    few[500:535] = [(source, other) for (source, _), other in zip(pairs[500:535], foreign(35), strict=True)]
    names = foreign(600)
    many[500:800] = list(zip(names[:300], names[300:], strict=True))
    for lines in (few, many):
        assert [finding.kind for finding in report_of(tmp_path, lines).findings if finding.kind in KINDS] == []


def test_text_of_the_other_side(tmp_path: Path) -> None:
    pairs, others = spoken_pairs(400, 1), spoken_pairs(400, 2)
    mixed = [(source, other) for (source, _), (other, _) in zip(pairs, others, strict=True)]
    finding = report_of(tmp_path, mixed).find("language of the target")
    assert finding is not None
    expected = "pairs whose target is not in the language of the dev target, but in that of the dev source (100 %)"
    assert finding.what == expected


@pytest.mark.parametrize("places", [slice(None, None, 15), slice(200, 230)])
@pytest.mark.parametrize("kind", ["swapped", "language of the source"])
def test_names_that_are_the_same_on_both_sides_hide_no_other_fault(kind: str, places: slice, tmp_path: Path) -> None:
    """Here and there, or all of them in one place."""
    pairs = PLANTED[kind](spoken_pairs(400, 1), 0)
    pairs[places] = [(source, source) for source, _ in pairs[places]]
    report = report_of(tmp_path, pairs)
    assert {finding.kind for finding in report.findings if finding.kind in KINDS} == {"identical", kind}


def test_identical_pairs_are_dropped_or_refused(tmp_path: Path) -> None:
    pairs = [("same", "same"), *spoken_pairs(300, 1)]
    assert report_of(tmp_path, pairs).find("identical") is None  # an accident
    finding = report_of(tmp_path, pairs, identical="drop").find("identical")
    assert finding is not None
    assert finding.line().startswith("train: 1 pair with the same text on both sides (less than 1 %): dropped (data.")
    assert [finding.kind for finding in report_of(tmp_path, pairs, identical="refuse").refused] == ["identical"]


@given(flags=st.lists(st.integers(-3, 3), max_size=12))
def test_the_densest_stretch_has_the_largest_sum(flags: list[int]) -> None:
    import numpy as np

    found = densest(np.array(flags, dtype=np.float64))
    sums = [sum(flags[start:end]) for start in range(len(flags) + 1) for end in range(start, len(flags) + 1)]
    assert found.evidence == max(sums) == sum(flags[found.start : found.end])


@given(lines=st.lists(st.text(max_size=8), min_size=1, max_size=8), order=st.integers(1, 4))
def test_characters_of_a_line_do_not_depend_on_other_lines(lines: list[str], order: int) -> None:
    import numpy as np

    table = np.arange(1 << 16) % 3 == 0
    together = Characters.of(lines)
    alone = [Characters.of([line]) for line in lines]
    assert together.lengths.tolist() == [len(line.lower()) for line in lines]
    assert together.marks().tolist() == [int(each.marks()[0]) for each in alone]
    expected = [float(each.summed(table[each.grams(order)])[0]) for each in alone]
    assert together.summed(table[together.grams(order)]).tolist() == expected


def test_languages_of_little_text_are_not_known() -> None:
    assert Language.of(["ein Haus"]) is None


@pytest.mark.parametrize("text", ["and so " * 6, "ha " * 9, "はい" * 20, "x " + "and then " * 5])
def test_loops(text: str) -> None:
    assert is_loop(text)


@pytest.mark.parametrize("text", ["", "no, no, no!", "the man and the dog and the cat", "東京は日本の首都です" * 2])
def test_what_is_no_loop(text: str) -> None:
    assert not is_loop(text)
