"""Gold and its text: where it counts from, and gold that is of other text."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.inspect.gold import Gold, Words, gold_of, read_gold
from regard.inspect.pharaoh import parse_gold

LINES = 60


def corpus(seed: int = 0) -> tuple[list[Words], list[list[tuple[int, int]]]]:
    """Sentences of a language whose translation has another order and length, with their links."""
    draw = random.Random(seed)
    texts: list[Words] = []
    links = []
    for _ in range(LINES):
        size = draw.randint(3, 8)
        source = [draw.choice("abcdef") for _ in range(size)]
        order = draw.sample(range(size), size)
        links.append([(place, 1 + order[place]) for place in range(size)] + [(size, size + 1)])
        target = ["the"] + [""] * size
        for place, moved in enumerate(order):
            target[1 + moved] = source[place].upper()
        texts.append(([*source, "."], [*target, "."]))
    return texts, links


def read_as(path: Path, texts: list[Words]) -> Gold:
    return gold_of(path, list(read_gold(path)), texts)


def write(path: Path, links: list[list[tuple[int, int]]], form: Callable[[int, int], str] = "{}-{}".format) -> Path:
    path.write_text("".join(" ".join(form(*link) for link in row) + "\n" for row in links), encoding="utf-8")
    return path


def exchanged(links: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    return [[(j, i) for i, j in row] for row in links]


def test_gold_of_the_text_is_read_as_it_is(tmp_path: Path) -> None:
    texts, links = corpus()
    gold = read_as(write(tmp_path / "gold", links), texts)
    assert (gold.first, gold.note) == (0, "")
    assert [row.sure for row in gold.rows] == [frozenset(row) for row in links]


@given(st.integers(0, 50))
def test_gold_that_counts_from_one_is_moved_and_said(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    texts, links = corpus(seed)
    path = tmp_path_factory.mktemp("gold") / "gold"
    gold = read_as(write(path, links, lambda i, j: f"{i + 1}{'p' if i % 2 else '-'}{j + 1}"), texts)
    assert (gold.first, gold.note) == (1, f"{path}: counts words from 1")
    assert [row.possible for row in gold.rows] == [frozenset(row) for row in links]
    assert [row.sure for row in gold.rows] == [frozenset(link for link in row if link[0] % 2 == 0) for row in links]


def test_few_links_count_from_zero_if_they_fit(tmp_path: Path) -> None:
    texts: list[Words] = [(["a", "b", "c"], ["d", "e"])]
    assert read_as(write(tmp_path / "gold", [[(1, 1)]]), texts).first == 0
    assert read_as(write(tmp_path / "gold", [[(3, 1)]]), texts).first == 1
    with pytest.raises(DataError, match="has no link, so nothing can be judged by it"):
        read_as(write(tmp_path / "gold", [[]]), texts)


def test_the_note_on_many_links_without_zero_that_fit_either_way_says_what_to_do(tmp_path: Path) -> None:
    texts: list[Words] = [(["a", "b", "c"], ["d", "e", "f"])] * 10
    path = write(tmp_path / "gold", [[(1, 1)]] * 10)
    gold = read_as(path, texts)
    assert gold.first == 1
    assert gold.note == (
        f"{path}: counts words from 1, as no link has a 0; if it counts from 0 all the same, add 1 to all its numbers"
    )
    assert read_as(write(path, [[(2, 2)]] * 10), texts).rows[0].sure == {(1, 1)}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda rows: [[(j, i) for i, j in row] for row in rows],
            ":{line}: the link {link} is outside of this pair, wh",
        ),
        (exchanged, "; all fit as target-source: give them as source-ta"),
        (lambda rows: [*rows[1:], rows[0]], ":{line}: the link {link} is outside of this pair, which has "),
        (lambda rows: [*rows[1:], rows[0]], "; name the gold of this text, and the text tokenized as it was for the"),
        (lambda rows: rows[:-1], ":59: the links end with 59 lines, and there are 60 sentence pairs; give a line for"),
        (lambda rows: [*rows, rows[0]], ":61: links without a sentence pair, of which there are 60; give a line for"),
    ],
)
def test_gold_that_cannot_be_of_this_text_is_refused(tmp_path: Path, spoil, message: str) -> None:
    texts, links = corpus()
    spoiled = spoil(links)
    path = write(tmp_path / "gold", spoiled)
    with pytest.raises(DataError) as caught:
        read_as(path, texts)
    told = str(caught.value)
    assert told.startswith(str(path))
    if "{line}" in message:
        line, link = re.search(r":(\d+): the link (\d+-\d+)", told).groups()  # type: ignore[union-attr]
        i, j = map(int, link.split("-"))
        assert (i, j) in spoiled[int(line) - 1]
        assert i >= len(texts[int(line) - 1][0]) or j >= len(texts[int(line) - 1][1])
        message = message.format(line=line, link=link)
    assert message in told


def test_gold_whose_links_fit_but_lead_punctuation_astray_is_told_or_refused(tmp_path: Path) -> None:
    same: list[Words] = [(["a", ".", "b", "c"], ["a", "b", "c", "."])] * 40
    rows = [[(0, 0), (1, 3), (2, 1), (3, 2)]] * 40
    assert read_as(write(tmp_path / "right", rows), same).note == ""
    for path, spoiled, message in (
        ("turned", exchanged(rows), "100% if source and target are exchanged; exchange"),
        ("other", [[(1, 0), (2, 3)]] * 40, "so these links are not of this text, or its lines are in another order"),
    ):
        with pytest.raises(DataError) as caught:
            read_as(write(tmp_path / path, spoiled), same)
        assert f"{path}:1: only 0% of the punctuation that has a link is linked with punctuation" in str(caught.value)
        assert message in str(caught.value)
    half = write(tmp_path / "half", [rows[0], [(1, 0)]] * 20)
    assert read_as(half, same).note == (
        f"{half}: only 50% of the punctuation that has a link is linked with punctuation: the text seems to be "
        "tokenized otherwise than for the gold, which makes scores worse"
    )


def test_possible_links_in_either_form() -> None:
    assert parse_gold("0-0 1p2 2?1", "x") == parse_gold("0-0 1?2 2p1", "x")
    assert parse_gold("0-0 1?2", "x").sure == {(0, 0)}


DATA = Path(__file__).parents[2] / "../shared/data/align-xlwa"


@pytest.mark.skipif(not DATA.is_dir(), reason="XL-WA is not here")
@pytest.mark.parametrize("part", sorted(DATA.glob("*.dev.tsv")), ids=lambda path: path.stem)
def test_gold_of_ten_languages_fits_and_other_tokenization_is_told(part: Path, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in part.read_text(encoding="utf-8").splitlines()]
    path = tmp_path / "gold"
    path.write_text("".join(row[2].strip() + "\n" for row in rows), encoding="utf-8")
    texts: list[Words] = [(row[0].split(" "), row[1].split(" ")) for row in rows]
    assert read_as(path, texts).note == ""
    finer: list[Words] = [
        (re.findall(r"\w+|[^\w\s]", row[0]), other) for row, (_, other) in zip(rows, texts, strict=True)
    ]
    assert "the text seems to be tokenized otherwise than for the gold" in read_as(path, finer).note
    with pytest.raises(DataError):
        read_as(path, [*texts[1:], texts[0]])
    with pytest.raises(DataError):
        read_as(path, [(target, source) for source, target in texts])
