"""The ladder: every kind of language model on the same text, each within the same time, in one table.

The folder of a ladder holds a folder for each rung, with its model and `result.json`; `ladder.json`, `ladder.md` and
`ladder.png` are rewritten after each rung. Rungs that have a result are not repeated.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint import ModelFolder
from regard.data.text import Text
from regard.disk import parse_json, replace_file
from regard.errors import UsageError, one_of
from regard.recipe import LanguageRecipe, Recipe
from regard.study.caching import Caches, best_cache
from regard.study.rungs import RUNGS, Settings, rung_recipe
from regard.tasks import load_writer
from regard.tasks.writer import Writer
from regard.train import Ended, Event, Started, Step, reporting, run
from regard.train.starting import FREE, check_same_run

RESULT = "result.json"

CACHES = Caches((200, 1000), (0.1, 0.3, 1.0), (0.1, 0.25))
"""The caches that are tried on the development text."""
MAY_DIFFER = tuple(setting for setting in FREE if setting != "train.minutes" and not setting.startswith("data."))
"""Settings that may change when a ladder is resumed: those of any run, except the time of a rung and the text, since
the results in the table must be comparable."""
TRIAL_ROWS = 10
"""Rows in which the development text is read for each trial."""


@dataclass(frozen=True)
class Result:
    """The result of a rung."""

    rung: str
    idea: str
    against: str
    """The rung that it is compared with, if that is on the ladder."""
    parameters: int
    """Of an n-gram model, its probabilities and back-off weights."""
    seconds: float
    """Of training, validation included."""
    tokens_per_second: float
    """While it trained."""
    perplexity: float
    """Per token of the test text."""
    signature: str
    ended: str
    """Why training ended, as text."""
    added: float | None = None
    """Change of perplexity in percent against that rung."""
    reason: str = ""
    """The limit that ended training; empty for rungs that are not trained."""


class Ladder:
    """Rungs on a text, in a folder. `text` is the settings of `[data]` and `[tokens]`; every rung is trained for
    `minutes` at most."""

    def __init__(
        self, text: Settings, rungs: Sequence[str], out: Path, *, minutes: float, changes: Sequence[str] = ()
    ) -> None:
        self.rungs, self.out = _chosen(rungs), out
        lacking = [split for split in ("dev", "test") if not text.get(f"data.{split}")]
        if lacking and text.get("data.corpus", "files") == "files":
            named = " and ".join(f"--{split} FILE" for split in lacking)
            raise UsageError(f"a ladder needs development and test text; name it with {named}")
        self._told: set[str] = set()
        # All recipes are built now, so that errors in them are raised before any is trained.
        self.recipes = {
            name: rung_recipe(name, text, minutes, list(changes)) for name in self.rungs if RUNGS[name].trained
        }

    def climb(self, say: Callable[[str], None] = print, *, resume: bool = False) -> Ended | None:
        """Trains and scores the rungs that have no result yet; returns the end of the training that was stopped, if
        any. An existing ladder continues only with `resume`."""
        self._refuse_other_folder(resume)
        for place, name in enumerate(self.rungs, start=1):
            where = f"{name} ({place} of {len(self.rungs)})"
            if self._record(name):
                self._refuse_others(name)
                say(f"{where}: done before")
                continue
            say(f"{where}: {RUNGS[name].idea}")
            if not RUNGS[name].trained:
                self._put_on_top(name, say)
            elif (stopped := self._train(name)) is not None:
                return stopped
            say(f"{where}: perplexity {self._record(name)['perplexity']:.2f}")
            self.write()
        self.write()
        return None

    def results(self) -> list[Result]:
        """The results of all finished rungs, in the order of the ladder, each with what it added."""
        done = {name: record for name in self.rungs if (record := self._record(name))}
        found = []
        for name, record in done.items():
            below = done.get(RUNGS[name].against)
            added = None if below is None else 100 * (record["perplexity"] / below["perplexity"] - 1)
            against = RUNGS[name].against if below else ""
            found.append(Result(rung=name, idea=RUNGS[name].idea, against=against, added=added, **record))
        return found

    def write(self) -> None:
        """The table as JSON and as Markdown, and the picture."""
        from regard.study.ladder_report import draw, markdown

        results = self.results()
        if not results:
            return
        content = {"rungs": [asdict(result) for result in results], "recipes": self._recipes()}
        try:
            _save(self.out / "ladder.json", content)
            replace_file(self.out / "ladder.md", markdown(results).encode())
            draw(results, self.out / "ladder.png")
        except OSError as error:
            raise UsageError(f"{self.out}: cannot be written: {error.strerror}; choose another --out") from None

    def _refuse_other_folder(self, resume: bool) -> None:
        """Refuses a folder with other files, or with a ladder that is not to be resumed."""
        for path in (self.out, *self.out.parents):
            if path.exists() and not path.is_dir():
                raise UsageError(f"{path}: is a file, but a ladder needs a folder; choose another --out")
        inside = {path.name for path in self.out.iterdir()} if self.out.exists() else set()
        # The folder of a model has a "cache" of its own, which is not the rung.
        if inside and ("recipe.toml" in inside or not inside & set(RUNGS)):
            raise UsageError(f"{self.out}: there are other files in this folder; choose another --out")
        if inside and not resume:
            raise UsageError(
                f"{self.out}: there is a ladder here already; "
                "go on with it by --resume, choose another --out, or delete the folder"
            )

    def _refuse_others(self, name: str) -> None:
        """Refuses a rung trained with other settings, which does not belong in the same table."""
        if name in self.recipes:
            folder = ModelFolder(self.out / name)
            check_same_run(folder.read_recipe(Recipe), self.recipes[name], folder.path, MAY_DIFFER)

    def _train(self, name: str) -> Ended | None:
        """Trains a rung, or resumes it, and scores it; returns the end of its training if it was stopped."""
        recipe, folder = self.recipes[name], self.out / name
        pace = _Pace()
        with reporting(recipe, folder, told=self._told) as tell:

            def listen(event: Event) -> None:
                pace.add(event)
                tell(event)

            ended = run(recipe, folder, resume=True, reporter=listen)
        if ended.reason == "interrupted":
            return ended
        writer = load_writer(folder, device=recipe.train.device)
        # A counted model reads the text once.
        speed = pace.tokens_per_second or _training_tokens(recipe, writer) / max(ended.seconds, 1e-9)
        self._note(name, writer, pace.parameters, ended.seconds, speed, ended.message, ended.reason)
        return None

    def _put_on_top(self, name: str, say: Callable[[str], None]) -> None:
        """Scores another rung's model with the cache that suits the development text best."""
        below = RUNGS[name].against
        plain = load_writer(self.out / below, device=self.recipes[below].train.device)
        size, theta, share = best_cache(plain, Text("dev", plain.recipe.data), CACHES, rows=TRIAL_ROWS)
        say(f"{name}: {size} words, theta = {theta:g}, share = {share:g} suit the development text best")
        record = self._record(below)
        writer = plain.with_cache(size, theta, share)
        self._note(name, writer, record["parameters"], 0.0, 0.0, f"on top of {below}, without training")

    def _note(
        self,
        name: str,
        writer: Writer,
        parameters: int,
        seconds: float,
        tokens_per_second: float,
        ended: str,
        reason: str = "",
    ) -> None:
        scored = writer.score_text(Text("test", writer.recipe.data)).scores[0]
        record = {
            "parameters": parameters,
            "seconds": seconds,
            "tokens_per_second": tokens_per_second,
            "perplexity": scored.value,
            "signature": scored.signature,
            "ended": ended,
            "reason": reason,
        }
        (self.out / name).mkdir(parents=True, exist_ok=True)
        _save(self.out / name / RESULT, record)

    def _record(self, name: str) -> dict[str, Any]:
        """The saved result of a rung; empty if it is not done."""
        path = self.out / name / RESULT
        try:
            found: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: cannot be read ({error}); delete it, and the rung is scored again") from None
        return found

    def _recipes(self) -> dict[str, Any]:
        return {name: recipe.model_dump(exclude_none=True) for name, recipe in self.recipes.items()}


