"""Captured steps: what is captured, replayed and copied about gives what the same steps give one by one.

Graphs need a CUDA device; everything around them is tested anywhere, with work that is done again in place of graphs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from decoding_toys import SmallGenerator, TableGenerator, UniformGenerator, decoding_by, random_table, repeating
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY
from torch import Tensor

from regard.attention import cache, kv_memory
from regard.attention.kv_memory import KvMemory, allocate
from regard.decode import Hypothesis, Session, captured, decode_all, session
from regard.decode.captured import (
    FAILURES,
    CapturedStepping,
    KvBuffers,
    rebuilt,
    signature_of,
    tensors_of,
    why_not,
)
from regard.decode.stepping import Stepping
from regard.errors import ModelError
from regard.graphs import Work
from regard.models import Ensemble, Generator, build_model
from regard.recipe import Decoding
from regard.tap import record
from regard.tokens.vocabulary import END

CPU = torch.device("cpu")
SOURCES = [[4, 5, 6, 4], [], [6, 6], [5, 4, 4], [6], [4, 4, 5, 5, 6], [5] * 18]
KINDS = [
    "transformer-scaled_dot-sinusoidal",
    "transformer-scaled_dot-relative",
    "transformer-additive-sinusoidal",
    "recurrent-none-before",
    "recurrent-additive-before",
    "recurrent-dot-feed",
]
few = settings(max_examples=max(3, settings().max_examples // 10))
METHODS = [("beam", 4, 3), ("greedy", 1, 1), ("sample", 1, 2)]


def model_of(name: str) -> Generator:
    torch.manual_seed(len(name))
    if name == "ensemble":
        return Ensemble([model_of(KINDS[0]), model_of(KINDS[4])]).eval()
    return build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval()


def how_of(method: str, beam: int, n_best: int, **changes: object) -> Decoding:
    limits = {"longest_factor": 1.0, "longest_extra": 3, "batch_tokens": 64}
    return decoding_by(method, beam, n_best=n_best, **{**limits, **changes})


def grow_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches grow as on a CUDA device, and soon."""
    extended = kv_memory.Parts.extended

    def expecting_little(held: kv_memory.Parts, end: int, expected: int, *rest: Any) -> kv_memory.Parts:
        return extended(held, end, 3, *rest)

    monkeypatch.setattr(cache, "grows_in_parts", lambda tensor: True)
    monkeypatch.setattr(kv_memory, "PART", 2)
    monkeypatch.setattr(kv_memory.Parts, "extended", expecting_little)


def tokens_of(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in found]


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "name", [KINDS[0], *KINDS[3:], *(pytest.param(name, marks=pytest.mark.long) for name in (*KINDS[1:3], "ensemble"))]
)
@pytest.mark.parametrize(("method", "beam", "n_best"), METHODS)
@pytest.mark.parametrize("parts", [False, True])
def test_captured_is_uncaptured_bit_for_bit_and_again(
    name: str, method: str, beam: int, n_best: int, parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_memory, "ROOM", 4)  # so that caches grow
    if parts:
        grow_in_parts(monkeypatch)
    model, how, captured = model_of(name), how_of(method, beam, n_best), repeating()
    uncaptured = decode_all(model, SOURCES, how, stepping=CapturedStepping(CPU, None, every=3))
    assert decode_all(model, SOURCES, how, stepping=captured) == uncaptured
    graphs = captured.count
    assert graphs > 0
    assert decode_all(model, SOURCES, how, stepping=captured) == uncaptured
    assert captured.count == graphs


@pytest.mark.long
@pytest.mark.parametrize(("method", "beam", "n_best"), METHODS)
@few
@given(seed=st.integers(0, 999), every=st.integers(1, 5), least=st.integers(0, 3), no_repeat=st.integers(0, 2))
def test_shapes_and_when_the_host_looks_change_nothing(
    method: str, beam: int, n_best: int, seed: int, every: int, least: int, no_repeat: int
) -> None:
    torch.manual_seed(seed)
    model = SmallGenerator(31).double()
    how = how_of(method, beam, n_best, least=least, no_repeat=no_repeat)
    usual = decode_all(model, SOURCES, how, stepping=Stepping(CPU))
    for stepping in (CapturedStepping(CPU, None, every), repeating(every=every)):
        found = decode_all(model, SOURCES, how, stepping=stepping)
        assert tokens_of(found) == tokens_of(usual)
        scores = [one.score for row in usual for one in row]
        assert [one.score for row in found for one in row] == pytest.approx(scores, abs=1e-5)
        assert [one.finished for row in found for one in row] == [one.finished for row in usual for one in row]


