"""`regard look` and `regard align`: where the model looks."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import Trained, regard
from language_runs import language_recipe
from pages import check_fetches_nothing

import regard as library
from regard.inspect import Inspection, pharaoh, reverse, symmetrize
from regard.train import run


def test_in_the_terminal(trained: Trained) -> None:
    told = regard("look", trained.folder, "eins zwei", "one two")
    assert (told.code, told.err) == (0, "")
    first, *rest = told.out.splitlines()
    assert first == "eins zwei → one two"
    assert [row.split()[0] for row in rest[-3:]] == ["one", "two", "∎"]
    assert set("░▒▓█") & set(told.out)


def test_the_model_s_own_translation(trained: Trained) -> None:
    own = library.load(trained.folder).translate(["eins zwei"])[0].text
    assert regard("look", trained.folder, "eins zwei").out == regard("look", trained.folder, "eins zwei", own).out


def test_as_a_page_that_fetches_nothing(trained: Trained, tmp_path: Path) -> None:
    page = tmp_path / "look.html"
    told = regard("look", trained.folder, "eins zwei", "-o", page)
    assert (told.code, told.out) == (0, f"{page}\n")
    text = page.read_text(encoding="utf-8")
    assert "eins zwei" in text
    check_fetches_nothing(text, policy_alone=True)


@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG\r\n"), (".pdf", b"%PDF")])
def test_as_a_picture(trained: Trained, tmp_path: Path, suffix: str, begin: bytes) -> None:
    picture = tmp_path / f"look{suffix}"
    assert regard("look", trained.folder, "eins zwei", "one two", "-o", picture).code == 0
    assert picture.read_bytes().startswith(begin)


def test_as_a_drawing(trained: Trained, tmp_path: Path) -> None:
    picture = tmp_path / "look.SVG"
    assert regard("look", trained.folder, "eins", "-o", picture).code == 0
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_as_json(trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "look.json"
    assert regard("look", trained.folder, "eins zwei", "one two", "-o", out).code == 0
    text = out.read_text(encoding="utf-8")
    seen = library.load(trained.folder).inspect("eins zwei", "one two")
    assert text == seen.to_json() + "\n"
    assert Inspection.from_json(text).labels == seen.labels


def test_whatever_is_inside_can_be_shown(trained: Trained) -> None:
    listed = regard("look", trained.folder, "eins zwei", "one two", "--list").out.splitlines()
    names = {line.split()[0]: line.split(maxsplit=1)[1] for line in listed}
    assert names["decoder.attention.weights"] == "head 1 × target 3 × source 3"
    assert names["encoder.stack.layers.0.ahead.gates.reset"] == "source 3 × feature 16"
    told = regard("look", trained.folder, "eins zwei", "one two", "--show", "encoder.*.gates.*")
    assert told.out.count("(rows: source, columns: units)") == sum(
        ".gates." in name for name in names if name[0] == "e"
    )
    told = regard("look", trained.folder, "eins zwei", "one two", "--show", "candidates")
    assert told.out.splitlines()[1].strip() == "candidates"
    assert told.out.splitlines()[2].split()[:2] == ["one", "one"]
    told = regard("look", trained.folder, "eins zwei", "--show", "decoder.attention.weight")
    assert told.code == 2
    assert told.err.startswith(
        "regard: nothing here matches 'decoder.attention.weight'; there is 'decoder.attention.weights', "
    )
    assert regard("look", trained.folder, "eins", "--head", 1).err == (
        "regard: there is no head 1; heads are counted from 0 to 0\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "the source is empty: there is nothing to look at; give at least one word"),
        (("eins", "-o", "look.gif"), "look.gif: pictures are not written as .gif; choose a name that ends in"),
        (("eins", "--to", "fr"), "'fr': this model was trained without tags (data.tags)"),
    ],
)
def test_what_cannot_be_looked_at_is_said(trained: Trained, arguments: tuple[str, ...], message: str) -> None:
    told = regard("look", trained.folder, *arguments)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"regard: {message}")


def test_language_models(tmp_path: Path) -> None:
    for kind in ("attentive", "ngram"):
        run(language_recipe(tmp_path, kind), tmp_path / kind, reporter=lambda event: None)
    told = regard("look", tmp_path / "attentive", "the cat sees")
    assert (told.code, told.err) == (0, "")
    heading, columns, *rows = told.out.splitlines()
    assert heading == "the cat sees"
    assert columns.split() == ["surprisals", "candidates"]
    assert [row.split()[0] for row in rows[:4]] == ["the", "cat", "sees", "∎"]
    assert "attention.weights (rows: written, columns: read before)" in rows
    table = regard("look", tmp_path / "ngram", "the cat")
    assert table.code == 0
    assert table.err == "this model has no attention, gates or states inside: only its candidates\n"
    refused = regard("look", tmp_path / "ngram", "the cat", "--show", "*.weights")
    assert refused.err == (
        "regard: nothing here matches '*.weights'; there is 'probabilities', 'surprisals' or 'candidates'. This model "
        "has no attention, gates or states inside: only its candidates\n"
    )
    assert regard("look", tmp_path / "ngram", "the", "--to", "de").err == (
        "regard: --to de: this model does not write several languages; leave --to out\n"
    )


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("eins zwei drei\n\nHaus\n", encoding="utf-8")
    target.write_text("one two three\n\nhouse\n", encoding="utf-8")
    return source, target


def test_links_line_for_line(trained: Trained, files: tuple[Path, Path]) -> None:
    told = regard("align", trained.folder, *files)
    assert (told.code, told.err) == (0, "")
    first, empty, last = told.out.split("\n")[:-1]
    assert re.fullmatch(r"\d-\d( \d-\d)*", first)
    assert empty == ""
    assert last in ("0-0", "")
    assert told.out == regard("align", trained.folder, *files, "--layer", "decoder.attention.weights", "--head", 0).out


def test_a_threshold_leaves_fewer_links(trained: Trained, files: tuple[Path, Path]) -> None:
    all_links, few_links = (regard("align", trained.folder, *files, "--threshold", least).out for least in (0, 1))
    assert set(few_links.split()) < set(all_links.split())


def test_the_error_rate_against_gold(trained: Trained, files: tuple[Path, Path], tmp_path: Path) -> None:
    found = tmp_path / "found.links"
    found.write_text(regard("align", trained.folder, *files).out, encoding="utf-8")
    told = regard("align", trained.folder, *files, "--gold", found)
    assert told.out.startswith("alignment error rate 0 ± 0 (sentences:3|found:")
    wrong = tmp_path / "wrong.links"
    wrong.write_text("0-0 1?2\n\n7-7 8p8\n", encoding="utf-8")
    told = regard("align", trained.folder, *files, "--gold", wrong)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"regard: {wrong}:3: the link 7-7 is outside of this pair, which has 1 source word and 1 target word; name the "
        "gold of this text, and the text tokenized as it was for the gold\n"
    )


def test_links_of_two_models_are_joined(trained: Trained, files: tuple[Path, Path], tmp_path: Path) -> None:
    """The model of the other direction is the same one here; what it makes of foreign words is links all the same."""
    told = regard("align", trained.folder, *files, "--reverse", trained.folder)
    assert (told.code, told.err) == (0, "")
    model = library.load(trained.folder)
    sources, targets = (path.read_text(encoding="utf-8").splitlines() for path in files)
    there, back = model.align(sources, targets), model.align(targets, sources)
    joined = [symmetrize(one, reverse(other)) for one, other in zip(there, back, strict=True)]
    assert told.out == "".join(pharaoh(links) + "\n" for links in joined)
    assert any(joined)
    gold = tmp_path / "gold.links"
    gold.write_text(told.out, encoding="utf-8")
    told = regard("align", trained.folder, *files, "--reverse", trained.folder, "--gold", gold)
    assert told.out.startswith("alignment error rate 0 ± 0 (sentences:3|found:")


def test_two_directions_are_joined_as_asked(trained: Trained, files: tuple[Path, Path]) -> None:
    def links(*options: object) -> list[set[str]]:
        told = regard("align", trained.folder, *files, "--reverse", trained.folder, *options)
        assert (told.code, told.err) == (0, "")
        return [set(line.split()) for line in told.out.split("\n")]

    named = ("intersection", "grow-diag", "grow-diag-final-and", "union")
    both, grown, final, either = (links("--symmetrize", method) for method in named)
    assert all(a <= b <= c <= d for a, b, c, d in zip(both, grown, final, either, strict=True))
    assert grown == links()
    assert links("--symmetrize", "by-probability", "--threshold", 1.0) <= links("--symmetrize", "by-probability")


def test_probabilities_and_scores(trained: Trained, files: tuple[Path, Path]) -> None:
    model = library.load(trained.folder)
    plain = regard("align", trained.folder, *files).out.splitlines()
    told = regard("align", trained.folder, *files, "--probabilities", "--scores")
    assert (told.code, told.err) == (0, "")
    rows = [line.split("\t") for line in told.out.splitlines()]
    assert [" ".join(link.partition(":")[0] for link in links.split()) for links, _ in rows] == plain
    (weights,) = model.word_weights(["eins zwei drei"], ["one two three"])
    for link in rows[0][0].split():
        source, target, probability = re.split("[-:]", link)
        assert float(probability) == pytest.approx(weights.weights[int(target), int(source)], abs=1e-4)
    (scored,) = model.score(["eins zwei drei"], ["one two three"])
    assert rows[0][1] == f"{scored.log_prob / 4:.4f}"
    both = regard("align", trained.folder, *files, "--reverse", trained.folder, "--scores").out.splitlines()
    back = regard("align", trained.folder, *reversed(files), "--scores").out.splitlines()
    scores = [float(lines[0].split("\t")[1]) for lines in (told.out.splitlines(), back, both)]
    assert scores[2] == pytest.approx((scores[0] + scores[1]) / 2, abs=1e-4)


def test_links_of_other_aligners_are_judged_joined_and_compared(
    trained: Trained, files: tuple[Path, Path], tmp_path: Path
) -> None:
    one, other, gold = tmp_path / "one.links", tmp_path / "other.links", tmp_path / "gold"
    one.write_text("0-0 0-1 1-1\n\n0-0\n", encoding="utf-8")
    other.write_text("0-0 2-1 2-2\n\n\n", encoding="utf-8")
    gold.write_text("1-1 2-2 3-3\n\n1-1\n", encoding="utf-8")
    assert regard("align", one, *files).out == one.read_text(encoding="utf-8")
    joined = regard("align", one, *files, "--reverse", other, "--symmetrize", "union")
    assert (joined.out, joined.err) == ("0-0 0-1 1-1 2-1 2-2\n\n0-0\n", "")
    agree = regard("align", one, *files, "--reverse", other, "--agreement").out
    assert agree.startswith("agreement of both directions 0.2857 ± ")
    assert agree.endswith(" (sentences:3|found:4|reverse:3|bs:1000|seed:0)\n")
    told = regard("align", one, *files, "--gold", gold, "--against", other)
    assert told.err == f"{gold}: counts words from 1\n"
    lines = told.out.splitlines()
    assert [line.partition(" ±")[0] for line in lines[:4]] == [
        "alignment error rate 0.25",
        "alignment precision 0.75",
        "alignment recall 0.75",
        "alignment F1 0.75",
    ]
    assert lines[4:6] == ["", f"against {other}, on the same 3 pairs:"]
    assert lines[6].startswith(
        "  alignment error rate (lower is better) 0.2500 against 0.4286: -0.1786 (95 % interval "
    )
    by_model = regard("align", trained.folder, *files, "--gold", one, "--against", trained.folder)
    assert "    no difference at all" in by_model.out.splitlines()


@pytest.mark.parametrize(
    ("links", "options", "message"),
    [
        ("0-0\n\n0-0 3-0\n", (), "{}:3: the link 3-0 is outside of this pair, which has 1 source word and 1 target w"),
        (
            "0-0\n\n",
            (),
            "{}:2: the links end with 2 lines, and there are 3 sentence pairs; give a line for each pair, an",
        ),
        ("0-0\n\n0-0\n0-0\n", (), "{}:4: links without a sentence pair, of which there are 3; give a line for each pa"),
        ("0-0\n0:0\n0-0\n", (), "{}:2: '0:0' is not a link; a link is written like '0-0'"),
        ("0-0\n\n0-0\n", ("--scores",), "--scores: {} holds links, which have no score; name a model"),
        ("0-0\n\n0-0\n", ("--head", 1), "--head 1: is for translators, and {} is not one; leave it out"),
        (
            "0-0\n9-9\n0-0\n",
            ("--agreement",),
            "--agreement: {} aligns in one direction; name a model of the other by --r",
        ),
        ("0-0\n\n0-0\n", ("--against", "x"), "--against x needs true links to compare with; name them with --gold F"),
        ("0-0\n\n0-0\n", ("--gold", "x", "--agreement"), "--agreement is for text without gold, and --gold names it"),
    ],
)
def test_files_of_links_that_do_not_fit_are_refused(
    files: tuple[Path, Path], tmp_path: Path, links: str, options: tuple[object, ...], message: str
) -> None:
    given = tmp_path / "given.links"
    given.write_text(links, encoding="utf-8")
    told = regard("align", given, *files, *options)
    assert told.code == 2
    assert told.err.startswith(f"regard: {message.format(given)}")


def test_pairs_are_kept_by_their_score(trained: Trained, files: tuple[Path, Path]) -> None:
    rows = list(zip(*(path.read_text(encoding="utf-8").splitlines() for path in files), strict=True))
    scored = regard("align", trained.folder, *files, "--scores").out.splitlines()
    scores = [float(line.split("\t")[1]) for line in scored]
    least = sorted(scores)[1] - 1e-3
    told = regard("align", trained.folder, *files, "--least-score", least)
    kept = [row for row, score in zip(rows, scores, strict=True) if score >= least]
    assert 0 < len(kept) < 3
    assert told.out.splitlines() == ["\t".join(row) for row in kept]
    assert (told.code, told.err) == (0, f"kept {len(kept)} of 3 pairs\n")
    for option in ("--scores", "--probabilities", "--agreement"):
        told = regard("align", trained.folder, *files, "--least-score", -1, option)
        assert told.err == f"regard: --least-score prints pairs, and {option} something else; choose one of them\n"


def test_a_page_of_links(
    trained: Trained, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, gold = tmp_path / "links.html", tmp_path / "gold"
    gold.write_text("0-0\n\n0-0\n", encoding="utf-8")
    told = regard(
        "align", trained.folder, *files, "--reverse", trained.folder, "--gold", gold, "--html", out, "--scores"
    )
    assert told.code == 2
    told = regard("align", trained.folder, *files, "--reverse", trained.folder, "--gold", gold, "--html", out)
    assert (told.code, told.err) == (0, "")
    assert len(told.out.splitlines()) == 5
    assert told.out.splitlines()[-1] == str(out)
    assert "eins" in out.read_text(encoding="utf-8")
    monkeypatch.setattr("regard.inspect.alignments_page.MOST_PAIRS", 2)
    told = regard("align", trained.folder, *files, "--html", out, "--scores")
    assert (told.out, told.err) == (f"{out}\n", f"{out}: shows the first 2 pairs\n")
    for name, message in (
        ("links.txt", "--html links.txt: give the name of a file to write that ends in .html"),
        ("no/links.html", "--html no/links.html: cannot be written; name a file in a folder that exists"),
    ):
        assert regard("align", trained.folder, *files, "--html", name).err == f"regard: {message}\n"


def test_a_second_direction_in_a_file_is_named_as_it_is_written(files: tuple[Path, Path], tmp_path: Path) -> None:
    one, other = tmp_path / "one.links", tmp_path / "other.links"
    one.write_text("\n\n\n", encoding="utf-8")
    other.write_text("0-0\n\n2-0\n", encoding="utf-8")
    told = regard("align", one, *files, "--reverse", other)
    assert told.err.startswith(
        f"regard: {other}:3: the link 2-0 is outside of this pair, which has 1 source word and 1 target word, counted"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--symmetrize", "grow"), "symmetrization 'grow' is not known; known are "),
        (("--symmetrize", "union"), "--symmetrize union: {} aligns in one direction; name a model of the other by --r"),
        (("--gold", "x", "--scores"), "--scores is for the links, and --gold prints scores instead; choose"),
        (("--gold", "x", "--probabilities"), "--probabilities is for the links, and --gold prints scores instead"),
        (("--reverse", "nowhere"), "nowhere: no such folder; name the folder of a trained model"),
    ],
)
def test_what_cannot_be_aligned_is_said(
    trained: Trained, files: tuple[Path, Path], options: tuple[str, ...], message: str
) -> None:
    told = regard("align", trained.folder, *files, *options)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"regard: {message.format(trained.folder)}")


def test_a_model_of_a_task_without_links_is_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    run(language_recipe(tmp_path, "ngram"), tmp_path / "ngram", reporter=lambda event: None)
    told = regard("align", tmp_path / "ngram", *files)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"regard: {tmp_path / 'ngram'}: this model is for language, which aligns nothing; name an "
        "aligner or a translator\n"
    )


@pytest.mark.parametrize(
    "more", [["align"], ["align", "--reverse"], ["align", "--gold"], ["score"], ["score", "--per-token"]]
)
def test_pieces_change_nothing_and_are_told_as_they_come(
    trained: Trained, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    gold = tmp_path / "gold.links"
    gold.write_text("0-0 1-1\n\n0-0\n", encoding="utf-8")
    values = {"--reverse": [trained.folder], "--gold": [gold]}
    command = [more[0], trained.folder, *files, *more[1:], *values.get(more[-1], [])]
    whole = regard(*command)
    assert whole.code == 0, whole.err
    monkeypatch.setattr("regard.cli.corpus.PAIRS_AT_ONCE", 1)
    assert regard(*command) == whole
    for name in files:
        with name.open("ab") as file:
            file.write(b"\xff\n")
    gold.write_text("0-0 1-1\n\n0-0\n\n", encoding="utf-8")
    spoiled = regard(*command)
    assert spoiled.code == 2
    assert "a.de:4: " in spoiled.err
    if "--gold" not in more:
        assert spoiled.out == whole.out


@pytest.mark.parametrize("more", [(), ("--choose",), ("--agreement",), ("--html", "x.html")])
@pytest.mark.parametrize("command", ["align", "score", "lexicon"])
def test_no_pair_of_files_out_of_step_is_answered(
    trained: Trained, files: tuple[Path, Path], command: str, more: tuple[str, ...]
) -> None:
    if more and command != "align":
        return
    with files[0].open("a", encoding="utf-8") as file:
        file.write("rot\n")
    told = regard(command, trained.folder, *files, *more)
    assert (told.code, told.out) == (2, "")
    assert f"{files[0]} has 4 lines and {files[1]} 3, none for {files[0]}:4; " in told.err


@pytest.mark.parametrize("text", ["files", "standard input"])
@pytest.mark.parametrize(
    ("option", "lines", "message"),
    [
        ("MODEL", 2, "{links}:2: the links end with 2 lines, and there are "),
        ("MODEL", 4, "{links}:4: links without a sentence pair, of which there are 3"),
        ("--reverse", 4, "{links}:4: links without a sentence pair"),
        ("--against", 4, "{links}:4: links without a sentence pair"),
        ("--against", 2, "{links}:2: the links end with 2 lines"),
        ("--gold", 4, "{links}:4: links without a sentence pair"),
        ("--gold", 2, "{links}:2: the links end with 2 lines"),
    ],
)
def test_links_out_of_step_are_found_before_anything_is_aligned(
    files: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    option: str,
    lines: int,
    message: str,
) -> None:
    links, good = tmp_path / "some.links", tmp_path / "good.links"
    every = ["0-0\n", "\n", "0-0\n", "\n"]
    links.write_text("".join(every[:lines]), encoding="utf-8")
    good.write_text("".join(every[:3]), encoding="utf-8")
    named = [links] if option == "MODEL" else [good, option, links]
    named += ["--gold", good] if option == "--against" else []
    sides = [file.read_text(encoding="utf-8").splitlines() for file in files]
    if text == "standard input":
        told = regard("align", *named, stdin="".join(map("{}\t{}\n".format, *sides)).encode())
    else:
        monkeypatch.setattr("regard.cli.aligning.Aligners.align", lambda *_: pytest.fail("something was aligned"))
        told = regard("align", named[0], *files, *named[1:])
        assert told.out == ""
    assert told.code == 2
    assert message.format(links=links) in told.err


@pytest.mark.parametrize(
    ("links", "advice"),
    [
        ("1-1 3-3\n\n1-1\n", "all links up to here fit if they count from 1: subtract 1 from all numbers"),
        ("1-1\n\n1-1 4-1\n", "no link up to here has a 0, so they seem to count from 1: name the links of this text"),
        ("0-0 0-2\n\n0-3\n", "name the links of this text, as source-target"),
    ],
)
def test_links_that_do_not_fit_are_told_what_they_may_be(
    files: tuple[Path, Path], tmp_path: Path, links: str, advice: str
) -> None:
    given = tmp_path / "given.links"
    given.write_text(links, encoding="utf-8")
    told = regard("align", given, *files)
    assert told.code == 2
    assert f", counted from 0; {advice}" in told.err


def test_turned_links_are_told_so(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("eins zwei drei\tone two\n", encoding="utf-8")
    given = tmp_path / "given.links"
    given.write_text("0-0 1-2\n", encoding="utf-8")
    advice = "all links up to here fit as target-source: give them as source-target, or the files exchanged"
    told = regard("align", given, tmp_path / "a.tsv")
    assert told.err == (
        f"regard: {given}:1: the link 1-2 is outside of this pair, which has 3 source words and 2 target words, "
        f"counted from 0; {advice}\n"
    )
    # Links that fit either way, by their scores.
    (tmp_path / "b.tsv").write_text("a b c d\te f g h\n" * 10, encoding="utf-8")
    gold = tmp_path / "gold"
    for path, links in ((given, "0-1 1-2 2-3"), (gold, "1-0 2-1 3-2")):
        path.write_text(f"{links}\n" * 10, encoding="utf-8")
    for one, other in ((given, gold), (gold, given)):
        told = regard("align", one, tmp_path / "b.tsv", "--gold", other)
        assert told.code == 0
        assert told.err == (
            f"{one}, {other}: the error rate is 1.0000, and 0.0000 with source and target of each link exchanged, so "
            "that one of both files seems to have target-source\n"
        )
