"""`regard train`, `generate`, `score`, `check` and `ladder` of language models, through the real command."""

import json
import math
from pathlib import Path

import pytest
from command_line import Trained, regard, untouched
from language_runs import language_recipe, write_text

from regard.models.continuous_cache import SHARE, THETA
from regard.recipe import write_recipe
from regard.tasks.writer import Writer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("language")
    (place / "my.toml").write_text(write_recipe(language_recipe(place)), encoding="utf-8")
    told = regard("train", place / "my.toml", "--out", place / "model")
    assert told.code == 0, told.err
    assert "step 12: validation: loss " in told.err
    assert ", perplexity " in told.err
    return place / "model"


def test_generate_writes_on(model: Path) -> None:
    with untouched(model):
        told = regard("generate", model, "--prompt", "the cat", "--tokens", 6, "--seed", 3)
        assert (told.code, told.err) == (0, "")
        assert told.out.startswith("the cat")
        assert told.out.endswith("\n")
        by_pipe = regard("generate", model, "--prompt", "-", "--tokens", 6, "--seed", 3, stdin=b"the cat\n")
        assert told.out == by_pipe.out
        assert told.out != regard("generate", model, "--prompt", "the cat", "--tokens", 6, "--seed", 4).out
        several = regard("generate", model, "--prompt", "the cat", "--tokens", 6, "--seed", 3, "--samples", 2).out
        assert several.startswith(told.out)
        assert several.count("the cat") >= 2
        cold = regard("generate", model, "--prompt", "a", "--tokens", 4, "--temperature", 0).out
        assert cold == regard("generate", model, "--prompt", "a", "--tokens", 4, "--top-k", 1, "--seed", 9).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--prompt", "Cat"], "prompt 'Cat': the model knows none of its words; near 'Cat' are 'cat'"),
        (["--tokens", 0], "regard: --tokens 0: give 1 or more\n"),
        (["--samples", 0], "regard: --samples 0: give 1 or more\n"),
        *(
            (["--top-p", share], f"regard: --top-p {share}: give a number above 0, and at most 1\n")
            for share in (1.5, 0, -1, "nan")
        ),
        *(
            (
                ["--temperature", given],
                f"--temperature {given}: give 0, which takes the likeliest token, or a finite number above it\n",
            )
            for given in (-1, "nan", "inf")
        ),
        (["--top-k", -1], "regard: --top-k -1: give 0, which means all tokens, or a number of tokens\n"),
        (["--seed", 10**20], f"regard: --seed {10**20}: must be less than 9223372036854775808\n"),
        (["--set", "decode.beam=3"], "unknown setting 'decode.beam'"),
    ],
)
def test_generate_refuses_in_words(model: Path, arguments: list[object], words: str) -> None:
    with untouched(model):
        told = regard("generate", model, *arguments)
    assert told.code == 2
    assert words in told.err
    assert told.out == ""


def test_a_prompt_that_is_no_text(model: Path) -> None:
    told = regard("generate", model, "--prompt", "-", stdin=b"the\n\xff\n")
    assert told.code == 2
    assert "standard input, line 2: not valid UTF-8" in told.err
    for given, where in ((b"the\ncat\0 sees\n", "line 2: contains a NUL byte (byte 4)"), (b"\0", "line 1: ")):
        told = regard("generate", model, "--prompt", "-", stdin=given)
        assert (told.code, told.out) == (2, "")
        assert told.err.startswith(f"regard: standard input, {where}")


def test_generate_says_what_it_does_not_know(model: Path) -> None:
    told = regard("generate", model, "--prompt", "the zebra", "--tokens", 2)
    assert told.code == 0
    assert told.err == "the model does not know 'zebra', and reads an unknown word there\n"


def test_score_of_the_test_text_and_of_a_file(model: Path, tmp_path: Path) -> None:
    told = regard("score", model)
    assert told.code == 0
    assert told.out.startswith("perplexity per token ")
    assert "|ends of lines:14|unknown:0 as one|vocabulary:14 words|context:stream, carried|rows:1|regard:" in told.out
    (tmp_path / "new.txt").write_text("the cat\na zebra\n")
    assert regard("score", model, tmp_path / "new.txt", "--json", tmp_path / "a.json").code == 0
    numbers = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert numbers["likelihood"]["tokens"] == 6
    assert numbers["likelihood"]["unknown"] == 1
    assert [score["name"] for score in numbers["scores"]] == [
        "perplexity per token",
        "perplexity per word",
        "bits per character",
    ]
    assert regard("score", model, "--split", "dev").out != told.out
    assert regard("score", model, "--split", "test").out == told.out
    assert "context:lines|" in regard("score", model, "--context", "lines").out
    assert "tokens:6|" in (many := regard("score", model, tmp_path / "new.txt", "--rows", 99_999_999).out)
    assert "|context:stream, carried|rows:6|" in many
    assert (
        "cache:9 words, theta 0.5, share 0.2"
        in regard("score", model, "--cache", 9, "--cache-theta", 0.5, "--cache-share", 0.2).out
    )
    assert "cache:9 words, theta 0, " in regard("score", model, "--cache", 9, "--cache-theta", 0).out


