"""Workers: everything is done once, by several threads, and what goes wrong in one of them is said."""

import threading
from time import sleep

import pytest
import torch
from decoding_toys import SmallGenerator

from regard.decode import decode_all
from regard.decode.workers import THREADS, each_done, workers_on
from regard.recipe import Decoding

CPU = torch.device("cpu")


@pytest.fixture
def two_threads() -> None:
    torch.set_num_threads(2)


@pytest.mark.usefixtures("two_threads")
def test_each_job_is_done_once_by_several_workers() -> None:
    seen: set[tuple[int, int, int]] = set()

    def square(worker: int, number: int) -> int:
        sleep(0.01)  # so that the other worker comes to its turn
        seen.add((worker, threading.get_ident(), torch.get_num_threads()))
        return number * number

    assert sorted(each_done(square, range(9), 2)) == [(number, number * number) for number in range(9)]
    assert {worker for worker, _, _ in seen} == {0, 1}
    assert len({thread for _, thread, _ in seen}) == 2
    assert {threads for _, _, threads in seen} == {1}
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("workers", "jobs"), [(1, 3), (2, 1), (2, 0)])
def test_one_worker_or_one_job_needs_no_thread(workers: int, jobs: int) -> None:
    idents = [made for _, made in each_done(lambda *_: threading.get_ident(), range(jobs), workers)]
    assert idents == [threading.get_ident()] * jobs


@pytest.mark.usefixtures("two_threads")
def test_what_goes_wrong_is_raised_and_the_rest_is_not_begun() -> None:
    begun: list[int] = []

    def fail(worker: int, number: int) -> None:
        begun.append(number)
        sleep(0.02)
        raise ValueError(f"job {number}")

    with pytest.raises(ValueError, match="job"):
        list(each_done(fail, range(50), 2))
    assert len(begun) < 10
    assert torch.get_num_threads() == 2


def test_a_cpu_has_as_many_workers_as_threads_but_not_too_many() -> None:
    torch.set_num_threads(3)
    assert workers_on(CPU) == 3
    torch.set_num_threads(THREADS + 1)
    assert workers_on(CPU) == THREADS
    assert workers_on(torch.device("mps")) == workers_on(torch.device("cuda")) == 1


@pytest.mark.usefixtures("two_threads")
def test_outputs_do_not_depend_on_the_number_of_workers() -> None:
    model = SmallGenerator(31, dropout=0.5).double().train()
    sources = [[4 + (number + place) % 20 for place in range(number % 7)] for number in range(30)]
    how, done = Decoding(beam=3, n_best=2, longest_extra=4, batch_tokens=32), []
    together = decode_all(model, sources, how, on_progress=lambda *counts: done.append(counts))
    torch.set_num_threads(1)
    alone = decode_all(model, sources, how)
    assert [[one.tokens for one in row] for row in together] == [[one.tokens for one in row] for row in alone]
    assert done[-1] == (30, 30)
    assert model.dropout.training
