"""Inline tags and placeholders, carried through a translation by the alignment of its words.

    marked = MarkedTexts(["Klick <b>hier</b>, {name}!"])
    marked.restored(translator.translate(marked.plain))[0].text      # "Click <b>here</b>, {name}!"

The model reads the text without its tags. A pair of tags encloses the translation of the words it encloses; of several
such runs, the longest. Nesting is preserved, and every tag is restored once, even if its words were not translated.
Placeholders and URLs stay in the text that the model reads. Where it copied them, they stay; where it wrote other words
for one, the word that attended to it most is replaced by it, with neighbors that spell more of it, and the others stay;
where it wrote nothing, it is put beside the translation of its neighbors. So the output has the tags and placeholders
of the source, each as often, and loses at most a word for each.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from regard.inspect import WordWeights, link
from regard.tasks.translations import Translation
from regard.tokens.segmentation import Span, parts_of

TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->")
PLACEHOLDER = re.compile(
    r"""(?<!\w)https?://[^\s<>"']*[^\s<>"'.,;:!?()\[\]{}]"""  # URLs, without the punctuation after them
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|\{\{[^{}\s<>]*\}\}|\$?\{[^{}\s<>]*\}"  # {0}, {name}, ${name}, {{name}}
    r"|%(?:\d+\$|\(\w+\))?[-+#0]*\d*(?:\.\d+)?[sdifgexXc](?!\w)"  # %s, %1$s, %(name)s, %.2f
    r"|(?<!\w)__\w+?__(?!\w)"
)
_VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_BEFORE, _AFTER = frozenset("([„“«\"'"), frozenset(")].,;:!?”“»\"'")
"""Characters allowed right before or after a placeholder without becoming part of it, unless it is a URL."""

Kind = Literal["opens", "closes", "alone"]
Origins = Mapping[int, tuple[int, float]]
"""For units of an output, the source unit that each comes from, and its attention weight."""


@dataclass
class Element:
    """A pair of tags, or a single tag without an end, and its content."""

    opening: str
    closing: str
    start: int
    end: int
    """Where it begins and ends in the text without tags."""
    inside: list["Element"] = field(default_factory=list)

    @property
    def flat(self) -> str:
        """All of its tags, with no text between them."""
        return self.opening + "".join(element.flat for element in self.inside) + self.closing


@dataclass(frozen=True)
class Marked:
    """A text and its markup."""

    text: str
    plain: str
    """Without tags: what the model reads."""
    root: Element

    def enclosed(self) -> list[list[int]]:
        """The units of the plain text that each pair of tags encloses, the outermost pairs."""
        spans = list(enumerate(units(self.plain)))
        return [
            [place for place, (start, end) in spans if start < pair.end and end > pair.start]
            for pair in self.root.inside
            if pair.closing
        ]

    @classmethod
    def of(cls, text: str) -> "Marked":
        plain, end = "", 0
        open_elements = [Element("", "", 0, 0)]
        for tag in TAG.finditer(text):
            plain, end = plain + text[end : tag.start()], tag.end()
            kind, name = _kind(tag[0])
            if kind == "opens":
                open_elements.append(Element(tag[0], "", len(plain), len(plain)))
            elif kind == "closes" and any(name == _kind(element.opening)[1] for element in open_elements[1:]):
                while _kind(open_elements[-1].opening)[1] != name:
                    _leave_open(open_elements)
                closed = open_elements.pop()
                closed.closing, closed.end = tag[0], len(plain)
                open_elements[-1].inside.append(closed)
            else:
                open_elements[-1].inside.append(Element(tag[0], "", len(plain), len(plain)))
                # A line break separates words, bold letters do not.
                plain += " " if kind == "alone" else ""
        while len(open_elements) > 1:
            _leave_open(open_elements)
        return cls(text, plain + text[end:], open_elements[0])


def _leave_open(open_elements: list[Element]) -> None:
    """Makes an unclosed tag a single one, before the elements that followed it."""
    element = open_elements.pop()
    alone = replace(element, inside=[])
    open_elements[-1].inside += [alone, *element.inside]


def _kind(tag: str) -> tuple[Kind, str]:
    name = re.match(r"</?([A-Za-z][^\s/>]*)", tag)
    if name is None or tag.endswith("/>") or name[1].lower() in _VOID:
        return "alone", ""
    return ("closes" if tag.startswith("</") else "opens"), name[1].lower()


def units(text: str) -> list[Span]:
    """The units of alignment: placeholders, words, and every other character by itself."""
    whole = [placeholder.span() for placeholder in PLACEHOLDER.finditer(text)]
    hidden = PLACEHOLDER.sub(lambda placeholder: "\0" * len(placeholder[0]), text)
    return sorted([*whole, *(span for span in parts_of(hidden) if hidden[span[0]] != "\0")])


