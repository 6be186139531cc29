"""The attention that links of a translator come from: chosen without gold, kept in its folder, used by all."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest
from command_line import WORDS, content, regard, trained_transformer, untouched
from hypothesis import given
from hypothesis import strategies as st

import regard as library
from regard.data import Pair
from regard.errors import ModelWarning, UsageError
from regard.inspect import Alignment, Joining, WordWeights, pharaoh
from regard.metrics import alignment_error_rate
from regard.tasks.attention_choice import (
    FILE,
    AttentionChoice,
    Watched,
    agreement,
    candidates,
    choose_alone,
    choose_both,
    statistical_links,
    weights_in_use,
)
from regard.tasks.markup import MarkedTexts

LINES = ["eins zwei drei vier", "Haus rot und blau", "drei Haus", "vier und vier rot"]
LAYERS = [f"decoder.layers.{layer}.cross.weights" for layer in (0, 1)]


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = trained_transformer(tmp_path_factory.mktemp("layers"), "model.decoder_layers=2", "train.steps=120")
    with untouched(folder):
        yield folder


@pytest.fixture
def model(transformer: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(transformer, tmp_path / "model"))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    names = tmp_path / "some.de", tmp_path / "some.en"
    names[0].write_text("".join(line + "\n" for line in LINES), encoding="utf-8")
    names[1].write_text("".join(" ".join(WORDS[word] for word in line.split()) + "\n" for line in LINES), "utf-8")
    return names


def random_layers(seed: int, targets: int = 4, sources: int = 5) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {name: draw.dirichlet(np.full(sources, 0.1), size=(2, targets)).astype(np.float32) for name in LAYERS}


def test_a_choice_is_the_mean_of_what_it_names() -> None:
    layers = random_layers(1)
    every = np.stack([layers[name] for name in LAYERS])  # L H T S
    for choice, wanted in (
        (AttentionChoice(), every.mean(axis=(0, 1))),
        (AttentionChoice(tuple(LAYERS)), every.mean(axis=(0, 1))),
        (AttentionChoice((LAYERS[1],)), every[1].mean(axis=0)),
        (AttentionChoice((LAYERS[1],), (1,)), every[1, 1]),
        (AttentionChoice(None, (0, 1)), every.mean(axis=(0, 1))),
        (AttentionChoice.named(LAYERS[0], 1), every[0, 1]),
    ):
        np.testing.assert_allclose(choice.weights(layers), wanted, rtol=1e-6)
    read = AttentionChoice(row="read")
    assert read.row_words([0, 0, 1, None]) == [None, 0, 0, 1]
    np.testing.assert_allclose(read.token_weights(layers)[:-1], every.mean(axis=(0, 1))[1:], rtol=1e-6)


def test_punctuation_is_kept_apart_from_words() -> None:
    words = WordWeights(np.array([[0.2, 0.8], [0.7, 0.3]]), np.zeros(2))
    apart = AttentionChoice(marks_apart=True).without_marks(words, ["ja", "."], ["yes", "!"])
    np.testing.assert_array_equal(apart.weights, [[0.2, 0.0], [0.0, 0.3]])
    assert AttentionChoice().without_marks(words, ["ja", "."], ["yes", "!"]) is words


def watched(seed: int, good: int, *, turned: bool = False) -> Watched:
    """Attention of which one layer looks where it should, at the same place, and the others anywhere."""
    every = []
    for pair in range(30):
        layers = random_layers(100 * seed + pair, 5, 5)
        layers[LAYERS[good]] = np.stack([0.2 * np.eye(5) + 0.16, 0.1 * np.eye(5) + 0.18])
        every.append(layers)

    def fold(place: int, layers: dict[str, np.ndarray], choice: AttentionChoice) -> WordWeights:
        weights = np.roll(choice.weights(layers), choice.row == "read", axis=0)
        return WordWeights(weights, np.zeros(len(weights)))

    return Watched(LAYERS, every, fold, turned)  # type: ignore[arg-type]


@given(st.integers(0, 30), st.integers(0, 1))
def test_the_layer_on_which_both_directions_agree_is_chosen(seed: int, good: int) -> None:
    forward, backward = watched(2 * seed, good), watched(2 * seed + 1, good, turned=True)
    compared, one, other = choose_both(forward, backward)
    assert (one.layers, one.row, other.layers, other.row) == ((LAYERS[good],), "written") * 2
    assert one.agreement == max(each.agreement or 0 for each in compared) == 1.0
    diagonal = np.concatenate([np.eye(5, dtype=bool).ravel()] * 30)
    compared, alone = choose_alone(forward, diagonal)
    assert (alone.layers, alone.agreement) == ((LAYERS[good],), 1.0)
    assert len(compared) == len(list(candidates(LAYERS))) == 6
    by_hand = {each: agreement(forward.links(each), diagonal) for each in candidates(LAYERS)}
    assert {replace(each, agreement=None): each.agreement for each in compared} == by_hand


@given(st.integers(0, 30))
def test_both_choices_say_how_far_they_agree_in_the_end(seed: int) -> None:
    forward, backward = watched(2 * seed, 0), watched(2 * seed + 1, 0, turned=True)
    for place, layers in enumerate([*forward.layers, *backward.layers]):
        noise = np.random.default_rng(1000 * seed + place).dirichlet(np.full(5, 0.1), size=5)
        layers[LAYERS[0]] = np.stack([0.5 * layers[LAYERS[0]][0], noise])  # type: ignore[index]
    _, one, other = choose_both(forward, backward)
    assert one.agreement == other.agreement == agreement(forward.links(one), backward.links(other))


def test_texts_that_do_not_pair_up_are_refused(transformer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where a whole number of pieces pairs up."""
    monkeypatch.setattr("regard.tasks.attention_links.WATCHED_AT_ONCE", 2)
    with pytest.raises(UsageError, match="2 sources and 3 targets do not pair up"):
        list(library.load(transformer).alignments(["eins", "zwei"], ["one", "two", "three"]))


