"""Tags and placeholders: all of them come back, each as often, and tags are well nested."""

import re
from collections import Counter

import pytest
from command_line import Trained, regard
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import regard as library
from regard.tasks.markup import TAG, Marked, MarkedTexts, Origins, placeholders, restore, units, without_tags

words = st.sampled_from(["ein", "Haus", "ist", "rot", ",", "5%", "$", "<", "a>b", "{", "}", "_", "foo", "&amp;", '"'])
marks = st.sampled_from(["{0}", "{name}", "%s", "%1$s", "%(x)s", "__X__", "http://a.bc/d", "a@c.de", "${v}", "{{w}}"])
spaces = st.sampled_from(["", " ", " ", "  "])


@st.composite
def well_formed(draw: st.DrawFn, depth: int = 3) -> str:
    """Text with pairs of tags inside one another."""
    text = ""
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 5)) if depth else 0
        if kind < 3:
            text += draw(st.one_of(words, words, marks)) + draw(spaces)
        elif kind == 3:
            text += draw(st.sampled_from(["<br/>", "<br>", '<img src="{u}">', "<!-- x -->"])) + draw(spaces)
        else:
            name = draw(st.sampled_from(["b", "i", "a", "g"]))
            attributes = draw(st.sampled_from(["", ' id="1"', " href=http://x.y"]))
            text += f"<{name}{attributes}>{draw(well_formed(depth=depth - 1))}</{name}>" + draw(spaces)
    return text


broken = st.lists(st.one_of(words, marks, st.sampled_from(["<b>", "</b>", "<i>", "</i>", "<br/>", " "]))).map("".join)
outputs = st.lists(st.one_of(words, marks, st.sampled_from([" ", " ", "<b>", "</i>"])), max_size=8).map("".join)


def nested(text: str) -> bool:
    """Whether every closing tag closes the last that was opened, and all are closed."""
    opened = []
    for tag in TAG.findall(text):
        name = re.match(r"</?([a-z]+)", tag)
        if name is None or name[1] in ("br", "img"):
            continue
        if not tag.startswith("</"):
            opened.append(name[1])
        elif not opened or opened.pop() != name[1]:
            return False
    return not opened


def drawn(data: st.DataObject, source: str, output: str) -> Origins:
    """Any origins: each unit of the output has at most one."""
    count = len(units(source))
    looks = st.none() | st.tuples(st.integers(0, count - 1), st.floats(0.1, 1)) if count else st.none()
    chosen = [data.draw(looks) for _ in units(output)]
    return {place: look for place, look in enumerate(chosen) if look is not None}


def restored(source: str, output: str, data: st.DataObject) -> str:
    marked, clean = Marked.of(source), without_tags(output)
    return restore(marked, clean, drawn(data, marked.plain, clean))


@given(source=st.one_of(well_formed(), broken), output=outputs, data=st.data())
def test_tags_and_placeholders_are_all_there_each_as_often(source: str, output: str, data: st.DataObject) -> None:
    found = restored(source, output, data)
    assert Counter(TAG.findall(found)) == Counter(TAG.findall(source))
    assert Counter(placeholders(Marked.of(found).plain)) == Counter(placeholders(Marked.of(source).plain))


@given(source=well_formed(), output=outputs, data=st.data())
def test_what_was_well_nested_is_well_nested(source: str, output: str, data: st.DataObject) -> None:
    assume(nested(source))  # "<" and "a>b" side by side are a tag
    assert nested(restored(source, output, data))


def inside(text: str) -> dict[str, tuple[str, ...]]:
    """For each tag the names of those around it; names must be different."""
    opened, found = [], {}
    for tag in TAG.findall(text):
        if tag.startswith("</"):
            opened.pop()
        else:
            found[tag] = tuple(opened)
            opened.append(tag)
    return found


@given(output=outputs, data=st.data())
def test_what_stood_inside_a_pair_is_inside_it_again(output: str, data: st.DataObject) -> None:
    source = "<a>ein <b>Haus <c>ist</c></b> <d></d>rot</a> <e>{0}</e> <f>foo<g>,</g></f>"
    before, after = inside(source), inside(restored(source, output, data))
    assert before == after


@given(source=st.one_of(well_formed(), broken))
def test_a_text_that_is_written_as_it_was_gets_its_words_back(source: str) -> None:
    marked = Marked.of(source)
    clean = without_tags(marked.plain)
    same = {place: (place, 1.0) for place in range(len(units(clean)))}
    found = restore(Marked.of(source), clean, same)
    if marked.plain == clean and clean.strip():
        plain = Marked.of(found).plain
        assert [plain[start:end] for start, end in units(plain)] == [clean[start:end] for start, end in units(clean)]


def words_of(text: str) -> Counter[str]:
    """How often each unit occurs that is no placeholder."""
    return Counter(text[start:end] for start, end in units(text) if not placeholders(text[start:end]))


@given(names=st.lists(marks, min_size=1, max_size=3), output=outputs, data=st.data())
def test_a_placeholder_costs_no_more_than_one_word(names: list[str], output: str, data: st.DataObject) -> None:
    source = " ein ".join(names)
    clean = without_tags(output)
    found = restored(source, clean, data)
    lost = words_of(clean) - words_of(found)
    # What spells a part of a placeholder, such as `{` or `name`, may go with it.
    assert sum(count for word, count in lost.items() if word not in "".join(names)) <= len(names)
    assert not words_of(found) - words_of(clean)
    assert Counter(placeholders(found)) == Counter(placeholders(source))