def placeholders(text: str) -> list[str]:
    """The placeholders of a text without tags."""
    return [text[start:end] for start, end in units(text) if _is_placeholder(text[start:end])]


def _is_placeholder(text: str) -> bool:
    return PLACEHOLDER.fullmatch(text) is not None


class MarkedTexts:
    """Texts with tags and placeholders, which are put back into their translations."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._marked = [Marked.of(text) for text in texts]

    @property
    def plain(self) -> list[str]:
        """The texts without tags, for a model to translate."""
        return [marked.plain for marked in self._marked]

    def restored(self, found: Sequence[Translation]) -> list[Translation]:
        """Translations of the plain texts and their `others`, with the tags and placeholders of the texts."""
        outputs = [output for best in found for output in (best, *best.others)]
        marked = [one for one, best in zip(self._marked, found, strict=True) for _ in (best, *best.others)]
        clean = [without_tags(output.text) for output in outputs]
        weights: Iterable[WordWeights] = []
        if outputs:
            # All at once, because attention is read in batches.
            weights = outputs[0].translator.word_weights([one.plain for one in marked], clean, units=units)
        texts = [restore(*each) for each in zip(marked, clean, map(origins_of, marked, clean, weights), strict=True)]
        rows = zip(outputs, marked, texts, strict=True)
        new = iter([replace(output, source=one.text, text=text, others=()) for output, one, text in rows])
        return [replace(next(new), others=tuple(next(new) for _ in best.others)) for best in found]


def origins_of(marked: Marked, output: str, weights: WordWeights) -> Origins:
    """The source units that those of an output come from, by attention. Of units that share a token, and so have equal
    weights, one between tags is preferred. Where no unit comes from the content of a pair of tags, the word that
    attended to it most does, if by more than chance."""
    enclosed = marked.enclosed()
    between = sorted(unit for each in enclosed for unit in each)
    found: dict[int, tuple[int, float]] = {}
    for source, target in sorted(link(weights)):
        weight = weights.weights[target, source]
        equal = [unit for unit in between if weights.weights[target, unit] == weight]
        found.setdefault(target, (equal[0] if equal else source, float(weight)))
    words = [place for place, (start, _) in enumerate(units(output)) if output[start].isalnum()]
    for each in enclosed:
        origins = {target: source for target, (source, _) in found.items()}
        free = [target for target in words if origins.get(target) not in between]
        if not free or not each or set(origins.values()) & set(each):
            continue
        most = weights.weights[np.ix_(free, each)].max(axis=1)
        if most.max() > 1 / weights.weights.shape[1]:
            found[free[int(most.argmax())]] = (each[0], float(most.max()))
    return found


def restore(marked: Marked, output: str, origins: Origins) -> str:
    """An output without tags, with the tags and placeholders of its source."""
    if not marked.plain.strip():
        return marked.text
    return _Arrangement(marked, _with_placeholders(marked.plain, output, origins)).text()


def without_tags(output: str) -> str:
    """An output without anything that looks like a tag, also after others are removed."""
    while TAG.search(output):
        output = TAG.sub(" ", output)
    return output


@dataclass(frozen=True)
class Unit:
    """A unit of an output, with the space before it and the unit of the source that it comes from."""

    text: str
    space: str
    origin: int | None
    weight: float = 0.0
    """Its attention weight on that unit."""
    put: bool = False
    """True for a placeholder that the model did not write."""

    def after(self, before: "Unit") -> str:
        """The space between two units, so that neither becomes part of the other."""
        apart = self.put and not before.text.endswith(tuple(_BEFORE))
        apart |= before.put and not (self.text.startswith(tuple(_AFTER)) and not re.search("@|://", before.text))
        return self.space or (" " if apart else "")


def _with_placeholders(plain: str, output: str, origins: Origins) -> list[Unit]:
    """The units of an output, among them every placeholder of the source."""
    sources = [plain[start:end] for start, end in units(plain)]
    lacking = {place: text for place, text in enumerate(sources) if _is_placeholder(text)}
    written: list[Unit] = []
    last, dropped = 0, False
    for place, (start, end) in enumerate(units(output)):
        text, (origin, weight) = output[start:end], origins.get(place, (None, 0.0))
        space, last = output[last:start] or " " * dropped, end
        dropped = False
        if _is_placeholder(text):
            same = [source for source, other in lacking.items() if other == text]
            if not same:
                dropped = True  # the source has no (further) such placeholder
                continue
            origin = origin if origin in same else same[0]
            del lacking[origin]
        written.append(Unit(text, space, origin, weight))
    for source, text in lacking.items():
        written = _put(text, source, written)
    return written


def _put(placeholder: str, source: int, written: list[Unit]) -> list[Unit]:
    """The units with a placeholder in place of the one written for it, or inserted where that belongs."""
    own = [place for place, unit in enumerate(written) if unit.origin == source and _may_go(unit)]
    if own:
        start, end = _spelled(placeholder, max(own, key=lambda place: _likeness(written[place], placeholder)), written)
        space = written[start].space
    else:
        start = end = _place(source, written, 0, len(written))
        space = " "
        if end < len(written) and not written[end].space:
            written[end] = replace(written[end], space=" ")
    return [*written[:start], Unit(placeholder, space, source, put=True), *written[end:]]


def _may_go(unit: Unit) -> bool:
    return not unit.put and not _is_placeholder(unit.text)


def _likeness(unit: Unit, placeholder: str) -> tuple[bool, float]:
    """A sort key: a word of the placeholder itself first, then the highest attention to it."""
    return unit.text.lower() in re.findall(r"\w+", placeholder.lower()), unit.weight


def _spelled(placeholder: str, place: int, written: Sequence[Unit]) -> Span:
    """The unit at a place, with its neighbors as far as they spell a part of the placeholder together: `{ name }`."""

    def spells(first: int, last: int) -> bool:
        pieces = written[max(first, 0) : last]
        joined = "".join(unit.text for unit in pieces).lower()
        return len(pieces) == last - first and all(map(_may_go, pieces)) and joined in placeholder.lower()

    start, end = place, place + 1
    while spells(start, end + 1):
        end += 1
    while spells(start - 1, end):
        start -= 1
    return start, end


def longest_run(own: Sequence[bool], free: Sequence[bool]) -> Span:
    """The span with the most own units that have only free ones between them; the first of equals."""
    best, most, start, count = (0, 0), 0, 0, 0
    for place, mine in enumerate(own):
        if mine:
            start, count = (start if count else place), count + 1
            if count > most:
                best, most = (start, place + 1), count
        elif not free[place]:
            count = 0
    return best


def _place(source: int, written: Sequence[Unit], start: int, end: int) -> int:
    """The position for something before a unit of the source: before the translation of the next unit that has one, or
    else after the last."""
    known = [(unit.origin, place) for place, unit in enumerate(written[start:end], start) if unit.origin is not None]
    later = [pair for pair in known if pair[0] >= source]
    return min(later)[1] if later else max(known)[1] + 1 if known else end


class _Arrangement:
    """The units of an output among the tags of its source."""

    def __init__(self, marked: Marked, written: Sequence[Unit]) -> None:
        self._spans, self._written = units(marked.plain), written
        self._before, self._after = [""] * (len(written) + 1), [""] * (len(written) + 1)
        self._arrange(marked.root, 0, len(written))

    def text(self) -> str:
        found = ""
        for place, unit in enumerate(self._written):
            found += unit.after(self._written[place - 1]) if place else ""
            found += self._before[place] + unit.text + self._after[place]
        return found + self._before[-1]

    def _arrange(self, element: Element, start: int, end: int) -> None:
        """Puts what is inside an element around and between units of the output, from `start` to `end`."""
        taken: set[int] = set()
        pairs = [(inner, *self._around(inner, start, end, taken)) for inner in element.inside]
        filled = [pair for pair in pairs if pair[1] < pair[2]]
        empty = [(inner, self._beside(inner, filled, start, end)) for inner, first, last in pairs if first == last]
        # In this order, so that at one position single tags are outside of their neighbors.
        for inner, place in empty:
            if place < end or start == end:
                self._before[place] += inner.flat
        for inner, first, last in filled:
            self._before[first] += inner.opening
            self._arrange(inner, first, last)
            self._after[last - 1] += inner.closing
        for inner, place in empty:
            if start < place == end:
                self._after[end - 1] += inner.flat

    def _around(self, element: Element, start: int, end: int, taken: set[int]) -> Span:
        """The longest run of units translated from the content of a pair of tags; a word belongs to the first neighbor
        that has a part of it."""
        if not element.closing:
            return start, start
        spans = enumerate(self._spans)
        enclosed = {place for place, (first, last) in spans if first < element.end and last > element.start} - taken
        taken |= enclosed
        units_here = self._written[start:end]
        own = [unit.origin in enclosed for unit in units_here]
        first, last = longest_run(own, [unit.origin is None for unit in units_here])
        return start + first, start + last

    def _beside(self, element: Element, filled: Sequence[tuple[Element, int, int]], start: int, end: int) -> int:
        """The position of an element that encloses nothing: not inside a neighbor."""
        source = next((place for place, span in enumerate(self._spans) if span[0] >= element.start), len(self._spans))
        place = _place(source, self._written, start, end)
        for _, first, last in filled:
            if first < place < last:
                return last
        return place
