"""The explorer as one file that works from disk: the page's requests for some texts are made beforehand, and the
responses are embedded."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI

from regard.errors import UsageError
from regard.inspect import Inspection
from regard.inspect.page import Recording
from regard.tasks.trained import Trained
from regard.web.app import create_app

BEAM = 5
"""The page's default."""
KEPT = ("probabilities", "surprisals", "candidates", "alignment")
"""Arrays that views need."""
ALTERED = ("probabilities", "candidates")
"""The arrays of a changed model that the tour shows."""


class Recorder:
    """Makes the page's requests and records the responses. `show` selects arrays of inspections by a pattern."""

    def __init__(
        self, models: Mapping[str, Trained], folders: Mapping[str, str], show: str | None, head: int | None
    ) -> None:
        self.app = create_app(models, folders=folders)
        self.show, self.head = show, head
        self.cards = asked(self.app, "GET", "/api/models")["models"]
        self.recording = Recording([])

    def record(
        self, texts: Sequence[str], on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Recording:
        """Records every model on every text; without texts, on its own examples."""
        pairs = [(card, text) for card in self.cards for text in texts or card["examples"]]
        for card in self.cards:
            own = [text for each, text in pairs if each is card]
            if not own:
                raise UsageError(f"{card['name']} has no examples of its own; give texts with --example")
            self.recording.models.append(card | {"examples": own, "recorded": {"only": False}})
        for done, (card, text) in enumerate(pairs):
            on_progress(done, len(pairs))
            self._view(card, text)
        return self.recording

    def _view(self, card: Mapping[str, Any], text: str) -> None:
        """One text in every view."""
        into = {"into": card["languages"][0]} if card["languages"] else {}
        texts = [text]
        if card["writes"]:
            searched = {"text": text, "beam": BEAM, **into}
            outputs = self._ask(card, "translate", searched)
            texts.append(outputs["outputs"][0]["text"])
            self.recording.add("translate", card["name"], searched, outputs)
            self._search(card, searched, into)
        seen = self._inspection(card, "inspect", {"texts": texts, **into}, self._chosen)
        for layer in card["tours"]:
            self._tour(card, layer, {"texts": texts, **into})
        if card["explains"]:
            self._reasons(card, seen, {"texts": texts, **into})

    def _search(self, card: Mapping[str, Any], searched: Mapping[str, Any], into: Mapping[str, Any]) -> None:
        """The tree, and the alternatives at each of its places."""
        tree = self._inspection(card, "tree", searched)
        parents, texts = tree["parents"].values.astype(int), tree["scores"].texts
        assert texts is not None
        for before in sorted({str(texts[parent]) if parent > 0 else "" for parent in parents}):
            self._inspection(card, "alternatives", {"text": searched["text"], "prefix": before, **into})

    def _tour(self, card: Mapping[str, Any], layer: str, about: Mapping[str, Any]) -> None:
        """The attention steps, and each output under changes of the followed head."""
        steps = self._inspection(card, "steps", {**about, "layer": layer})
        weights = steps["weights"].values
        words = [place for place, word in enumerate(steps.words["source"]) if word is not None]
        head = int(weights[:, :, words].max(-1).sum(-1).argmax())
        for place, row in enumerate(weights[head]):
            elsewhere = {"kind": "SetWeight", "query": place, "key": int(row.argmax() == 0), "value": 1}
            tried = [[elsewhere | {"tap": layer, "head": head}]]
            tried += [[elsewhere | {"tap": layer}]] if len(weights) > 1 else []
            tried += [[elsewhere | {"tap": tap} for tap in card["tours"]]] if len(card["tours"]) > 1 else []
            for changes in tried:
                self._inspection(card, "inspect", {**about, "changes": changes}, lambda seen: _only(seen, ALTERED))

    def _reasons(self, card: Mapping[str, Any], seen: Inspection, about: Mapping[str, Any]) -> None:
        """Attributions of every output, and whether its attention explains it."""
        norms = self._inspection(card, "reasons", about)
        axis, places = next(iter(norms.values())).axes[0], len(next(iter(norms.values())).values)
        layers = [place["tap"] for place in card["places"] if "Uniform" in place["kinds"] and place["tap"] in seen]
        own = [tap for tap in layers if [name for name in seen[tap].axes if name != "head"][:-1] in ([], [axis])]
        for place in range(places):
            self._inspection(card, "reasons", {**about, "place": place})
            for layer in (own or layers)[-1:]:
                self._inspection(card, "reasons", {**about, "place": place, "other_attention": True, "layer": layer})

    def _chosen(self, seen: Inspection) -> Inspection:
        if self.show is not None:
            seen = _only(seen, {*KEPT, *seen.matching(self.show)})
        return seen.only_head(self.head)

    def _inspection(
        self,
        card: Mapping[str, Any],
        verb: str,
        about: Mapping[str, Any],
        chosen: Callable[[Inspection], Inspection] = lambda seen: seen,
    ) -> Inspection:
        shown = self._ask(card, verb, about)
        found: Inspection = chosen(self.app.state.kept.found(shown["id"]))
        self.recording.add(verb, card["name"], about, found, shown["texts"], shown["python"])
        return found

    def _ask(self, card: Mapping[str, Any], verb: str, about: Mapping[str, Any]) -> Any:
        return asked(self.app, "POST", f"/api/models/{quote(card['name'])}/{verb}", about)


def _only(seen: Inspection, names: Sequence[str] | set[str]) -> Inspection:
    arrays = {name: array for name, array in seen.items() if name in names}
    return Inspection(
        arrays,
        seen.labels,
        title=seen.title,
        words=seen.words,
        shown=tuple(name for name in seen.shown if name in arrays),
        gold=seen.gold,
        note=seen.note,
    )


def asked(app: FastAPI, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """The answer of the API, without a server."""
    content = b"" if body is None else json.dumps(body).encode()
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    with ThreadPoolExecutor(1) as thread:  # this thread may have a running event loop, as in a notebook
        thread.submit(asyncio.run, app(scope, receive, send)).result()
    answer = json.loads(b"".join(message.get("body", b"") for message in sent))
    if sent[0]["status"] != 200:
        raise UsageError(answer["error"])
    return answer
