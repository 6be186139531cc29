"""CTranslate2 as an engine: the same numbers, the same outputs but for rounding, and what it refuses."""

import random
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
import torch

from regard.data.batch import PairBatch
from regard.decode import Hypothesis, ctranslate2, decode_all, score_all
from regard.decode.ctranslate2 import CTranslate2
from regard.decode.export import check_can_export, export, longest_input, specification
from regard.errors import ModelError, UsageError
from regard.models import TransformerTranslator
from regard.models.transformer import build
from regard.objectives import cross_entropy
from regard.recipe import Decoding, RecurrentModel, TransformerModel
from regard.tokens.vocabulary import END, PAD

runtime = pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
SIZE = 24
KINDS = {
    "pre": {},
    "post": {"norm": "post", "activation": "gelu", "position": "learned", "longest": 40, "tie": "none"},
    "grouped": {"groups": 2, "activation": "swiglu", "encoder_layers": 2},
    "turned": {"position": "rotary", "norm": "post", "encoder_layers": 2, "decoder_layers": 2},
    "turned in groups": {"position": "rotary", "groups": 2},
    "turned in one group": {"position": "rotary", "groups": 1, "activation": "swiglu"},
    "unordered": {"position": "none", "tie": "all", "decoder_layers": 2},
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def settings_of(kind: str) -> TransformerModel:
    common = {"width": 32, "heads": 4, "feedforward": 64, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    return TransformerModel.model_validate({"kind": "transformer", **common, **KINDS[kind]})


def model_of(kind: str) -> TransformerTranslator:
    """Weights and biases that are all of a size that matters."""
    torch.manual_seed(1)
    model = build(settings_of(kind), SIZE, SIZE).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def some_sources(count: int, seed: int, most: int = 9) -> list[list[int]]:
    draw = random.Random(seed)
    return [[draw.randrange(4, SIZE) for _ in range(draw.randrange(most))] for _ in range(count)]


@cache
def learned(kind: str = "pre") -> TransformerTranslator:
    """A model that has half learned to write sequences backwards, leaving out every 4 and writing 6 twice."""
    torch.manual_seed(2)
    model = build(settings_of(kind), SIZE, SIZE).train()
    optimizer = torch.optim.Adam(model.parameters(), 4e-3)
    for step in range(220):
        sources = some_sources(64, seed=step)
        targets = [
            [token for token in source[::-1] if token != 4 for _ in range(1 + (token == 6))] for source in sources
        ]
        batch = PairBatch.of(sources, targets, list(range(64)))
        optimizer.zero_grad()
        (cross_entropy(model, batch, 0.1) / batch.count).backward()
        optimizer.step()
    return model.eval()


def engine_of(model: TransformerTranslator, kind: str, folder: Path, compute: str = "float32") -> CTranslate2:
    export(model, settings_of(kind), folder)
    return CTranslate2(folder, model, longest=longest_input(model, settings_of(kind)), compute=compute, threads=1)


def share(found: Sequence[Sequence[Hypothesis]], others: Sequence[Sequence[Hypothesis]]) -> float:
    """Of the lists of outputs that are the same."""
    texts, other_texts = ([[one.tokens for one in row] for row in rows] for rows in (found, others))
    return sum(one == other for one, other in zip(texts, other_texts, strict=True)) / len(texts)


@each_kind
def test_an_exported_model_gives_the_same_log_probs(kind: str, tmp_path: Path) -> None:
    model = model_of(kind)
    export(model, settings_of(kind), tmp_path)
    sources, targets = some_sources(20, seed=3), some_sources(20, seed=4)
    named = [[[*map(str, row)] for row in rows] for rows in ([[*source, END] for source in sources], targets)]
    translator = runtime.Translator(str(tmp_path), compute_type="float32", inter_threads=1, intra_threads=1)
    for ours, theirs in zip(score_all(model, sources, targets), translator.score_batch(*named), strict=True):
        assert theirs.log_probs == pytest.approx(ours, abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        *(("pre", changes) for changes in ({"n_best": 5}, {"beam": 1}, {"method": "greedy"}, {"length_penalty": 0.0})),
        ("pre", {"beam": 3, "length_penalty": 2.0}),
        ("turned in groups", {"n_best": 5}),
    ],
)
def test_outputs_are_the_same_in_float32(kind: str, changes: dict[str, object], tmp_path: Path) -> None:
    """At least 99 % of the lists, of a model that is often unsure."""
    model, sources = learned(kind), some_sources(300, seed=1001)
    how = Decoding.model_validate({"beam": 5, **changes})
    own = decode_all(model, sources, how)
    found = engine_of(model, kind, tmp_path).decode_all(sources, how)
    assert share(found, own) >= 0.99
    for ours, theirs in chain.from_iterable(map(zip, own, found)):
        if ours.tokens == theirs.tokens:
            assert theirs.score == pytest.approx(ours.score, abs=1e-3)
            assert theirs.log_prob == pytest.approx(ours.log_prob, abs=5e-3)
            assert theirs.finished is ours.finished


def test_int8_is_near(tmp_path: Path) -> None:
    engine, sources = engine_of(learned(), "pre", tmp_path, "int8"), some_sources(200, seed=1001)
    assert share(engine.decode_all(sources, Decoding()), decode_all(learned(), sources, Decoding())) >= 0.9


def test_n_best_lists_are_ranked(tmp_path: Path) -> None:
    engine = engine_of(learned(), "pre", tmp_path)
    for found in engine.decode_all(some_sources(20, seed=5), Decoding(beam=4, n_best=3)):
        assert len(found) == len({one.tokens for one in found}) == 3
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_what_reaches_the_limit_is_what_our_own_search_makes_of_it(tmp_path: Path) -> None:
    """A limit for each source, whatever else is in the batch."""
    engine, how = engine_of(learned(), "pre", tmp_path), Decoding(longest_factor=0.5, longest_extra=1)
    sources = [source for source in some_sources(40, seed=6) if len(source) > 3]
    own = decode_all(learned(), sources, how)
    found = engine.decode_all(sources, how)
    assert all(len(one[0].tokens) <= len(source) // 2 + 1 for one, source in zip(found, sources, strict=True))
    assert share(found, own) == 1.0


def test_padding_is_never_written(tmp_path: Path) -> None:
    model = deepcopy(learned())
    with torch.no_grad():
        model.readout.weight[PAD] = model.readout.weight[5]
    sources = some_sources(30, seed=7)
    found = engine_of(model, "pre", tmp_path).decode_all(sources, Decoding())
    assert all(PAD not in one[0].tokens for one in found)
    assert share(found, decode_all(model, sources, Decoding())) >= 0.9


def test_outputs_are_at_least_as_long_as_asked(tmp_path: Path) -> None:
    engine = engine_of(learned(), "pre", tmp_path)
    found = engine.decode_all([[5], [6, 7], []], Decoding(least=4))
    assert all(len(one[0].tokens) >= 4 for one in found)


@pytest.mark.parametrize(("asked", "most"), [(12, 2048), (8192, 12)])
def test_order_is_kept_and_progress_told(
    asked: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctranslate2, "BATCH_TOKENS", most)
    engine, told = engine_of(learned(), "pre", tmp_path), []
    how = Decoding(batch_tokens=asked)
    sources = [[5], [6, 7, 8, 9, 10, 11], [], [9, 8]]
    found = engine.decode_all(sources, how, on_progress=lambda done, of: told.append((done, of)))
    assert [one[0].tokens for one in found] == [engine.decode_all([source], how)[0][0].tokens for source in sources]
    assert len(told) == 2
    assert told[-1] == (4, 4)
    assert engine.decode_all([], how) == []


def test_every_part_of_a_model_is_exported() -> None:
    """Each weight has its place: changing it changes what is written."""
    for kind in KINDS:
        model = model_of(kind)
        before = dict(specification(model, settings_of(kind)).variables())
        for name, weight in model.named_parameters():
            with torch.no_grad():
                weight.add_(1.0)
            after = dict(specification(model, settings_of(kind)).variables())
            changed = [part for part in before if not _equal(before[part], after[part])]
            assert changed, name
            before = after


def _equal(one: object, other: object) -> bool:
    numbers = [part.numpy() if hasattr(part, "numpy") else part for part in (one, other)]
    return bool((numbers[0] == numbers[1]).all()) if hasattr(numbers[0], "all") else numbers[0] == numbers[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"score": "additive"},
            "model.score = 'additive': CTranslate2 cannot run such a model, only those with "
            "'scaled_dot'; use --engine own",
        ),
        (
            {"normalizer": "sparsemax"},
            "model.normalizer = 'sparsemax': CTranslate2 cannot run such a model, only those "
            "with 'softmax'; use --engine own",
        ),
        (
            {"position": "relative"},
            "model.position = 'relative': CTranslate2 cannot run such a model, only those with "
            "'sinusoidal' or 'learned' or 'rotary' or 'none'; use --engine own",
        ),
        ({"window": 3}, "model.window = 3: CTranslate2 cannot run such a model, only those with 0; use --engine own"),
        (
            {"encoder": {"kind": "window"}},
            "[model.encoder]: CTranslate2 cannot run such a model, only those without this table; use --engine own",
        ),
    ],
)
def test_models_that_cannot_be_expressed_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as error:
        check_can_export(TransformerModel.model_validate({"kind": "transformer", **change}))
    assert str(error.value) == message


