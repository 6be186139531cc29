"""Chooses installed fonts that have the glyphs of given labels."""

import warnings
from collections.abc import Iterable
from functools import cache
from unicodedata import category, name

from matplotlib import __version_info__, font_manager

from regard.errors import PictureWarning, one_of

PREFERRED = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Arial Unicode MS", "Segoe UI")
"""Tried in this order before any other font; matplotlib bundles the first."""
UNDRAWABLE = ("Emoji", "Last Resort", "LastResort", "Adobe Blank")
"""Fonts of colored bitmaps, which matplotlib cannot draw, and of placeholders, which claim to have every character."""
HAS_SHAPING = __version_info__ >= (3, 11)
"""Whether matplotlib joins letters, places marks and orders text of both directions, as these scripts need it."""
SHAPED = {
    *("ARABIC", "SYRIAC", "THAANA", "NKO", "HEBREW", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL"),
    *("TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "THAI", "LAO", "TIBETAN", "MYANMAR", "KHMER", "MONGOLIAN"),
}
"""Scripts by the first word of their characters' Unicode names."""
EASTERN = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"}
"""Scripts whose fonts are packaged separately, by the same words."""
TOFU = "▯"
"""Stands for a character that no font has."""


def families_for(texts: Iterable[str]) -> tuple[list[str], set[str]]:
    """Font families that together cover the texts, in order of preference; and the characters that none of them has,
    about which a warning says where to get a font."""
    wanted = {character for text in texts for character in text if not character.isspace()}
    _warn_of_shaping(wanted)
    families, missing = _choose(wanted)
    if _letters(missing) and _found_new_fonts():
        families, missing = _choose(wanted)
    _warn_of_missing(missing)
    return families, missing


def _choose(wanted: set[str]) -> tuple[list[str], set[str]]:
    families: list[str] = []
    missing = set(wanted)
    for family, path in _candidates():
        characters = _characters(path)
        if not families or missing & characters:
            families.append(family)
            missing -= characters
        if not missing:
            break
    return families, missing


def _found_new_fonts() -> bool:
    """Adds the fonts that were installed after matplotlib made its list; says whether there were any."""
    manager = font_manager.fontManager
    known = {font.fname for font in manager.ttflist}
    for path in set(font_manager.findSystemFonts()) - known:
        try:
            manager.addfont(path)
        except (OSError, RuntimeError, ValueError):  # not a drawable font
            continue
    if len(manager.ttflist) == len(known):
        return False
    _candidates.cache_clear()
    return True


def _letters(characters: Iterable[str]) -> list[str]:
    """The characters to expect in a font: none that are private, unassigned, or symbols such as emoji."""
    return sorted(character for character in characters if category(character)[0] in "LN")


def _warn_of_missing(missing: set[str]) -> None:
    """Says which letters no font has, and which font to install."""
    if not (letters := _letters(missing)):
        return
    scripts = {name(character, "").partition(" ")[0] for character in letters}
    font, package = ("Noto Sans CJK", "fonts-noto-cjk") if scripts & EASTERN else ("Noto Sans", "fonts-noto-core")
    warnings.warn(
        f"no font here has {one_of(letters, most=3)}: drawn as {TOFU}; install the font {font} (Debian, Ubuntu: apt "
        f"install {package}), or use a page (.html)",
        PictureWarning,
        stacklevel=1,
    )


def without(text: str, missing: set[str]) -> str:
    """The text with `▯` for characters that no font has; marks and joiners among them leave no trace."""
    kept = (character if character not in missing else _stand_in(character) for character in text)
    return "".join(kept)


def _stand_in(character: str) -> str:
    return "" if category(character) in {"Mn", "Me", "Cf"} else TOFU


def _warn_of_shaping(characters: Iterable[str]) -> None:
    """Says which scripts an old matplotlib cannot draw properly."""
    scripts = sorted({name(character, "").partition(" ")[0] for character in characters} & SHAPED)
    if scripts and not HAS_SHAPING:
        version = ".".join(map(str, __version_info__[:3]))
        warnings.warn(
            f"matplotlib {version} draws {', '.join(map(str.title, scripts))} letter by letter, without joining or "
            "ordering them; pip install --upgrade 'matplotlib>=3.11' for correct pictures, or use a page (.html)",
            PictureWarning,
            stacklevel=1,
        )


@cache
def _candidates() -> tuple[tuple[str, str], ...]:
    """(family, file) of every upright font of normal weight and width, preferred ones first, one file for a family."""
    plain = {
        font.name: font.fname
        for font in sorted(font_manager.fontManager.ttflist, key=lambda font: (font.name, font.fname), reverse=True)
        if font.style == "normal"
        and font.weight in (400, "normal", "regular", "book")
        and font.stretch in (400, "normal")
        and not any(name in font.name for name in UNDRAWABLE)
    }
    ranks = {family: rank for rank, family in enumerate(PREFERRED)}
    return tuple(sorted(plain.items(), key=lambda font: (ranks.get(font[0], len(ranks)), font[0])))


@cache
def _characters(path: str) -> frozenset[str]:
    """The characters that a font file covers; none if the file is no longer readable."""
    try:
        return frozenset(map(chr, font_manager.get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()
