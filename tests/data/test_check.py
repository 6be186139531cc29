"""`check`: what is doubtful is counted, with file and line, and what happens to it is what the settings say."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_strategies import data, two_files, write

from regard.data import Report, load_corpus
from regard.data.check import check, check_corpora
from regard.data.report import Finding
from regard.errors import DataError
from regard.recipe import Data, Tokens

GOOD = [("ein Haus", "a house"), ("ein Hund", "a dog"), ("eine Katze", "a cat")]


def line_of(settings: Data, kind: str, part: str = "train", tokens: Tokens | None = None) -> str:
    """The line about a kind of finding; refused by the report if and only if the line says so."""
    report = check(settings, tokens=tokens)
    finding = report.find(kind, part)
    assert finding is not None
    assert finding.line() in report.lines()
    if finding.outcome == "refused":
        with pytest.raises(DataError) as refusal:
            report.raise_if_refused()
        assert finding.line() in str(refusal.value)
    else:
        report.raise_if_refused()
    return finding.line()


def dropped(settings: Data) -> list[int]:
    """Lines of training pairs that are dropped."""
    checked = check_corpora(load_corpus(settings, 1), settings)
    return [line for line, out in enumerate(checked.dropped.tolist(), start=1) if out]


def test_a_good_corpus(tmp_path: Path) -> None:
    train = two_files(tmp_path, GOOD)
    report = check(data(train=train))
    assert report.findings == ()
    assert report.lines() == [
        f"train: 3 pairs in {train[0]} and {train[1]}, 26 source and 17 target characters",
        "no problems found",
    ]
    report.raise_if_refused()


def test_built_in_corpora_are_checked_too() -> None:
    report = check(data(corpus="copy", examples=500))
    assert list(report.parts) == ["train", "dev", "test"]
    again = report.find("duplicates")
    assert again is not None
    expected = f"train: {again.count} pairs that occurred before: kept (data.duplicates); first example "
    assert again.line().startswith(expected)


def test_empty_sides(tmp_path: Path) -> None:
    train = two_files(tmp_path, [*GOOD, ("", "x"), ("x", " \t"), ("", "")])
    line = line_of(data(train=train), "empty")
    places = f"first {train[0]}:4; {train[1]}:5; {train[0]}:6"
    assert line == f"train: 3 pairs with an empty side: dropped (data.empty); {places}"
    assert dropped(data(train=train)) == [4, 5, 6]
    assert line_of(data(train=train, empty="refuse"), "empty") == (
        f"train: 3 pairs with an empty side: refused (data.empty); {places}; "
        'fill or remove these lines on both sides, or set data.empty to "drop"'
    )
    assert check(data(train=train)).find("duplicates") is None


def test_control_characters(tmp_path: Path) -> None:
    train = two_files(tmp_path, [*GOOD, ("a\x01b", "x"), ("tab\tis fine", "y"), ("z", "line\u2028separator")])
    places = f"first {train[0]}:4 (U+0001); {train[1]}:6 (U+2028)"
    assert line_of(data(train=train), "control") == (
        f"train: 2 pairs with control characters: kept (data.control); {places}"
    )
    assert dropped(data(train=train)) == []
    assert dropped(data(train=train, control="drop")) == [4, 6]
    assert line_of(data(train=train, control="refuse"), "control").endswith(
        '; remove these characters, or set data.control to "keep" or "drop"'
    )


def test_duplicates(tmp_path: Path) -> None:
    train = two_files(tmp_path, [*GOOD, GOOD[0], ("ein Haus", "one house"), GOOD[0], GOOD[1]])
    line = line_of(data(train=train), "duplicates")
    places = f"first {train[0]}:4; {train[0]}:6; {train[0]}:7"
    assert line == f"train: 3 pairs that occurred before: kept (data.duplicates); {places}"
    assert dropped(data(train=train, duplicates="drop")) == [4, 6, 7]
    assert line_of(data(train=train, duplicates="refuse"), "duplicates").endswith(
        '; remove the repeated pairs, or set data.duplicates to "keep" or "drop"'
    )


@given(rows=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=1, max_size=12))
def test_duplicates_are_those_that_a_set_finds(
    rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    train = two_files(tmp_path_factory.mktemp("corpus"), rows)
    expected = [line for line, row in enumerate(rows, start=1) if row in rows[: line - 1]]
    assert dropped(data(train=train, duplicates="drop")) == expected


@pytest.mark.parametrize("part", ["dev", "test"])
def test_overlap(tmp_path: Path, part: str) -> None:
    train = two_files(tmp_path, GOOD)
    settings = {"train": train, part: two_files(tmp_path, [("ein Hund ", "one dog"), ("neu", "new")], part)}
    assert line_of(data(**settings), f"overlap with {part}") == (
        f"train: 1 pair whose source is in the {part} text too: kept (data.overlap); {train[0]}:2"
    )
    assert dropped(data(**settings, overlap="drop")) == [2]
    assert line_of(data(**settings, overlap="refuse"), f"overlap with {part}").endswith(
        '; remove these pairs from the training text, or set data.overlap to "keep" or "drop"'
    )


def test_invalid_utf8(tmp_path: Path) -> None:
    source, target = write(tmp_path / "a.de", b"gut\nk\xe4se\n"), write(tmp_path / "a.en", b"1\n2\n")
    settings = {"train": [source, target]}
    place = f"{source}:2: byte 0xe4 at byte 2 of the line"
    assert line_of(data(**settings), "invalid") == (
        f"train: 1 line of invalid UTF-8: refused (data.invalid); {place}; "
        f"it seems to be CP1252; convert it: iconv -f CP1252 -t UTF-8 {source} > {tmp_path / 'a.utf8.de'}, "
        'or set data.invalid to "replace" or "drop"'
    )
    assert line_of(data(**settings, invalid="drop"), "invalid").startswith("train: 1 line of invalid UTF-8: dropped")
    assert dropped(data(**settings, invalid="drop")) == [2]
    assert "replaced (data.invalid)" in line_of(data(**settings, invalid="replace"), "invalid")
    assert dropped(data(**settings, invalid="replace")) == []


def test_length_ratios(tmp_path: Path) -> None:
    train = two_files(tmp_path, [*GOOD, ("x" * 3, "y" * 28), ("x" * 3, "y" * 27)])
    assert line_of(data(train=train), "ratio") == (
        f"train: 1 pair with a length ratio above 9 in characters: kept; {train[0]}:4 (3 to 28)"
    )
    assert check(data(train=train, ratio=30.0)).findings == ()


def test_over_long_pairs(tmp_path: Path) -> None:
    train = two_files(tmp_path, [*GOOD, ("ä b c", "x"), ("aaaa", "aaaa")])
    assert line_of(data(train=train, longest=2), "over_long") == (
        f"train: 1 pair with more than 2 words on a side: dropped (data.over_long); {train[0]}:4"
    )
    assert "cut (data.over_long)" in line_of(data(train=train, longest=2, over_long="cut"), "over_long")
    assert line_of(data(train=train, longest=2, over_long="refuse"), "over_long").endswith(
        '; raise data.longest, or set data.over_long to "drop" or "cut"'
    )
    mixed = Tokens.model_validate({"source": {"kind": "bytes"}, "target": {"kind": "characters"}})
    bytes_line = line_of(data(train=train, longest=5), "over_long", tokens=mixed)
    assert bytes_line.startswith("train: 4 pairs with more than 5 bytes or characters on a side: dropped")


def test_what_a_model_is_judged_on_stays_whole(tmp_path: Path) -> None:
    odd = [("", "x"), ("a\x01", "b"), ("x", "y"), ("x", "y")]
    settings = {"train": two_files(tmp_path, GOOD), "dev": two_files(tmp_path, odd, "dev")}
    strict = data(**settings, empty="refuse", control="refuse", duplicates="refuse", longest=10)
    report = check(strict)
    report.raise_if_refused()
    assert [finding.line() for finding in report.findings] == [
        f"dev: 1 pair with an empty side: kept; {settings['dev'][0]}:1",
        f"dev: 1 pair with control characters: kept; {settings['dev'][0]}:2 (U+0001)",
    ]


def test_windows_line_ends_and_byte_order_marks(tmp_path: Path) -> None:
    source = write(tmp_path / "a.de", b"\xef\xbb\xbfeins\r\nzwei\r\n")
    target = write(tmp_path / "a.en", b"one\ntwo\r\n")
    assert [finding.line() for finding in check(data(train=[source, target])).findings] == [
        f"train: a byte order mark at the start of {source}: removed",
        f"train: 2 lines with a Windows line end in {source}: removed",
        f"train: 1 line with a Windows line end in {target}: removed",
    ]


def test_files_that_cannot_be_read_are_findings(tmp_path: Path) -> None:
    train = two_files(tmp_path, GOOD)
    Path(train[1]).write_text("one line\n")
    missing = [str(tmp_path / "no.de"), str(tmp_path / "no.en")]
    report = check(data(train=train, dev=missing))
    assert [finding.part for finding in report.refused] == ["train", "dev"]
    assert list(report.parts) == ["train"]  # nothing was read of the other
    with pytest.raises(DataError) as refusal:
        report.raise_if_refused()
    unequal, gone = str(refusal.value).split("\n")
    assert unequal.startswith(
        f"train: {train[0]} has 3 lines and {train[1]} 1, none for {train[0]}:2; nothing shows where they stop"
    )
    assert unequal.endswith("line n of one belongs to line n of the other")
    assert gone.startswith(f"dev: {missing[0]}: no such file")


def test_reports_survive_json() -> None:
    finding = Finding("empty", "train", 2, "pairs with an empty side", "dropped", "data.empty", ("a:1",), "advice")
    report = Report({"train": "2 pairs"}, (finding,), ("a note",))
    assert Report.from_json(report.as_json()) == report
    assert report.lines()[-1] == "a note"


def test_newer_findings_replace_older_ones_of_the_same_kind() -> None:
    old = Finding("over_long", "train", 1, "pairs with more", "dropped")
    new = Finding("over_long", "train", 2, "pairs with more", "dropped")
    other = Finding("empty", "train", 1, "pairs with an empty side", "dropped")
    assert Report({}, (old, other)).extended([new], ["note"]) == Report({}, (other, new), ("note",))


def test_dates_say_what_they_are_made_of() -> None:
    report = check(Data(corpus="dates", examples=200, languages=["en-US", "de"]))
    assert any(note.startswith("200 dates in 2 languages and ") for note in report.notes)
    assert any("carry their language as a tag" in note for note in report.notes)
    assert any("were left out and drawn again" in note for note in report.notes)
