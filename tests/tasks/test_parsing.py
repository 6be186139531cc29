"""Parsers from files of CoNLL-U to trees, through the real commands and in Python."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_line import regard, untouched
from parsing_task import RECIPE, TRANSITION, write_treebank

import regard as package
from regard.data.conllu import Sentence, each_sentence
from regard.errors import ModelError, UsageError
from regard.tasks import load_translator
from regard.tasks.parser import Parser

TEXT = "the dog sees a fish ."
HEADS = (2, 3, 0, 5, 3, 3)
RELATIONS = ("det", "nsubj", "root", "det", "obj", "punct")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("parsing")
    write_treebank(place)
    (place / "my.toml").write_text(RECIPE)
    outcome = regard("train", place / "my.toml", "--out", place / "model")
    assert outcome.code == 0, outcome.err
    assert "120 sentences in" in outcome.err
    with untouched(place):
        yield place / "model"


@pytest.fixture(scope="module")
def parser(model: Path) -> Parser:
    found = package.load(model)
    assert isinstance(found, Parser)
    return found


def test_a_parser_learns_a_grammar_and_is_judged(model: Path) -> None:
    words = sum(line[:1].isdecimal() for line in (model.parent / "test.conllu").read_text().splitlines())
    computed = f"conll18|sentences:15|words:{words}|subtypes:ignored|punctuation:counted|bootstrap:1000"
    expected = [f"{name} 100 ± 0 ({computed})" for name in ("LAS", "UAS", "CLAS")]
    assert regard("evaluate", model).out.splitlines() == expected


def test_sentences_are_parsed_in_python(parser: Parser) -> None:
    tree, nothing, listed = parser.parse([TEXT, "", TEXT.split()])
    assert (tree.heads, tree.relations) == (HEADS, RELATIONS)
    assert tree == listed
    assert (nothing.words, nothing.heads, nothing.conllu) == ((), (), "\n")
    assert tree.conllu.startswith("1\tthe\t_\t_\t_\t_\t2\tdet\t_\t_\n2\tdog\t_\t_\t_\t_\t3\tnsubj\t_\t_\n")
    assert repr(tree).startswith("<Parse: the det←dog, dog nsubj←sees, sees root←<root>, ")
    assert ">nsubj</td>" in tree._repr_html_()
    assert repr(parser).startswith("<Parser: graph, parameters ")


def test_a_sentence_of_hundreds_of_words_has_a_tree(parser: Parser) -> None:
    (tree,) = parser.parse([" ".join(TEXT.split() * 100)])
    assert len(tree.heads) == 600
    assert tree.heads.count(0) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            TEXT,
            "sentences = 'the dog sees a fish .' is a single text, but a list of sentences, each a text or a list of",
        ),
        (3, "sentences is of type int, but a list of sentences, each a text or a list of words, is needed"),
        ([3], "sentences[0] is of type int, but a list of sentences, each a text or a list of words, is needed"),
        ([["a", 3]], "sentences[0][1] = 3 is of type int, but a list of sentences, each a text or a list of words"),
        ([["a", ""]], "sentences[0]: '' is not a word; a word has no tab or line end and is not empty"),
        ([["a\tb"]], r"sentences[0]: 'a\tb' is not a word"),
    ],
)
def test_what_is_no_sentence_is_refused(parser: Parser, given: object, says: str) -> None:
    with pytest.raises(UsageError) as error:
        parser.parse(given)  # type: ignore[arg-type]
    assert str(error.value).startswith(says)


def test_lines_become_conllu_and_blank_ones_are_not_lost(model: Path) -> None:
    outcome = regard("parse", model, stdin=f"{TEXT}\n\n  the cat likes a dog .\n".encode())
    assert outcome.code == 0, outcome.err
    first, second, third = each_sentence(outcome.out.split("\n"))
    assert (first.forms, first.heads, first.relations) == (tuple(TEXT.split()), HEADS, RELATIONS)
    assert first.lines[0] == f"# text = {TEXT}"
    assert (second.lines, len(second)) == (("# text = ",), 0)
    assert third.forms[:2] == ("the", "cat")


def test_conllu_keeps_all_but_heads_and_relations(model: Path, tmp_path: Path) -> None:
    rows = [f"{number}\t{word}\tL\tU\t_\t_\t_\t_\t_\tM" for number, word in enumerate(TEXT.split(), start=1)]
    rows[1:1] = ["1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_", "2-3\tdogsees\t_\t_\t_\t_\t_\t_\t_\t_"]
    text = "\n".join(["# sent_id = 1", *rows, "", "# only a comment", "", *rows, "", ""])
    (tmp_path / "a.conllu").write_text(text)
    parsed = regard("parse", model, tmp_path / "a.conllu").out
    assert parsed == regard("parse", model, stdin=text.encode()).out
    assert [row.count("\t") for row in parsed.split("\n")] == [row.count("\t") for row in text.split("\n")]
    sentences = list(each_sentence(parsed.split("\n")))
    assert [len(each) for each in sentences] == [6, 0, 6]
    assert sentences[0].heads == HEADS
    blank = [each.with_tree([0] * len(each), ["_"] * len(each)) for each in sentences]
    as_given = "".join(each.text for each in blank).replace("\t0\t_\t_\tM", "\t_\t_\t_\tM")
    assert as_given == text
    again = regard("parse", model, stdin=parsed.encode()).out
    assert again == parsed


def test_what_cannot_be_parsed_is_named_after_what_could(model: Path, tmp_path: Path) -> None:
    good = "1\tdog\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    outcome = regard("parse", model, stdin=f"{good}1\tdog\t_\n\n".encode())
    assert outcome.code == 2
    assert outcome.out == "1\tdog\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    assert "standard input, line 3: 3 columns instead of 10; write ID, FORM" in outcome.err
    (tmp_path / "a.txt").write_text("dog\t_\n")
    named = regard("parse", model, tmp_path / "a.txt", "--format", "conllu")
    assert "a.txt:1: 2 columns instead of 10" in named.err
    assert "--format 'conll' is not known; known are 'conllu', " in regard("parse", model, "--format", "conll").err


def test_arcs_and_the_tree_can_be_looked_at(model: Path, parser: Parser, tmp_path: Path) -> None:
    seen = parser.inspect(TEXT)
    assert seen["arcs"].axes == ("word", "source")
    np.testing.assert_allclose(seen["arcs"].values.sum(1), 1, rtol=1e-5)
    assert seen["arcs"].values.argmax(1).tolist() == list(HEADS)
    assert seen.labels_of("source") == ("<root>", *TEXT.split())
    assert np.asarray(seen["tree"].texts)[:3].tolist() == ["det←dog", "nsubj←sees", "root←<root>"]
    assert seen["heads"].values.tolist() == list(HEADS)
    assert seen["relations"].values.shape == (6, 3)
    assert any(".gates." in name for name in seen)
    shown = regard("look", model, TEXT)
    assert shown.code == 0, shown.err
    assert "nsubj←sees" in shown.out
    assert regard("look", model, TEXT, "-o", tmp_path / "look.html").code == 0
    regard("look", model, TEXT, "-o", tmp_path / "look.json")
    assert json.loads((tmp_path / "look.json").read_text())["shown"] == ["tree", "arcs"]
    with package.record(parser, "arcs") as recorded:
        parser.parse([TEXT])
    assert recorded.last("arcs").shape == (1, 6, 7)


def test_what_cannot_be_looked_at_is_refused(model: Path, parser: Parser) -> None:
    assert (
        "a parser reads a single sentence, not 2; put it between one pair of quotes"
        in regard("look", model, "a", "b").err
    )
    with pytest.raises(UsageError, match="the sentence is empty: there is nothing to look at"):
        parser.inspect(" ")
    with pytest.raises(UsageError, match="a sentence of 600 words is too long to look at; give one of at most 512"):
        parser.inspect("w " * 600)
    with pytest.raises(UsageError, match="is a parser, which works alone; name one folder"):
        package.load(model, model)
    with pytest.raises(UsageError, match=r"a trained model stays as it is; only decode\.\* can be changed"):
        package.load(model, changes=["model.kind=transition"])
    with pytest.raises(ModelError, match=r"this model is for parsing, and a model for translation is needed here"):
        load_translator(model)


def test_trees_can_be_projective(model: Path) -> None:
    changed = package.load(model, changes=["decode.projective=true"])
    assert changed.parse([TEXT])[0].heads == HEADS


def transition(folder: Path, steps: int, *arguments: object) -> str:
    """Trains a transition-based parser on a treebank with one tree whose arcs cross; what was said."""
    write_treebank(folder)
    rows = [("the", 3, "det"), ("sees", 0, "root"), ("dog", 2, "obj"), ("now", 2, "advmod")]
    forms, heads, relations = zip(*rows, strict=True)
    with (folder / "train.conllu").open("a") as file:
        file.write(Sentence.of(forms).with_tree(heads, relations).text)
    text = TRANSITION.replace("steps = 50", f"steps = {steps}").replace("every = 50", "every = 2")
    (folder / "my.toml").write_text(text)
    outcome = regard("train", folder / "my.toml", *arguments)
    assert outcome.code == 0, outcome.err
    return outcome.err


def test_a_transition_parser_is_trained_on_projective_trees_and_resumed_in_the_same_bits(tmp_path: Path) -> None:
    said = transition(tmp_path, 4, "--out", tmp_path / "whole")
    assert (
        "train: arcs cross in 1 of 121 trees (0.8 %); to make them projective, 1 of 698 words (0.14 %) get another"
        in said
    )
    assert "model.kind = 'transition': training trees are made projective" in said
    transition(tmp_path, 2, "--out", tmp_path / "halves")
    transition(tmp_path, 4, "--out", tmp_path / "halves", "--resume")
    parser, other = (package.load(tmp_path / name) for name in ("whole", "halves"))
    for name, weights in parser.model.state_dict().items():
        assert weights.equal(other.model.state_dict()[name]), name
    seen = parser.inspect(TEXT)
    assert seen["moves"].values.shape == (12, 3)
    assert seen.labels_of("move") == ("shift", "left", "right")
    assert seen.shown == ("tree", "moves")


@pytest.mark.long
def test_a_transition_parser_learns_a_grammar(tmp_path: Path) -> None:
    transition(tmp_path, 90, "--out", tmp_path / "model", "--set", "train.validation.every=90")
    assert package.load(tmp_path / "model").parse([TEXT])[0].heads == HEADS


def test_files_are_checked_by_line(tmp_path: Path) -> None:
    write_treebank(tmp_path)
    text = (tmp_path / "train.conllu").read_text()
    (tmp_path / "bad.conllu").write_text(text.replace("\t3\tnsubj", "\t9\tnsubj", 1) + "# no words\n\n")
    (tmp_path / "new.conllu").write_text(text.replace("nsubj", "csubj", 1))
    good = regard("check", tmp_path / "train.conllu", "--dev", tmp_path / "new.conllu")
    assert good.code == 0
    assert "train: 120 sentences in " in good.out + good.err
    assert "1 word whose relation the training text does not have, so that it cannot be found: kept; " in good.out
    assert "new.conllu:3: 'csubj'" in good.out
    bad = regard("check", tmp_path / "bad.conllu")
    assert bad.code == 2
    assert "train: 1 word whose head is not in the sentence: refused (data.malformed); " in bad.out + bad.err
    assert "bad.conllu:3: word 2 has the head '9', and there are words 1 to " in bad.out + bad.err
    assert "1 sentence without words: dropped" in bad.out + bad.err
    dropped = regard("check", tmp_path / "bad.conllu", "--set", 'data.malformed="drop"')
    assert dropped.code == 0, dropped.err
    assert "dropped (data.malformed)" in dropped.out
    assert "no such file" in regard("check", tmp_path / "none.conllu").err
    (tmp_path / "empty.conllu").write_text("# nothing\n\n")
    nothing = regard("check", tmp_path / "empty.conllu")
    assert "there is no sentence in " in nothing.out + nothing.err


def test_there_must_be_a_tree_to_learn_from(tmp_path: Path) -> None:
    write_treebank(tmp_path)
    (tmp_path / "my.toml").write_text(RECIPE)
    (tmp_path / "train.conllu").write_text("1\tdog\n\n")
    train = ["train", tmp_path / "my.toml", "--out", tmp_path / "model"]
    assert "train: 1 line without ten columns: refused (data.malformed)" in regard(*train).err
    outcome = regard(*train, "--set", 'data.malformed="drop"')
    assert outcome.code == 2
    assert "there is no training sentence" in outcome.err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("decode.projective=true", "decode.projective = true, but model.kind = 'transition' finds no other trees"),
        ("data.train=[]", "train names no file; name one of CoNLL-U"),
        ("model.arc_width=3", "model.arc_width"),
        ("model.kind=graphs", "allowed are 'graph' or 'transition'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, change: str, says: str) -> None:
    (tmp_path / "my.toml").write_text(TRANSITION)
    outcome = regard("train", tmp_path / "my.toml", "--out", tmp_path / "model", "--set", change)
    assert outcome.code == 2
    assert says in outcome.err


def test_another_model_may_be_started_from_whole_or_by_part(model: Path, tmp_path: Path) -> None:
    write_treebank(tmp_path)
    (tmp_path / "my.toml").write_text(RECIPE)
    text = (tmp_path / "train.conllu").read_text()

    def train(name: str, *changes: str) -> str:
        settings = [part for change in (*changes, "train.steps=1") for part in ("--set", change)]
        return regard("train", tmp_path / "my.toml", "--out", tmp_path / name, *settings).err

    assert f"begins with the weights of {model}" in train("whole", f"train.start_from={model}")
    (tmp_path / "train.conllu").write_text(text.replace("nsubj", "csubj", 1))
    refused = train("refused", f"train.start_from={model}")
    assert "this model does not know the relations 'csubj' of the training text; take over parts alone" in refused
    said = train("parts", f"train.start.model={model}", 'train.start.parts=["words", "encoder"]')
    assert f"begins with words, encoder of {model}; everything else is new" in said
    assert (tmp_path / "parts/words.json").read_bytes() == (model / "words.json").read_bytes()
    assert "csubj" in json.loads((tmp_path / "parts/relations.json").read_text())


def test_a_table_of_positions_ends_somewhere(tmp_path: Path) -> None:
    write_treebank(tmp_path)
    table = 'kind = "transformer"\nposition = "learned"\nlongest = 6\nwidth = 8\nheads = 2\nlayers = 1'
    before, _, after = RECIPE.replace("steps = 50", "steps = 1").partition("[model.encoder]\n")
    (tmp_path / "my.toml").write_text(f"{before}[model.encoder]\n{table}\n\n[train]{after.partition('[train]')[2]}")
    refused = regard("train", tmp_path / "my.toml", "--out", tmp_path / "refused").err
    assert " words and the root, but there are model.encoder.longest = 6 learned" in refused
    model = tmp_path / "model"
    outcome = regard("train", tmp_path / "my.toml", "--out", model, "--set", "model.encoder.longest=8")
    assert outcome.code == 0, outcome.err
    says = "a sentence of 8 words, but this model has learned 8 positions (model.encoder.longest), one of them for"
    outcome = regard("parse", model, stdin=b"a b\n" + b"a " * 8 + b"\na b\n")
    assert outcome.out.count("# text") == 1
    assert f"standard input, line 2: {says} the root; split it" in outcome.err
    with pytest.raises(UsageError) as error:
        package.load(model).parse(["a b", "a " * 8])
    assert str(error.value).startswith(f"sentences[1]: {says}")


def test_a_damaged_folder_is_named(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "model")
    (tmp_path / "model/relations.json").write_text("[")
    with pytest.raises(ModelError, match="the relations of this model are missing or damaged"):
        package.load(tmp_path / "model")


def test_the_moves_that_were_made_lead_to_the_tree(tmp_path: Path) -> None:
    write_treebank(tmp_path)
    text = TRANSITION.replace("steps = 50", "steps = 4").replace("every = 50", "every = 4")
    text = text.replace('kind = "cnn"', 'kind = "lstm"')  # reads words, not sentences, so that it has no rows to show
    (tmp_path / "my.toml").write_text(text)
    assert regard("train", tmp_path / "my.toml", "--out", tmp_path / "model").code == 0
    parser = package.load(tmp_path / "model", device="cpu")
    seen = parser.inspect(TEXT)
    stack, front, heads, words = list[int](), 1, {}, TEXT.split()
    names = seen["made"].texts
    assert names is not None
    for step, move in enumerate(names.tolist()):
        assert seen["moves"].values[step, seen.labels["move"].index(move)] > 0
        if move == "shift":
            stack.append(front)
            front += 1
        else:
            top = stack.pop()
            heads[top] = (front if front <= len(words) else 0) if move == "left" else stack[-1]
    assert len(names) == 2 * len(words)
    assert not any(name.startswith("words.") for name in seen)
    assert [heads[word] for word in sorted(heads)] == seen["heads"].values.tolist()
    assert tuple(seen["heads"].values.tolist()) == parser.parse([TEXT])[0].heads