def test_a_cache_is_by_default_what_the_help_says(model: Path) -> None:
    assert f"cache:9 words, theta {THETA}, share {SHARE}|" in regard("score", model, "--cache", 9).out
    told = " ".join(regard("score", "--help").out.split())
    assert all(f"(default: {value})" in told for value in (THETA, SHARE))


def test_a_text_of_unknown_words_is_scored_and_said_to_be_one(model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("Der Hund sieht\n")
    told = regard("score", model, tmp_path / "new.txt")
    assert told.code == 0
    assert told.err == "75 % of the tokens are unknown to this model: is this text written as its training text was?\n"
    assert "unknown:3 as one" in told.out


def test_score_of_every_token(model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("the cat\na zebra\n")
    told = regard("score", model, tmp_path / "new.txt", "--per-token")
    rows = [line.split("\t") for line in told.out.splitlines()]
    assert [(line, token) for line, token, _ in rows] == [
        ("1", "the"),
        ("1", "cat"),
        ("1", "</s>"),
        ("2", "a"),
        ("2", "<unk>"),
        ("2", "</s>"),
    ]
    assert told.err.startswith("perplexity per token ")
    assert regard("score", model, tmp_path / "new.txt", "--per-token", "--json", tmp_path / "a.json") == told
    whole = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [row["token"] for row in whole["tokens"]] == [token for _, token, _ in rows]
    bits = sum(float(row[2]) for row in rows)
    assert bits == pytest.approx(-whole["likelihood"]["log_prob"] / math.log(2), abs=1e-3)


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        (b"", [], "new.txt: the file is empty"),
        (b"\n\n", [], "there is no line of text in"),
        (b"a\0b", [], "new.txt:1: a NUL byte at byte 2 of the line, so this is not text"),
        (
            b"\xff",
            [],
            "new.txt:1: byte 0xff at byte 1 of the line: not valid UTF-8; save the text as UTF-8\n",
        ),
        (b"a\n", ["--context", "line"], "--context 'line' is not known; known are 'lines'"),
        (b"a\n", ["--split", "train"], "--split 'train' is not known; known are 'test' or 'dev'"),
        (
            b"a\n",
            ["--split", "dev"],
            "regard: --split dev is a part of the model's own corpus, and files are named; leave one out\n",
        ),
        (b"a\n", ["--cache", -1], "regard: a cache of --cache -1 words is empty; give 1 or more\n"),
        (
            b"a\n",
            ["--cache", 10**20],
            f"a cache of --cache {10**20:,} words does not fit into memory; give at most 1,000,000\n",
        ),
        *(
            (
                b"a\n",
                ["--cache", 9, "--cache-theta", theta],
                f"regard: the cache's --cache-theta {theta} must be finite and at least 0\n",
            )
            for theta in ("-0.5", "nan", "inf")
        ),
        *(
            (
                b"a\n",
                ["--cache", 9, "--cache-share", share],
                f"regard: the cache's --cache-share {share} must be at least 0 and below 1\n",
            )
            for share in ("-0.1", "1.0", "nan")
        ),
        (
            b"a\n",
            ["--cache-theta", 0.5],
            "regard: --cache-theta 0.5 needs a cache; ask for one with --cache 500\n",
        ),
        (
            b"a\n",
            ["--cache", 0, "--cache-share", 0.5],
            "regard: --cache-share 0.5 needs a cache; ask for one with --cache 500\n",
        ),
        (b"a\n", ["--rows", 0], "regard: --rows 0: a text is read in at least one\n"),
        (b"a\n", ["--to", "fr"], "regard: --to: is for models of task 'translation', and "),
    ],
)
def test_score_refuses_in_words(
    model: Path, tmp_path: Path, content: bytes, arguments: list[object], words: str
) -> None:
    (tmp_path / "new.txt").write_bytes(content)
    with untouched(model):
        told = regard("score", model, tmp_path / "new.txt", *arguments)
    assert (told.code, told.out) == (2, "")
    assert words in told.err