def test_recurrent_models_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^model\.kind = 'recurrent': CTranslate2 cannot run such a model, only those"
    ):
        check_can_export(RecurrentModel(kind="recurrent"))


def test_searches_that_it_does_not_know_are_refused(tmp_path: Path) -> None:
    engine = engine_of(learned(), "pre", tmp_path)
    with pytest.raises(UsageError, match=r"^decode\.method = 'sample': CTranslate2 draws other samples than ours; use"):
        engine.decode_all([[5]], Decoding(method="sample"))
    with pytest.raises(
        UsageError, match=r"^decode\.coverage_penalty = 0\.2: CTranslate2 counts coverage in another way;"
    ):
        engine.decode_all([[5]], Decoding(coverage_penalty=0.2))
    with pytest.raises(
        UsageError, match=r"^decode\.no_repeat = 2: CTranslate2 would rank outputs in another way then;"
    ):
        engine.decode_all([[5]], Decoding(no_repeat=2))
    with pytest.raises(
        UsageError, match=r"^decode\.precision = 'int8' is that of our own engine; use --engine ctransl"
    ):
        engine.decode_all([[5]], Decoding(precision="int8"))
    with pytest.raises(UsageError, match=r"^outputs with a given beginning are not for CTranslate2; use --engine own$"):
        engine.decode_all([[5]], Decoding(), prefixes=[[6]])


