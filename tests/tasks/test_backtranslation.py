"""Back-translation: however it is stopped, the file ends in the same bytes, and nothing half passes for whole."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.data.pair_files import PairFiles
from regard.errors import DataError, UsageError
from regard.recipe import Decoding
from regard.tasks import Translation
from regard.tasks import backtranslation as room
from regard.tasks.backtranslation import BackTranslation, Counts


class Mirror:
    """Writes a text backwards, if `seen` with the number its piece begins with; breaks off when it has been asked
    `patience` times."""

    def __init__(self, patience: int = 99, seen: bool = False) -> None:
        self.recipe, self.model = SimpleNamespace(decode=Decoding(method="sample")), nn.Linear(1, 1)
        nn.init.ones_(self.model.weight)
        nn.init.zeros_(self.model.bias)
        self.patience, self.seen, self.first = patience, seen, 0

    def counting_from(self, first: int) -> "Mirror":
        self.first = first
        return self

    def translate(self, texts: Sequence[str], *, decoding: Decoding) -> list[Translation]:
        self.patience -= 1
        if self.patience < 0:
            raise KeyboardInterrupt
        return [self._translated(text) for text in texts]

    def _translated(self, text: str) -> Translation:
        def output(written: str, finished: bool = True, others: tuple[Translation, ...] = ()) -> Translation:
            return Translation(text, written, 0.0, 0.0, finished, (), others, translator=self)  # type: ignore[arg-type]

        if text.startswith("nothing"):
            return output(" \n")
        if text.startswith("endless"):
            return output("la la la", finished=False)
        if text.startswith("both"):
            return output("first", others=(output("second"),))
        return output(text[::-1] + (f" {self.first}" if self.seen else ""))


def task(folder: Path, lines: Sequence[str], mirror: Mirror | None = None, **options: Any) -> BackTranslation:
    text = folder / "text.en"
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return BackTranslation(mirror or Mirror(), text, folder / "pairs.tsv", **options)  # type: ignore[arg-type]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"text.en"}


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LINES_AT_ONCE", 2)


texts = st.lists(
    st.sampled_from(["a b", "über", "", " ", "nothing", "endless", "both", "with\ttab", "x"]), min_size=1, max_size=9
).map(lambda lines: [*lines, "end"])


@given(texts, st.lists(st.integers(0, 3), max_size=3), st.sampled_from(["", "<bt>"]))
def test_stopped_and_resumed_it_ends_in_the_same_bytes(lines: list[str], stops: list[int], tag: str) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        through = task(Path(one), lines, Mirror(seen=True), tag=tag)
        counts = through.run()
        for patience in stops:
            begun = task(Path(other), lines, Mirror(patience, seen=True), tag=tag)
            if not begun.out.exists():
                try:
                    begun.run(resume=bool(names(Path(other))))
                except KeyboardInterrupt:
                    assert not begun.out.exists()
        ended = task(Path(other), lines, Mirror(seen=True), tag=tag)
        if not ended.out.exists():
            assert ended.run(resume=bool(names(Path(other)))) == counts
        assert ended.out.read_bytes() == through.out.read_bytes()
        assert names(Path(other)) == names(Path(one)) == {"pairs.tsv"}


def test_every_output_worth_learning_from_is_a_pair_that_can_be_read(tmp_path: Path) -> None:
    lines = ["ab cd", "", "nothing here", "endless", "both ways", "with\ttab", " \t "]
    counts = task(tmp_path, lines, tag="<bt>").run()
    assert counts == Counts(lines=7, pairs=4, blank=2, empty=1, cut=1, tabs=1)
    pairs = [(record.source, record.target) for record in PairFiles([str(tmp_path / "pairs.tsv")])]
    assert pairs == [
        ("<bt> dc ba", "ab cd"),
        ("<bt> first", "both ways"),
        ("<bt> second", "both ways"),
        ("<bt> bat htiw", "with tab"),
    ]


def test_equal_lines_of_different_pieces_are_numbered_on(tmp_path: Path) -> None:
    task(tmp_path, ["a"] * 4, Mirror(seen=True)).run()
    sources = [record.source for record in PairFiles([str(tmp_path / "pairs.tsv")])]
    assert sources == ["a 0", "a 0", "a 2", "a 2"]  # within a piece it is the place that tells them apart


def test_what_a_kill_left_behind_the_last_piece_is_done_again(tmp_path: Path) -> None:
    lines = ["one", "two", "three", "four", "five"]
    with pytest.raises(KeyboardInterrupt):
        task(tmp_path, lines, Mirror(patience=1)).run()
    assert names(tmp_path) == {".pairs.tsv.unfinished", ".pairs.tsv.progress"}
    with open(tmp_path / ".pairs.tsv.unfinished", "ab") as file:
        file.write(b"eer")
    assert task(tmp_path, lines).run(resume=True).pairs == 5
    assert (tmp_path / "pairs.tsv").read_text().split("\n")[1:3] == ["owt\ttwo", "eerht\tthree"]


def test_progress_is_told_by_lines(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    task(tmp_path, ["a", "b", "", "c", "d"]).run(on_progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 5), (4, 5), (5, 5)]


def begun(folder: Path) -> list[str]:
    lines = ["one", "two", "three"]
    with pytest.raises(KeyboardInterrupt):
        task(folder, lines, Mirror(patience=1)).run()
    return lines


def test_only_the_same_text_model_and_tag_go_on(tmp_path: Path) -> None:
    lines = begun(tmp_path)
    other = Mirror()
    nn.init.zeros_(other.model.weight)
    pairs, progress = tmp_path / "pairs.tsv", tmp_path / ".pairs.tsv.progress"
    remedy = f"bring the old back, or delete {progress} to start over"
    numbered_on = {"decoding": Decoding(method="sample", seed=2)}
    for mirror, options in ((other, {}), (Mirror(), {"tag": "<bt>"}), (Mirror(), numbered_on)):
        with pytest.raises(UsageError) as refusal:
            task(tmp_path, lines, mirror, **options).run(resume=True)
        assert str(refusal.value) == f"{pairs}: was begun with another model, its settings or the tag; {remedy}"
    with pytest.raises(UsageError) as refusal:
        task(tmp_path, ["uno", *lines[1:]]).run(resume=True)
    assert str(refusal.value) == f"{pairs}: was begun with another text; {remedy}"
    assert task(tmp_path, lines).run(resume=True).pairs == 3


def test_it_goes_on_where_weights_are_held_in_another_format_meanwhile(tmp_path: Path) -> None:
    mirror, lines = Mirror(), begun(tmp_path)
    going_on = task(tmp_path, lines, mirror)
    mirror.model.to(torch.bfloat16)
    with pytest.raises(UsageError, match="another model"):
        task(tmp_path, lines, mirror).run(resume=True)
    assert going_on.run(resume=True).lines == len(lines)


def test_nothing_was_begun(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pairs\.tsv: nothing was begun here, so --resume has nothing to go on with"):
        task(tmp_path, ["one"]).run(resume=True)
    assert not names(tmp_path)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    lines, pairs = begun(tmp_path), tmp_path / "pairs.tsv"
    with pytest.raises(UsageError) as refusal:
        task(tmp_path, lines).run()
    progress = tmp_path / ".pairs.tsv.progress"
    assert (
        str(refusal.value) == f"{pairs}: was begun before and is not finished; go on by --resume, or delete {progress}"
    )
    progress.write_text("{}")
    with pytest.raises(UsageError, match=r"\.pairs\.tsv\.progress: is damaged; delete it to start over"):
        task(tmp_path, lines).run(resume=True)
    progress.unlink()
    assert task(tmp_path, lines).run().pairs == 3
    with pytest.raises(UsageError, match="there is such a file already; delete it, or choose another name"):
        task(tmp_path, lines).run(resume=True)


def test_a_text_that_gives_nothing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing in its 3 lines became a pair; is this a model that reads them\?"):
        task(tmp_path, ["nothing", "endless", ""]).run()
    assert names(tmp_path) == set()


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pairs\.txt: pairs are written as tab-separated values; choose a name that"):
        BackTranslation(Mirror(), tmp_path / "text", tmp_path / "pairs.txt")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="tag 'b t' must be one word without white space, such as <bt>"):
        task(tmp_path, ["a"], tag="b t")
    nowhere = BackTranslation(Mirror(), tmp_path / "text.en", tmp_path / "no" / "pairs.tsv")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no: no such folder; make it first, or write the pairs elsewhere"):
        nowhere.run()


def test_a_full_disk_keeps_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = begun(tmp_path)

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(room, "replace_file", full)
        with pytest.raises(UsageError) as refusal:
            task(tmp_path, lines).run(resume=True)
    assert str(refusal.value) == (
        f"{tmp_path / 'pairs.tsv'}: cannot be written: No space left on device; make room, or write elsewhere; "
        "what was done before is safe, and --resume goes on with it"
    )
    assert task(tmp_path, lines).run(resume=True).pairs == 3


def test_broken_text_is_refused_before_anything_is_translated(tmp_path: Path) -> None:
    asked = task(tmp_path, ["a", "b"], Mirror(patience=0))
    asked.text.write_bytes(b"a\nb\xff\n")
    with pytest.raises(DataError, match=r"text\.en:2: byte 0xff at byte 2 of the line: not valid UTF-8"):
        asked.run()
    assert names(tmp_path) == set()
