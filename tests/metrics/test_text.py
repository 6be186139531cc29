"""Text scores: hand-computed values, signatures, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu import corpus_bleu

from regard.errors import UsageError
from regard.metrics import MetricScore, accuracy, bleu, chrf, compare, quality_by_length, ter

LINES = st.lists(st.text("abc ", min_size=1, max_size=12), min_size=1, max_size=6)


def test_accuracy_counts_equal_lines():
    score = accuracy(["2021-03-03", "2021-03-04", "x", "y "], ["2021-03-03", "2021-03-05", "x", "y"])
    assert score == MetricScore("accuracy", 0.5, "exact|lines:4")


@given(LINES)
def test_a_perfect_output_is_perfect(lines):
    assert accuracy(lines, lines).value == 1
    assert ter(lines, lines).value == 0


def test_bleu_by_hand():
    # Five of six words are right, 4/5 pairs, 3/4 triples, 2/3 quadruples, and the lengths agree.
    score = bleu(["the cat sat on the rug"], ["the cat sat on the mat"])
    assert score.name == "BLEU"
    assert score.value == pytest.approx(100 * math.prod((5 / 6, 4 / 5, 3 / 4, 2 / 3)) ** 0.25)
    assert "tok:13a" in score.signature
    assert "version:" in score.signature
    assert score.margin is None


def test_bleu_punishes_short_output():
    # All n-grams are right; the brevity penalty is exp(1 - 6/5).
    score = bleu(["the cat sat on the"], ["the cat sat on the mat"])
    assert score.value == pytest.approx(100 * math.exp(1 - 6 / 5))


def test_chrf_by_hand():
    # Orders 1 to 3 exist (lengths 3 and 3): 2/3, 1/2 and 0 of the n-grams agree, and precision equals recall.
    score = chrf(["abc"], ["abd"])
    assert score.name == "chrF2"
    assert score.value == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3)
    assert "nc:6" in score.signature


def test_ter_by_hand():
    # One word of the reference's five must be changed, and one shifted block would cost one edit.
    assert ter(["a b c d e"], ["a b c d f"]).value == pytest.approx(20)
    assert ter(["d e a b c"], ["a b c d e"]).value == pytest.approx(20)
    assert "tok:tercom" in ter(["a"], ["a"]).signature


@pytest.mark.parametrize("metric", [bleu, chrf, ter])
def test_margins_come_from_resampling(metric):
    outputs, references = ["a b c d e", "x y z u v"] * 10, ["a b c d f", "x y z u v"] * 10
    once, again = metric(outputs, references, resamples=50), metric(outputs, references, resamples=50)
    assert once == again
    assert once.margin > 0
    assert "bs:50" in once.signature
    assert once.value == metric(outputs, references).value


def test_scores_are_printed_with_their_signature():
    assert str(MetricScore("BLEU", 67.5604, "tok:13a")) == "BLEU 67.56 (tok:13a)"
    assert str(MetricScore("BLEU", 67.5604, "tok:13a", 2.821)) == "BLEU 67.56 ± 2.8 (tok:13a)"
    assert str(MetricScore("accuracy", 0.98765, "exact|lines:4")) == "accuracy 0.9877 (exact|lines:4)"


@pytest.mark.parametrize(("metric", "name"), [(accuracy, "accuracy"), (bleu, "BLEU"), (chrf, "chrF"), (ter, "TER")])
def test_what_is_refused(metric, name):
    with pytest.raises(UsageError) as error:
        metric(["a", "b"], ["a"])
    assert str(error.value) == f"{name}: 2 outputs cannot be compared with 1 references; give one for each"
    with pytest.raises(UsageError) as error:
        metric([], [])
    assert str(error.value) == f"{name}: there is nothing to score; give at least one output and its reference"


@pytest.mark.parametrize("metric", [chrf, ter])
def test_margins_of_samples_in_which_nothing_matches(metric):
    """Samples of a few bad lines: some share a character with their reference and some none, some have no reference."""
    for outputs, references in ((["abc", "xyz"], ["abc", "uvw"]), (["abc", "xyz"], ["abd", ""])):
        found = metric(outputs, references, resamples=40)
        assert found.margin > 0
        assert found.value == metric(outputs, references).value


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    ("tokenizer", "references"),
    [
        ("13a", ["the cat sat on the mat .", "Straße, 한국어"]),
        ("zh", ["我们明天去北京。", "无法打开文件 file.txt"]),
        ("char", ["私は東京に行きます。", "経済"]),
        ("char", ["ฉันไปโรงเรียนทุกวัน"]),
        ("char", ["ຂ້ອຍໄປໂຮງຮຽນ"]),
    ],
)
def test_bleu_by_the_script_of_the_references(tokenizer, references):
    outputs = [text[:-2] + text[-1] for text in references]
    score = bleu(outputs, references)
    assert f"tok:{tokenizer}|" in score.signature
    assert score.value == pytest.approx(corpus_bleu(outputs, [references], tokenize=tokenizer).score)
    assert score == bleu(outputs, references, tokenizer=tokenizer)
    assert compare(outputs, references, references)[0].value == pytest.approx(score.value)
    assert f"tok:{tokenizer}|" in compare(outputs, references, references)[0].signature


def test_bleu_sees_one_character_in_a_sentence_without_blanks():
    output, reference = "明日の会議は東京で十時に始まる。", "明日の会議は大阪で十時に始まる。"
    assert bleu([output], [reference], tokenizer="13a").value < 1
    assert bleu([output], [reference]).value > 60


def test_a_tokenizer_that_is_not_installed_is_refused(monkeypatch):
    def missing(**settings):
        raise RuntimeError("no MeCab")

    monkeypatch.setattr("regard.metrics.text.BLEU", missing)
    with pytest.raises(UsageError) as error:
        bleu(["a"], ["a"], tokenizer="ja-mecab")
    assert str(error.value) == (
        "BLEU's tokenizer 'ja-mecab' needs packages that are not installed; pip install 'sacrebleu[ja]', or choose "
        "'char', which needs none (evaluation.bleu_tokenizer)"
    )


def test_lengths_are_of_characters_and_every_bucket_has_the_tokenizer_of_all():
    sources = ["東" * length for length in (2, 40) for _ in range(20)]
    references = ["abc def"] * 20 + ["東京に行くのです"] * 20
    buckets = quality_by_length(sources, references, references)
    assert [bucket.label for bucket in buckets] == ["2–3", "4–40"]
    assert {bucket.unit for bucket in buckets} == {"characters"}
    assert all("tok:char" in bucket.bleu.signature for bucket in buckets)