def test_what_is_longer_than_its_positions_is_refused(tmp_path: Path) -> None:
    engine = engine_of(model_of("post"), "post", tmp_path)
    with pytest.raises(UsageError) as error:
        engine.decode_all([[5], [6] * 30], Decoding())
    assert str(error.value) == (
        "example 1: a source of 30 tokens and an output of up to 80 do not fit the 40 positions of an exported model; "
        "shorten the text, lower decode.longest_factor or decode.longest_extra, or use --engine own"
    )


def test_rotary_positions_have_no_end(tmp_path: Path) -> None:
    """More of them than a table would have."""
    model, source, target = model_of("turned"), [[5, 6, 7] * 1400], [[8, 9] * 2100]
    export(model, settings_of("turned"), tmp_path)
    named = [[[*map(str, row)] for row in rows] for rows in ([[*source[0], END]], target)]
    translator = runtime.Translator(str(tmp_path), compute_type="float32", inter_threads=1, intra_threads=1)
    (theirs,) = translator.score_batch(*named, max_input_length=0)
    (ours,) = score_all(model, source, target)
    assert theirs.log_probs == pytest.approx(ours, abs=1e-3)
    found = engine_of(model, "turned", tmp_path).decode_all(source, Decoding(beam=1, longest_factor=0, longest_extra=3))
    assert len(found[0][0].tokens) <= 3


def test_torch_keeps_its_threads(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        engine_of(learned(), "pre", tmp_path)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_a_damaged_export_is_told(tmp_path: Path) -> None:
    export(learned(), settings_of("pre"), tmp_path)
    (tmp_path / "model.bin").write_bytes(b"\x01")
    with pytest.raises(ModelError, match=r"CTranslate2 cannot load it: .*; delete this folder, it is made anew when"):
        CTranslate2(tmp_path, learned(), longest=9, compute="float32", threads=1)
