"""n-best lists of a model that can write the same text in several ways: each text stands once."""

from pathlib import Path

import pytest
from command_line import regard, trained_transformer

import regard as library
from regard.decode import decode_all

TEXT = b"eins zwei\nHaus\n\nrot und blau\n"


@pytest.fixture(scope="module")
def subwords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny Transformer that writes subwords and has seen each word split in several ways."""
    changes = ["tokens.target.kind=bpe", "tokens.target.size=40", "tokens.target.dropout=0.5"]
    return trained_transformer(tmp_path_factory.mktemp("subwords"), *changes)


def test_each_text_stands_once_among_the_best(subwords: Path) -> None:
    translator = library.load(subwords, device="cpu", changes=["decode.n_best=8", "decode.beam=8"])
    texts = [line for line in TEXT.decode().splitlines() if line]
    found = decode_all(translator.model, translator.source_tokenizer.encode_all(texts), translator.recipe.decode)
    given = translator.translate(texts)
    every = [[(translator.target_tokenizer.decode(one.tokens), one.score) for one in each] for each in found]
    assert any(len(dict(each)) < len(each) for each in every)
    for each, best in zip(every, given, strict=True):
        outputs = [(output.text, output.score) for output in (best, *best.others)]
        assert outputs[0] == each[0]
        assert [score for _, score in outputs] == sorted((score for _, score in outputs), reverse=True)
        assert len(dict(outputs)) == len(outputs)
        assert dict(outputs) == {text: max(score for other, score in each if other == text) for text, _ in each}


def test_each_text_stands_once_on_the_command_line(subwords: Path) -> None:
    plain = regard("translate", subwords, "--n-best", 8, stdin=TEXT)
    rescored = regard("translate", subwords, "--n-best", 8, "--rescore", subwords, stdin=TEXT)
    drawn = regard("translate", subwords, "--n-best", 8, "--set", "decode.method=sample", stdin=TEXT)
    assert (plain.code, rescored.code, drawn.code) == (0, 0, 0)
    assert len(set(plain.out.splitlines())) == len(plain.out.splitlines()) < 3 * 8 + 1
    assert sorted(rescored.out.splitlines()) == sorted(plain.out.splitlines())
    assert len(drawn.out.splitlines()) == 3 * 8 + 1