def test_heads_that_agree_less_are_left_out() -> None:
    forward = watched(3, 0)
    for layers in forward.layers:
        layers[LAYERS[0]][1] = np.roll(np.eye(5), 2, axis=0) * 3
    diagonal = np.concatenate([np.eye(5, dtype=bool).ravel()] * 30)
    refined = forward.refined(AttentionChoice((LAYERS[0],), agreement=0.0), diagonal)
    assert (refined.heads, refined.agreement) == ((0,), 1.0)


def test_links_to_choose_by_are_those_of_an_aligner_of_all_pairs() -> None:
    sources = [["das", "Haus"], ["das", "Buch"], ["ein", "Buch"], []]
    targets = [["the", "house"], ["the", "book"], ["a", "book"], ["x"]]
    cells = statistical_links(sources, targets, 2)
    assert cells.reshape(2, 2, 2).tolist() == [[[True, False], [False, True]]] * 2
    assert not len(statistical_links(sources, targets, 0))


def test_training_text_that_is_gone_is_missed(model: Path, files: tuple[Path, Path]) -> None:
    recipe = model / "recipe.toml"
    told = recipe.read_text(encoding="utf-8")
    recipe.write_text(re.sub(r"/[^\"]*/train\.de", "/gone/train.de", told), encoding="utf-8")
    told = regard("align", model, *files, "--choose")
    assert told.code == 0
    assert told.err.startswith(f"{model}: the text that it was trained on cannot be read (/gone/train.de: ")
    assert told.err.endswith("name some thousand pairs, or a model of the other direction by --reverse\n")
    assert told.out.startswith("agreement on 4 pairs with an aligner of 4 pairs:\n")