def linked(source: str, output: str, *looks: tuple[int, int] | tuple[int, int, float]) -> str:
    origins = {target: (unit, weight[0] if weight else 1.0) for unit, target, *weight in looks}
    return restore(Marked.of(source), output, origins)


def test_of_several_words_the_one_that_looked_most_is_replaced() -> None:
    source = "Hallo {name}!"
    assert linked(source, "Hello dear Mr X!", (0, 0), (1, 1, 0.5), (1, 2, 0.4), (1, 3, 0.9)) == "Hello dear Mr {name}!"
    assert linked(source, "Hello dear Mr X!", (0, 0), (1, 1, 0.5), (1, 3, 0.4)) == "Hello {name} Mr X!"
    assert linked("{a} {b}", "x y z", (0, 0, 0.5), (1, 1, 0.5), (1, 2, 0.6)) == "{a} y {b}"
    # A word that is only among the letters of a placeholder is none of its words.
    assert linked(source, "Hello a X!", (0, 0), (1, 1, 0.4), (1, 2, 0.9)) == "Hello a {name}!"


def test_what_is_written_in_pieces_is_replaced_whole() -> None:
    assert linked("Hallo {name}!", "Hello { Name } !", (0, 0), (1, 1), (1, 2, 0.4), (2, 4)) == "Hello {name} !"
    assert linked("Hallo {name}!", "Hello dear { name }!", (0, 0), (1, 1, 0.9), (1, 3, 0.4)) == "Hello dear {name}!"
    assert linked("see http://x.yz.", "voir http : / / x. yz.", (1, 1)) == "voir http://x.yz ."
    assert linked("{a} und {{a}}", "{a} a", (0, 0), (2, 1)) == "{a} {{a}}"


def test_words_are_followed_wherever_they_go() -> None:
    source = "Klick <b>hier</b>, {name}!"
    assert Marked.of(source).plain == "Klick hier, {name}!"
    assert linked(source, "Click here, X!", (0, 0), (1, 1), (2, 2), (3, 3), (4, 4)) == "Click <b>here</b>, {name}!"
    assert linked(source, "X, here click!", (3, 0), (2, 1), (1, 2), (0, 3)) == "{name}, <b>here</b> click!"
    assert linked(source, "Click here!", (0, 0), (1, 1), (4, 2)) == "Click <b>here</b> {name} !"
    assert linked(source, "Click!", (0, 0)) == "Click <b></b>{name} !"
    assert linked("a <b>b c</b>", "x y z", (1, 0), (0, 1), (2, 2)) == "<b>x</b> y z"
    assert linked("<b>a</b> c", "x o y z", (0, 0), (0, 2), (1, 3)) == "<b>x o y</b> z"


def test_placeholders_stay_where_they_were_written_and_only_as_often() -> None:
    assert linked("{a} x {b}", "{b} y {a} {a} %s", (0, 2), (0, 3)) == "{b} y {a}"
    assert linked("{a} {a}", "p {a}", (0, 0), (1, 1)) == "{a} {a}"
    assert linked("see http://x.yz.", "voir (rien).", (1, 2)) == "voir (http://x.yz )."
    assert linked("%s x", "$w%", (0, 1)) == "$ %s %"


def test_a_text_of_tags_alone_stays_as_it_is() -> None:
    assert linked("<br/> <b></b>", "anything") == "<br/> <b></b>"
    assert linked("<b>Haus</b>", "") == "<b></b>"


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("un<b>glaub</b>lich", "unglaublich"),
        ("eins<br/>zwei<BR>drei", "eins zwei drei"),
        ("a </b> <i> c", "a   c"),
        ("1 < 2 > 0 <3", "1 < 2 > 0 <3"),
    ],
)
def test_what_the_model_reads(source: str, plain: str) -> None:
    assert Marked.of(source).plain == plain


def test_what_is_a_placeholder() -> None:
    text = "{0} {a.b}, %s %d%% %(n)s 5% sure __X__ a__b__ http://a.b/c. (https://d.e) me@x.org {{x}} ${y} { z } $5"
    assert placeholders(text) == [
        *("{0}", "{a.b}", "%s", "%d", "%(n)s", "__X__", "http://a.b/c", "https://d.e", "me@x.org", "{{x}}", "${y}"),
    ]


@given(st.lists(well_formed(), min_size=1, max_size=3))
@settings(max_examples=8)
def test_through_a_model(trained: Trained, texts: list[str]) -> None:
    translator = library.load(trained.folder)
    marked = MarkedTexts(texts)
    for text, best in zip(texts, marked.restored(translator.translate(marked.plain, n_best=2)), strict=True):
        assert best.source == text
        for output in (best, *best.others):
            assert Counter(TAG.findall(output.text)) == Counter(TAG.findall(text))
            assert nested(output.text) or not nested(text)
            assert Counter(placeholders(Marked.of(output.text).plain)) == Counter(placeholders(Marked.of(text).plain))


def test_the_command(trained: Trained) -> None:
    told = regard("translate", trained.folder, "--markup", stdin=b"eins <b>rot</b> zwei\n\n<br/>\n{0} Haus\n")
    assert (told.code, told.err) == (0, "")
    lines = told.out.split("\n")
    assert re.fullmatch(r"one <b>red</b> two|.*<b>.*</b>.*", lines[0])
    assert lines[1:3] == ["", "<br/>"]
    assert lines[3].count("{0}") == 1
    told = regard("translate", trained.folder, "--markup", "--alignments", stdin=b"eins\n")
    assert (told.code, told.err) == (
        2,
        "regard: --alignments are of words alone, --markup gives text with tags; choose one of them\n",
    )
