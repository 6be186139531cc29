"""Real text, also without spaces: the message catalogs that a system has, as the guide takes them."""

from pathlib import Path

import pytest
from page_blocks import blocks_of

from regard.data.check import check
from regard.data.unspaced import find_unspaced
from regard.metrics.text import bleu_tokenizer
from regard.recipe import Data, TokenizerSettings
from regard.tokens import train_tokenizer
from regard.tokens.segmentation import pieces_of

ROOT = Path(__file__).parents[2]
CATALOGS = Path("/usr/share/locale")
FEWEST = 500
UNSPACED = {"ja": "char", "zh_CN": "zh", "th": "char"}
"""Languages without spaces, and BLEU's tokenizer for them."""
FAULTS = {"swapped", "shifted", "language of the source", "language of the target", "loops", "repeated text", "copied"}
FAULTS.add("identical")


def pairs_of(language: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that the guide's script makes of the catalogs of a language; skips where there are few."""
    guide = blocks_of(ROOT / "docs" / "guides" / "languages-without-spaces.md")
    (script,) = (block.code for block in guide if block.language == "python" and "LC_MESSAGES" in block.code)
    monkeypatch.chdir(folder)
    exec(script.replace("/ja/", f"/{language}/"), {})
    if len(Path("messages.en").read_text(encoding="utf-8").splitlines()) < FEWEST:
        pytest.skip(f"there are no catalogs in {language!r} here")
    return [str(folder / "messages.ja"), str(folder / "messages.en")]


@pytest.mark.spread(2)
@pytest.mark.parametrize("language", [*UNSPACED, "de", "fr", "ru", "ar"])
def test_catalogs_are_in_order(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = pairs_of(language, tmp_path, monkeypatch)
    for train in (files, files[::-1]):
        report = check(Data(train=train, held_out=0.01))
        assert [finding.line() for finding in report.findings if finding.kind in FAULTS] == []


@pytest.mark.parametrize("language", UNSPACED)
def test_text_without_spaces_is_counted_in_characters(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = pairs_of(language, tmp_path, monkeypatch)
    texts = Path(path).read_text(encoding="utf-8").splitlines()
    (found,) = find_unspaced(texts, "words", "tokens.source.kind")
    assert "without blanks" in found.what
    assert bleu_tokenizer(texts) == UNSPACED[language]
    for text in texts[::50]:
        assert "".join(pieces_of(text)) == "".join(text.split())
    assert sum(len(pieces_of(text)) > len(text.split()) for text in texts) > 0.7 * len(texts)
    tokenizer = train_tokenizer(TokenizerSettings(kind="bpe", size=6000), texts)
    assert [tokenizer.decode(tokenizer.encode(text)) for text in texts[::50]] == texts[::50]