def test_impossible_options_are_refused_before_the_model_is_loaded(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Writer, "load", lambda *given, **named: pytest.fail("the model was loaded"))
    for cache in (["-1"], ["9", "--cache-theta", "nan"], ["9", "--cache-share", "1"]):
        told = regard("score", model, "--cache", *cache)
        assert told.code == 2
        assert "cache" in told.err
    for command, option, value in (
        ("score", "--rows", 0),
        ("score", "--context", "line"),
        ("generate", "--tokens", 0),
        ("generate", "--top-p", 2),
    ):
        told = regard(command, model, option, value)
        assert (told.code, told.err.split()[:2]) == (2, ["regard:", option])


def test_commands_say_which_model_they_need(model: Path, trained: Trained, tmp_path: Path) -> None:
    told = regard("translate", model, stdin=b"eins\n")
    assert told.code == 2
    said = "this model is for language, and a model for translation is needed here; its commands are generate, score"
    assert said in told.err
    told = regard("generate", trained.folder)
    assert "this model is for translation, and a model for language is needed here; its commands are" in told.err
    (tmp_path / "one.txt").write_text("eins\n", encoding="utf-8")
    told = regard("score", trained.folder, tmp_path / "one.txt")
    assert (told.code, told.out) == (2, "")
    assert "one.txt: is one side of pairs, by its name; name the file of the target after it, or give" in told.err
    caching = [["--cache", 5], ["--cache-theta", 0.5], ["--cache-share", 0.1]]
    for option in (["--context", "lines"], ["--rows", 2], *caching):
        refused = regard("score", trained.folder, *option)
        assert refused.code == 2
        said = f"regard: {option[0]}: is for models of task 'language', and {trained.folder} is not one; leave it out\n"
        assert refused.err == said
    recipe = language_recipe(tmp_path, data={"test": [], "documents": "none"})
    (tmp_path / "my.toml").write_text(write_recipe(recipe), encoding="utf-8")
    regard("train", tmp_path / "my.toml", "--out", tmp_path / "model", "--set", "train.steps=1")
    told = regard("score", tmp_path / "model")
    assert "the model's recipe names no test text (data.test); name the files to score" in told.err
    told = regard("score", tmp_path / "model", tmp_path / "train.txt", "--context", "documents")
    assert told.err == (
        "regard: context = 'documents': the model's recipe does not say where documents begin (data.documents); "
        "use 'stream' or 'lines'\n"
    )
    tuned = ["--out", tmp_path / "tuned", "--set", f"train.start_from={trained.folder}"]
    told = regard("train", tmp_path / "my.toml", *tuned)
    assert told.code == 2
    assert told.err.startswith(f"regard: train.start_from: {trained.folder}: this model is for translation, and a ")


def test_check_of_one_text_and_of_a_recipe(tmp_path: Path) -> None:
    files = write_text(tmp_path)
    told = regard("check", files["train"][0], "--dev", files["dev"][0])
    assert told.code == 0
    assert told.out.startswith(f"train: 119 lines in {files['train'][0]}, ")
    (tmp_path / "my.toml").write_text(write_recipe(language_recipe(tmp_path)), encoding="utf-8")
    told = regard("check", tmp_path / "my.toml")
    assert "train: 119 lines in " in told.out
    assert ", 20 documents, " in told.out
    (tmp_path / "train.txt").write_bytes(b"a\0")
    told = regard("check", tmp_path / "my.toml")
    assert told.code == 2
    assert "train.txt:1: a NUL byte" in told.err


def test_a_text_too_short_to_judge_a_model_is_said_to_be_so(tmp_path: Path) -> None:
    for size, short in ((27, True), (28, False)):
        recipe = language_recipe(tmp_path, data={"dev": [], "end_of_line": False})
        (tmp_path / "train.txt").write_text("cat " * (size - 1) + "\ncat")
        (tmp_path / "my.toml").write_text(write_recipe(recipe), encoding="utf-8")
        told = regard("train", tmp_path / "my.toml", "--out", tmp_path / f"{size}", "--set", "train.steps=1")
        assert told.code == 0
        assert short == (
            "train: this is less than one batch (27 tokens, and train.batch_tokens = 28): a model learns so short a "
            "text by heart, and cannot be judged by it; train on more text\n" in told.err
        )


def test_a_recipe_of_another_task_is_refused_where_it_cannot_work(tmp_path: Path) -> None:
    told = regard("ladder", "dates", "--out", tmp_path / "out")
    assert "task = 'translation', but a recipe with task = 'language' is needed here" in told.err
    (tmp_path / "bad.toml").write_text('task = "speech"\n', encoding="utf-8")
    told = regard("check", tmp_path / "bad.toml")
    assert "task = 'speech' is not known; known are 'translation'" in told.err