@pytest.mark.spread(4)
@pytest.mark.parametrize("longest", [0, 1, 4])
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_searches_begin_with_a_row_for_each_and_go_on_with_one_for_each_place(longest: int, beam: int) -> None:
    sources = [[4], [4, 5, 6], [5, 5]]  # which are filled up to four
    how = how_of("beam", beam, beam, longest_factor=0.0, longest_extra=longest)
    usual = decode_all(TableGenerator(random_table(1, 7)), sources, how, stepping=Stepping(CPU))
    for stepping in (CapturedStepping(CPU, None, 2), repeating(2)):
        model = TableGenerator(random_table(1, 7))
        for _ in range(2):
            found = decode_all(model, sources, how, stepping=stepping)
            assert tokens_of(found) == tokens_of(usual)
            scores = [one.score for row in usual for one in row]
            assert [one.score for row in found for one in row] == pytest.approx(scores, abs=1e-5)
        assert model.rows_advanced[0] == 4
        # Shapes of 2 and 1 searches come when others are over; a step is tried and captured before it is replayed.
        assert set(model.rows_advanced) <= {4, 4 * beam, 2 * beam, beam}
        assert (4 * beam in model.rows_advanced) == (longest > 0 or beam == 1)


def test_each_kind_of_work_is_tried_aside_once_before_it_is_captured() -> None:
    captured: list[int] = []

    def warm_up(work: Work) -> None:
        captured.append(stepping.count)
        work()

    stepping = repeating(warm_up=warm_up)
    for name, shape in (("negative", 2), ("negative", 2), ("negative", 3), ("root", 2), ("root", 3)):
        function = torch.neg if name == "negative" else torch.sqrt
        assert torch.equal(stepping(name, function, torch.full((shape,), 4.0)), function(torch.full((shape,), 4.0)))
    assert (captured, stepping.count) == ([0, 2], 4)


def test_steps_with_a_row_for_each_search_and_with_all_places_are_both_tried() -> None:
    """Each has kernels of its own, which must not be made while they are captured."""
    model, tried = model_of(KINDS[0]), list[int]()

    def warm_up(work: Work) -> None:
        with record(model, "decoder.output") as seen:
            work()
        tried.extend(len(features) for features in seen["decoder.output"])

    stepping = repeating(warm_up=warm_up)
    decode_all(model, SOURCES, how_of("beam", 3, 1), stepping=stepping)
    assert len(tried) == 2
    assert tried[1] == 3 * tried[0]


def test_shapes_are_few() -> None:
    stepping = CapturedStepping(CPU, None)
    assert [stepping.width(tokens) for tokens in (1, 16, 17)] == [16, 16, 32]
    assert [stepping.room(positions) for positions in (1, 32, 33)] == [16, 32, 48]
    assert [stepping.fit(rows, 500, 2) for rows in (1, 3, 128, 200)] == [1, 2, 128, 128]
    assert [stepping.rows(searches) for searches in (1, 3, 128, 200)] == [1, 4, 128, 256]
    assert [stepping.smaller(128, left) for left in (128, 33, 32, 1)] == [128, 128, 32, 32]
    plain = Stepping(CPU)
    assert (plain.width(17), plain.room(33), plain.rows(3)) == (17, 33, 3)
    assert [plain.fit(*each) for each in ((3, 500, 1), (99, 64, 1), (99, 1000, 2), (9, 0, 1))] == [3, 64, 99, 1]
    assert [plain.fit(999, sources, 1) for sources in (97, 128, 129, 1000)] == [97, 128, 65, 125]
    # Two batches for each of two workers, where one of them would have the longest of all.
    assert [plain.fit(999, sources, 2) for sources in (96, 128, 129, 300, 1000)] == [48, 64, 33, 75, 125]
    assert [plain.smaller(16, left) for left in (16, 15, 14, 1)] == [16, 16, 14, 1]


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_what_is_no_number_is_found_later_and_said_alike(method: str) -> None:
    table = torch.zeros(1, 6, 6, 6)
    table[..., END] = -9.0
    table[0, 4:, 4:, 5] = torch.nan
    table[0, :, 2, 4] = table[0, 2, 4, 4] = 30.0
    how = how_of(method, 2 if method == "beam" else 1, 1, longest_extra=9)
    with pytest.raises(ModelError, match=r"^example 0, position 2: the model's output is NaN"):
        decode_all(TableGenerator(table), [[4], [4, 4], [5]], how, stepping=repeating(every=5))


