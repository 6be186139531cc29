"""What an evaluation counts, and what true links between runs of letters and digits are."""

import pytest
from command_line import Trained

import regard
from regard.data import Pair
from regard.errors import UsageError
from regard.tasks.evaluation import evaluate, true_links
from regard.tokens.segmentation import runs


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("2021-03-05", ["2021", "03", "05"]),
        ("3. März 2021", ["3", "März", "2021"]),
        ("2059年12月23日", ["2059", "年", "12", "月", "23", "日"]),
        ("۳ مارس", ["۳", "مارس"]),
        ("हिन्दी", ["हिन्दी"]),
        ("x1y", ["x", "1", "y"]),
        (" -/. ", []),
    ],
)
def test_runs_of_letters_and_digits(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in runs(text)] == found


def test_links_with_a_choice_are_only_possible() -> None:
    pair = Pair("27:e mars", "03-27", links=(((0, 4), (3, 5)), ((5, 9), (0, 2))))
    links = true_links(pair)
    assert links.sure == {(2, 0)}
    assert links.possible == {(0, 1), (1, 1), (2, 0)}


def test_scores_by_language_and_of_links(trained: Trained) -> None:
    translator = regard.load(trained.folder)
    (right,) = translator.translate(["eins zwei"])
    pairs = [
        Pair("eins zwei", right.text, links=(((0, 4), (0, 3)),), language="de"),
        Pair("Haus", "no such word", language="nl"),
    ]
    result = evaluate(translator, pairs)
    assert result.outputs[0] == right.text
    assert result.accuracy.value == 0.5
    assert result.languages() == ["de 100", "nl 0"]
    assert result.alignment is not None
    assert 0.0 <= result.alignment.value <= 1.0


def test_there_must_be_something_to_evaluate_on(trained: Trained) -> None:
    with pytest.raises(UsageError, match=r"there is nothing to evaluate on: the text has no pair"):
        evaluate(regard.load(trained.folder), [])
