"""CTranslate2 as an independent reference: an exported model has the same numbers, and beam search the same outputs."""

import random
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.data.batch import PairBatch
from regard.decode import Hypothesis, decode_all, score_all
from regard.decode.constraints import NEVER
from regard.decode.export import check_can_export, export, specification
from regard.errors import UsageError
from regard.models import TransformerTranslator
from regard.objectives import cross_entropy
from regard.recipe import Decoding, RecurrentModel, TransformerModel
from regard.tokens.vocabulary import END

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
    model = TransformerTranslator(settings_of(kind), SIZE, SIZE).eval()
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
    model = TransformerTranslator(settings_of(kind), SIZE, SIZE).train()
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


def exported(model: TransformerTranslator, kind: str, folder: Path) -> Any:
    """A model in the other runtime."""
    export(model, settings_of(kind), folder / "exported")
    return runtime.Translator(
        str(folder / "exported"), device="cpu", compute_type="float32", inter_threads=1, intra_threads=1
    )


def searched(translator: Any, sources: Sequence[Sequence[int]], how: Decoding) -> list[list[Hypothesis]]:
    """What the other runtime finds, in our terms; its lengths count END."""
    results = translator.translate_batch(
        [[*map(str, source), str(END)] for source in sources],
        beam_size=1 if how.method == "greedy" else how.beam,
        num_hypotheses=1 if how.method == "greedy" else how.n_best,
        length_penalty=how.length_penalty,
        min_decoding_length=how.least,
        max_input_length=0,
        max_decoding_length=how.longest_output(max(map(len, sources))) + 1,
        return_scores=True,
        return_end_token=True,
    )
    found = []
    for result in results:
        rows = [tuple(map(int, names)) for names in result.hypotheses]
        hypotheses = [
            Hypothesis(row[:-1], score, score * len(row) ** how.length_penalty, row[-1:] == (END,))
            for row, score in zip(rows, result.scores, strict=True)
        ]
        found.append(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score))
    return found


def keeps_our_rules(found: Sequence[Hypothesis], limit: int) -> bool:
    """Whether the other search has been only where ours may go: up to the limit, without tokens never written. It gives
    nothing for an empty source."""
    return all(one.finished and len(one.tokens) <= limit and not {*NEVER} & {*one.tokens} for one in found)


def share(found: Sequence[Sequence[Hypothesis]], others: Sequence[Sequence[Hypothesis]]) -> float:
    """Of the lists of outputs that are the same."""
    texts, other_texts = ([[one.tokens for one in row] for row in rows] for rows in (found, others))
    return sum(one == other for one, other in zip(texts, other_texts, strict=True)) / len(texts)


@each_kind
def test_an_exported_model_gives_the_same_log_probs(kind: str, tmp_path: Path) -> None:
    model = model_of(kind)
    translator = exported(model, kind, tmp_path)
    sources, targets = some_sources(20, seed=3), some_sources(20, seed=4)
    named = [[[*map(str, row)] for row in rows] for rows in ([[*source, END] for source in sources], targets)]
    for ours, theirs in zip(score_all(model, sources, targets), translator.score_batch(*named), strict=True):
        assert theirs.log_probs == pytest.approx(ours, abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        *(("pre", changes) for changes in ({"n_best": 5}, {"beam": 1}, {"method": "greedy"}, {"length_penalty": 0.0})),
        ("pre", {"beam": 3, "length_penalty": 2.0}),
        ("turned in groups", {"n_best": 5}),
    ],
)
def test_outputs_are_the_same_in_float32(kind: str, changes: dict[str, object], tmp_path: Path) -> None:
    """At least 98 % of the lists, of a model that is often unsure: PAD may hold a place of their beam for a while."""
    model, sources = learned(kind), some_sources(300, seed=1001)
    how = Decoding.model_validate({"beam": 5, **changes})
    theirs = searched(exported(model, kind, tmp_path), sources, how)
    both = list(zip(sources, decode_all(model, sources, how), theirs, strict=True))
    both = [each for each in both if keeps_our_rules(each[2], how.longest_output(len(each[0])))]
    assert len(both) >= 0.8 * len(sources)
    own, found = [ours for _, ours, _ in both], [theirs for _, _, theirs in both]
    assert share(found, own) >= 0.98
    for ours, theirs in chain.from_iterable(map(zip, own, found)):
        if ours.tokens == theirs.tokens:
            assert theirs.score == pytest.approx(ours.score, abs=1e-3)
            assert theirs.log_prob == pytest.approx(ours.log_prob, abs=5e-3)
            assert theirs.finished is ours.finished


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
            "'scaled_dot'; use it with `regard translate`",
        ),
        (
            {"normalizer": "sparsemax"},
            "model.normalizer = 'sparsemax': CTranslate2 cannot run such a model, only those "
            "with 'softmax'; use it with `regard translate`",
        ),
        (
            {"position": "relative"},
            "model.position = 'relative': CTranslate2 cannot run such a model, only those with "
            "'sinusoidal' or 'learned' or 'rotary' or 'none'; use it with `regard translate`",
        ),
        (
            {"window": 3},
            "model.window = 3: CTranslate2 cannot run such a model, only those with 0; use it with `regard translate`",
        ),
        (
            {"encoder": {"kind": "window"}},
            "[model.encoder]: CTranslate2 cannot run such a model, only those without this table; use it with "
            "`regard translate`",
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


@pytest.mark.long
def test_rotary_positions_have_no_end(tmp_path: Path) -> None:
    """More of them than a table would have."""
    model, source, target = model_of("turned"), [[5, 6, 7] * 1400], [[8, 9] * 2100]
    translator = exported(model, "turned", tmp_path)
    named = [[[*map(str, row)] for row in rows] for rows in ([[*source[0], END]], target)]
    (theirs,) = translator.score_batch(*named, max_input_length=0)
    (ours,) = score_all(model, source, target)
    assert theirs.log_probs == pytest.approx(ours, abs=1e-3)