class _Pace:
    """The size and speed of a rung, from the events of its training."""

    def __init__(self) -> None:
        self.parameters, self._tokens, self._seconds = 0, 0, 0.0
        self._begun: float | None = None

    def add(self, event: Event) -> None:
        if isinstance(event, Started):
            self.parameters, self._begun = event.parameters, None
        if isinstance(event, Step):
            now = event.seconds - event.aside
            # The start time of the first step after a start or a resume is unknown.
            if self._begun is not None:
                self._tokens, self._seconds = self._tokens + event.count, now - self._begun
            else:
                self._begun = now

    @property
    def tokens_per_second(self) -> float:
        return self._tokens / self._seconds if self._seconds else 0.0


def _chosen(rungs: Sequence[str]) -> list[str]:
    """The named rungs, in the order of the ladder."""
    for name in rungs:
        if name not in RUNGS:
            raise UsageError(f"--rungs: {name!r} is not a rung; rungs are {one_of(RUNGS, name)}")
    for name in rungs:
        if not RUNGS[name].trained and RUNGS[name].against not in rungs:
            raise UsageError(f"--rungs: {name!r} is put on top of {RUNGS[name].against!r}; name that too")
    return [name for name in RUNGS if name in rungs]


def _training_tokens(recipe: LanguageRecipe, writer: Writer) -> int:
    text = Text("train", recipe.data)
    return sum(map(len, writer.tokenizer.encode_all(list(text)))) + text.found["lines"]


def _save(path: Path, content: Any) -> None:
    replace_file(path, json.dumps(content, ensure_ascii=False, indent=2).encode() + b"\n")