def test_where_capturing_fails_steps_are_done_one_by_one() -> None:
    model, how = model_of(KINDS[0]), how_of("beam", 3, 2)
    stepping = repeating(refused="operation not permitted when stream is capturing\nand much more")
    usual = decode_all(model, SOURCES, how, stepping=Stepping(CPU))
    assert tokens_of(decode_all(model, SOURCES, how, stepping=stepping)) == tokens_of(usual)
    assert stepping.failures == FAILURES
    assert stepping.reason == "operation not permitted when stream is capturing"


@pytest.mark.long
@pytest.mark.parametrize(("method", "beam", "n_best"), METHODS)
@pytest.mark.parametrize("early", [False, True])
def test_after_a_capture_that_failed_what_follows_is_captured_as_if_it_had_not(
    method: str, beam: int, n_best: int, early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow_in_parts(monkeypatch)
    model, how = model_of(KINDS[0]), how_of(method, beam, n_best, batch_tokens=10_000)
    usual = decode_all(model, SOURCES, how, stepping=CapturedStepping(CPU, None, every=3))
    failing, other = repeating(refused="not now", refusals=1, early=early), repeating()
    assert decode_all(model, SOURCES, how, stepping=failing) == decode_all(model, SOURCES, how, stepping=other) == usual
    graphs = failing.count
    assert decode_all(model, SOURCES, how, stepping=failing) == usual
    assert failing.failures == 1
    assert failing.count == other.count == graphs + 1  # of what could not be captured before
    assert memory_of(failing) == memory_of(other)


def memory_of(stepping: CapturedStepping) -> int:
    """Bytes that are held for what graphs read and write."""
    buffers = *stepping.memory.values(), *stepping._kv_buffers._by_address.values()
    held = (tensor.untyped_storage() for tensor in buffers)
    return sum(map(len, {storage.data_ptr(): storage for storage in held}.values()))


def test_why_steps_are_not_captured() -> None:
    cuda, how, penalized = torch.device("cuda"), Decoding(), Decoding(coverage_penalty=0.1)
    assert why_not(how, CPU, forced=False, watched=False) == "cpu has no CUDA graphs"
    assert why_not(penalized, cuda, forced=False, watched=False) == "the coverage penalty reads attention weights"
    assert why_not(how, cuda, forced=True, watched=False) == "outputs begin with forced tokens"
    assert why_not(how, cuda, forced=False, watched=True) == "a tap is watched"
    terms = "forced terms are searched for on the host"
    assert why_not(how, cuda, forced=False, watched=False, terms=True) == terms
    assert why_not(how, cuda, forced=False, watched=False) is None


def test_one_line_says_why_steps_on_a_cuda_device_are_not_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    model, penalized = TableGenerator(random_table(1, 6)), Decoding(coverage_penalty=0.1)
    eager = "decoding steps are executed eagerly, not as captured CUDA graphs: "
    held = Session(model)
    assert held.why_eager(penalized) is None
    monkeypatch.setattr(Session, "device", torch.device("cuda"))
    assert held.why_eager(Decoding()) is None
    because = held.why_eager(penalized)
    assert because == eager + "the coverage penalty reads attention weights"
    because = held.why_eager(Decoding(), terms=True)
    assert because == eager + "forced terms are searched for on the host"
    with record(model, "weights"):
        assert held.why_eager(Decoding()) == eager + "a tap is watched"


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_that_capturing_failed_is_said_when_it_has(monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    class Refusing:
        def __init__(self, device: torch.device) -> None:
            pass

        def __call__(self, work: Work) -> Work:
            raise RuntimeError("operation not permitted when stream is capturing\nand much more")

        def warm_up(self, work: Work) -> None:
            work()

    monkeypatch.setattr(session, "CudaGraphs", Refusing)
    monkeypatch.setattr(Session, "device", torch.device("cuda"))
    held, how = Session(model_of(KINDS[0])), how_of("greedy", 1, 1)
    with held._computing_in(precision) as writer:
        (stepping,) = held.steppings(writer, how, forced=False)
    for _ in range(FAILURES):
        assert held.why_eager(how) is None
        stepping("step", torch.neg, torch.ones(1))
    assert held.why_eager(how) == (
        "decoding steps are executed eagerly, not as captured CUDA graphs: "
        "operation not permitted when stream is capturing"
    )


def test_there_is_one_worker_where_somebody_looks_and_otherwise_as_many_as_threads() -> None:
    model = TableGenerator(random_table(1, 6))
    held = Session(model)
    torch.set_num_threads(2)
    assert [type(one) for one in held.steppings(model, Decoding(), forced=False)] == [Stepping] * 2
    assert len(held.steppings(model, Decoding(coverage_penalty=0.1), forced=False)) == 1
    with record(model, "weights"):
        assert len(held.steppings(model, Decoding(), forced=False)) == 1


@dataclass
class Pair:
    left: Tensor
    right: Any
    number: int = 3


def test_a_structure_is_rebuilt_from_its_tensors() -> None:
    inner = Pair(torch.zeros(2), None)
    structure = Pair(torch.ones(1), [inner, (torch.ones(3), 5), {"name": torch.ones(4)}])
    paths: dict[str, Tensor] = {}

    def seen(path: str, tensor: Tensor) -> Tensor:
        paths[path] = tensor
        return tensor + 1

    changed = rebuilt(structure, seen)
    assert list(paths) == [".left", ".right.0.left", ".right.1.0", ".right.2.name"]
    assert [tensor.tolist() for tensor in tensors_of(changed)] == [[2.0], [1.0] * 2, [2.0] * 3, [2.0] * 4]
    assert all(one is other for one, other in zip(paths.values(), tensors_of(structure), strict=True))
    assert changed.right[0] is not inner
    assert signature_of(changed) == signature_of(structure)
    for other in (
        Pair(torch.ones(2), structure.right),
        Pair(torch.ones(1, dtype=torch.double), structure.right),
        Pair(torch.ones(1), structure.right, 4),
        Pair(torch.ones(1), structure.right[:2]),
    ):
        assert signature_of(other) != signature_of(structure)


def test_all_shapes_of_a_thing_lie_in_the_same_memory() -> None:
    stepping = repeating()
    shapes = [4, 2, 3, 4, 2]
    found = [stepping("negative", torch.neg, torch.full((shape,), float(shape))) for shape in shapes]
    assert len({tensor.untyped_storage().data_ptr() for tensor in found}) == 1
    for shape in (*shapes, 5, *shapes):
        assert stepping("negative", torch.neg, torch.full((shape,), float(shape))).tolist() == [-float(shape)] * shape
    assert len({tensor.untyped_storage().data_ptr() for tensor in stepping.memory.values()}) == 2


@dataclass
class Cache(KvMemory):
    keys: Tensor
    values: Tensor


def keep(given: Tensor) -> Pair:
    """Allocated: the given values, twice, and their negatives; not allocated: the last field."""
    whole = allocate(given, len(given)).copy_(given)
    return Pair(given + 2, [Cache(whole, whole), Cache(allocate(given, len(given)).copy_(-given), given + 3)])


@pytest.fixture
def _tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory in pieces of two numbers or three, none of which is rounded up."""
    monkeypatch.setattr(captured, "ALIGNED", 1)
    monkeypatch.setattr(captured, "PIECE", 12)


@pytest.mark.usefixtures("_tight")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_what_is_kept_stays_where_it_is_made_in_memory_that_serves_all_shapes(shapes: list[int]) -> None:
    stepping = repeating()
    for number, shape in enumerate(shapes):
        pair = stepping("keep", keep, torch.full((shape,), float(number)))
        first, second = pair.right
        assert len({tensor.data_ptr() for tensor in (first.keys, first.values, second.keys)}) == 3
        for tensor, value in ((first.keys, number), (first.values, number), (second.keys, -number)):
            assert tensor.tolist() == [value] * shape
    largest = max(shapes)
    before = {tensor.untyped_storage().data_ptr() for tensor in stepping.memory.values()}
    for shape in range(1, largest + 1):
        stepping("keep", keep, torch.ones(shape))
    assert {tensor.untyped_storage().data_ptr() for tensor in stepping.memory.values()} == before


@pytest.mark.usefixtures("_tight")
def test_what_grows_is_not_written_over_what_it_grows_from() -> None:
    def grow(cache: Cache) -> Cache:
        wider = allocate(cache.keys, 2 * len(cache.keys))
        wider[: len(cache.keys)], wider[len(cache.keys) :] = cache.keys + 1, cache.keys
        return Cache(wider, cache.values)

    stepping = repeating()
    for _ in range(2):
        cache = Cache(torch.tensor([1.0]), torch.zeros(1))
        for _ in range(3):
            cache = stepping("grow", grow, cache)
        assert cache.keys.tolist() == [4.0, 3.0, 3.0, 2.0, 3.0, 2.0, 2.0, 1.0]


def test_buffers_that_grow_get_the_size_they_need_and_not_the_measured_one() -> None:
    buffers, like = KvBuffers(), torch.zeros(1)
    measure = buffers.measuring("grow")
    for size in (2000, 3000):
        assert measure(like, size).numel() == size
    allocate = buffers.of("grow", None)
    first, second = allocate(like, 2000), allocate(like, 3000)
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()  # in one piece
    more = buffers.of("grow", [first, second])
    assert [more(like, 500).numel(), more(like, 600).numel()] == [500, 600]
    # Buffers that are no longer in use are reused whole.
    assert buffers.of("grow", None)(like, 500).data_ptr() == first.data_ptr()
    assert buffers.of("grow", None)(like, 500).numel() == first.numel() >= 2000


def test_before_it_is_captured_work_is_tried_with_copies_of_all_but_what_is_kept() -> None:
    seen: list[Pair] = []

    def look(pair: Pair) -> Pair:
        seen.append(pair)
        return pair

    pair = repeating()("look", look, Pair(torch.ones(2), Cache(torch.ones(3), torch.ones(3))))
    tried, captured_ = seen[0], seen[1]
    assert tried.left.data_ptr() != captured_.left.data_ptr() == pair.left.data_ptr()
    assert tried.right.keys is captured_.right.keys is pair.right.keys


def views(pair: Pair) -> Pair:
    """Each becomes a part of the other."""
    assert isinstance(pair.right, Tensor)
    return Pair(pair.right[:2], pair.left.repeat(2))


def test_views_of_what_is_written_over_are_read_before() -> None:
    stepping = repeating()
    pair = Pair(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0, 6.0]))
    pair = stepping("swap", views, pair)
    pair = stepping("swap", views, pair)
    assert pair.left.tolist() == [1.0, 2.0]
    assert pair.right.tolist() == [3.0, 4.0, 3.0, 4.0]


gpu = pytest.mark.gpu
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@gpu
@needs_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", [KINDS[0], KINDS[4]])
@pytest.mark.parametrize(("method", "beam", "n_best"), METHODS)
def test_graphs_give_the_bits_of_steps_one_by_one(
    name: str, method: str, beam: int, n_best: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow_in_parts(monkeypatch)
    if dtype == torch.bfloat16 and "recurrent" in name:
        pytest.skip("tried with Transformers alone")
    model, how = model_of(name).to("cuda", dtype), how_of(method, beam, n_best, longest_factor=2.0)
    device, held = torch.device("cuda"), Session(model)
    (captured,) = held.steppings(model, how, forced=False)
    assert isinstance(captured, CapturedStepping)
    uncaptured = decode_all(model, SOURCES, how, stepping=CapturedStepping(device, None))
    for _ in range(2):
        assert decode_all(held, SOURCES, how) == uncaptured
    assert held.steppings(model, how, forced=False)[0] is captured
    assert captured.count > 0
    assert captured.reason == ""


@gpu
@needs_cuda
def test_other_weights_at_the_same_place_are_read_and_at_another_captured_anew() -> None:
    model, how, device = model_of(KINDS[0]).cuda(), how_of("beam", 3, 1), torch.device("cuda")

    def uncaptured() -> list[list[Hypothesis]]:
        return decode_all(model, SOURCES, how, stepping=CapturedStepping(device, None))

    held = Session(model)
    before = decode_all(held, SOURCES, how)
    (first,) = held.steppings(model, how, forced=False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    assert decode_all(held, SOURCES, how) == uncaptured() != before
    assert held.steppings(model, how, forced=False)[0] is first
    replaced: Callable[[Tensor], Tensor] = lambda tensor: tensor.clone()  # noqa: E731
    model._apply(replaced)
    assert decode_all(held, SOURCES, how) == uncaptured()
    assert held.steppings(model, how, forced=False)[0] is not first


def test_steps_with_other_kernels_are_made_ready_for_capturing_apart() -> None:
    names: list[str] = []

    class Telling(Stepping):
        def __call__(self, name: str, function: Callable[[Any], Any], given: Any) -> Any:
            names.append(name)
            return super().__call__(name, function, given)

    decode_all(UniformGenerator(9), [[4]], how_of("beam", 2, 1, no_repeat=2, least=4), stepping=Telling(CPU))
    assert names == ["begin", "first step", "step", *["step by rules"] * 3]


@gpu
@needs_cuda
def test_graphs_of_steps_by_rules_are_made_at_the_first_attempt() -> None:
    """Their kernels are not those of the steps before them, and none can be compiled while something is captured."""
    device = torch.device("cuda")
    # A beam that no other test has: its kernels are not there yet.
    model, how = model_of(KINDS[0]).to(device), how_of("beam", 7, 3, no_repeat=2, least=4)
    held = Session(model)
    found = decode_all(held, SOURCES, how)
    assert [stepping.reason for stepping in held.steppings(model, how, forced=False)] == [""]
    assert found == decode_all(model, SOURCES, how, stepping=CapturedStepping(device, None))