def test_choosing_finds_what_aligns_and_everything_uses_it(
    model: Path, transformer: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    sources, targets = (path.read_text(encoding="utf-8").splitlines() for path in files)
    told = regard("align", model, *files, "--choose")
    assert (told.code, told.err) == (0, "")
    heading, *rows, last = told.out.splitlines()
    assert heading == "agreement on 4 pairs with an aligner of 304 pairs:"
    assert len(rows) == 6
    assert rows == sorted(rows, key=lambda row: -float(row.split()[0]))
    assert last.startswith(f"{model}: links come from ")
    chosen, before = library.load(model), library.load(transformer)
    assert chosen.attention_choice is not None
    assert before.attention_choice is None
    gold = [frozenset((place, place) for place in range(len(line.split()))) for line in sources]
    rates = [alignment_error_rate(each.align(sources, targets), gold).value for each in (chosen, before)]
    assert rates[0] <= rates[1]
    # The weights of all users are those of the choice.
    (layers,) = before.watched(sources[:1], targets[:1]).layers
    seen = chosen.inspect(sources[0], targets[0])
    assert seen.shown[0] == "alignment"
    np.testing.assert_allclose(seen["alignment"].values, chosen.attention_choice.token_weights(layers), atol=1e-6)
    assert "alignment" not in before.inspect(sources[0], targets[0])
    links = [pharaoh(each) for each in chosen.align(sources, targets)]
    assert regard("align", model, *files).out.splitlines() == links
    asked = regard("align", model, *files, "--layer", LAYERS[0]).out.splitlines()
    assert asked == [pharaoh(each) for each in before.align(sources, targets, layer=LAYERS[0])]
    out = regard("translate", model, "--alignments", stdin=(sources[0] + "\n").encode()).out.rstrip("\n").split("\t")
    assert out[1] == pharaoh(chosen.align(sources[:1], out[:1])[0])
    # Translation does not change by a bit.
    for text, other in zip(chosen.translate(sources), before.translate(sources), strict=True):
        assert (text.text, text.log_prob, text.score) == (other.text, other.log_prob, other.score)
    assert {name for name in content(model) if name not in content(transformer)} == {FILE}


def test_tags_and_placeholders_are_put_where_the_choice_says(model: Path, transformer: Path) -> None:
    texts = ["eins <b>zwei</b> drei vier", "rot {0} und <i>blau</i>", "Haus <b>rot und</b> blau {1}"]
    before, marked = library.load(transformer), MarkedTexts(texts)
    plain = before.translate(marked.plain)
    found = set()
    for choice in candidates(LAYERS):
        replace(choice, weights_file=weights_in_use(model)).save(model)
        told = regard("translate", model, "--markup", stdin="".join(f"{text}\n" for text in texts).encode())
        looking = before.looking_at(choice)
        wanted = marked.restored([replace(each, translator=looking) for each in plain])
        assert (told.code, told.out.splitlines()) == (0, [each.text for each in wanted])
        found.add(told.out)
    assert len(found) > 1


def test_two_directions_choose_together_and_are_joined_by_probability(model: Path, files: tuple[Path, Path]) -> None:
    back = Path(shutil.copytree(model, model.parent / "back"))
    told = regard("align", model, *files, "--reverse", back, "--choose")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("agreement on 4 pairs with both directions:\n")
    assert [line.split(":")[0] for line in told.out.splitlines()[-2:]] == [str(model), str(back)]
    sources, targets = (path.read_text(encoding="utf-8").splitlines() for path in files)
    there, other = library.load(model), library.load(back)
    both = zip(there.alignments(sources, targets), other.alignments(targets, sources), strict=True)
    wanted = [pharaoh(one.joined(two).links(Joining("by-probability"))) for one, two in both]
    assert regard("align", model, *files, "--reverse", back).out.splitlines() == wanted
    assert Alignment(next(there.alignments(sources, targets)).forward).backward is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"format": 2},
            "is of a format that this version does not know; upgrade Regard; it is set aside, and links come",
        ),
        (
            {"row": "heard"},
            "damaged: Input should be 'written' or 'read'; it is set aside, and links come from all layers:",
        ),
        ({"heads": [-1]}, "damaged: Input should be greater than or equal to 0; it is set aside"),
        ({"colour": 1}, "damaged: "),
        ({"layers": ["top"]}, "names the layer 'top', which this model does not have; it is set aside"),
        ({"heads": [9]}, f"names the head 9, and {LAYERS[0]} has 2 heads; it is set aside, and links come"),
        (
            None,
            "damaged; it is set aside, and links come from all layers: delete it, or choose again with `regard align ",
        ),
    ],
)
def test_a_damaged_choice_is_set_aside(
    model: Path, files: tuple[Path, Path], change: dict[str, object] | None, message: str
) -> None:
    AttentionChoice((LAYERS[0],), agreement=0.5).save(model)
    plain = json.loads((model / FILE).read_text(encoding="utf-8"))
    (model / FILE).write_text("{" if change is None else json.dumps({**plain, **change}), encoding="utf-8")
    with pytest.warns(ModelWarning, match=re.escape(f"{model / FILE}: {message}")):
        assert library.load(model).attention_choice is None
    if change is None:  # what is advised mends it
        told = regard("align", model, *files, "--choose")
        assert (told.code, told.err.count(message)) == (0, 1)
        assert library.load(model).attention_choice is not None


def test_a_choice_for_other_weights_is_set_aside(model: Path) -> None:
    AttentionChoice((LAYERS[0],), agreement=0.5, weights_file="step-00000001/model.safetensors").save(model)
    with pytest.warns(ModelWarning, match="was chosen for other weights than those in use, and is set aside; choose a"):
        assert library.load(model).attention_choice is None


def test_no_more_is_read_than_is_needed_to_choose(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of text without end."""
    monkeypatch.setattr("regard.cli.choosing_attention.COUNTED", 10)
    monkeypatch.setattr("regard.cli.corpus.pieces_of", lambda files: repeat([Pair("eins rot", "one red")] * 200))
    told = regard("align", model, "some.tsv", "--choose")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("agreement on 300 pairs with an aligner of 310 pairs:")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--choose", "--head", 0),
            "--choose finds layer, head and row by itself and prints no links; leave other opt",
        ),
        (("--choose", "--agreement"), "--choose finds layer, head and row by itself and prints no links; leave other"),
        (
            ("--choose", "--scores"),
            "--scores is for the links, and --choose prints what it chose instead; choose one of",
        ),
        (
            ("--choose", "--reverse", "LINKS"),
            "--choose is for the attention of translators, and {} is not one; leave it",
        ),
    ],
)
def test_what_choosing_cannot_do_is_said(
    transformer: Path, files: tuple[Path, Path], tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    links = tmp_path / "some.links"
    links.write_text("0-0\n" * 4, encoding="utf-8")
    told = regard("align", transformer, *files, *(links if option == "LINKS" else option for option in options))
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"regard: {message.format(links)}")
    empty = tmp_path / "empty.tsv"
    empty.write_text("\t\n", encoding="utf-8")
    told = regard("align", transformer, empty, "--choose")
    assert "there is no pair to choose by; name some hundred pairs of text" in told.err
