"""The API of the explorer, and the files of its page.

A request says all that its answer depends on, changes inside the model included, so that simultaneous visitors never
disturb each other. Models compute in worker threads, one request at a time for each model.
"""

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Field
from starlette.exceptions import HTTPException

from regard import __version__
from regard.errors import RegardError, UsageError, one_of
from regard.inspect import Inspection, attributions, gradient_norms
from regard.inspect.changes import changed_outputs
from regard.inspect.faithful import faithfulness
from regard.inspect.page import DERIVED, EXPLORER
from regard.inspect.shown import shown
from regard.inspect.words import map_inspection, neighbors_inspection
from regard.tasks.trained import Searching, Trained
from regard.vectors import Vectors
from regard.vectors.mapping import available, word_map
from regard.web.explored import Explored
from regard.web.guard import Guard, hosts_of
from regard.web.kept import Kept, NotFoundError
from regard.web.messages import (
    Asked,
    AskedBeginning,
    AskedMap,
    AskedNeighbors,
    AskedReason,
    AskedSteps,
    AskedText,
    AskedToken,
    AskedTranslation,
    Failed,
    Models,
    Output,
    Outputs,
    Shown,
)
from regard.web.numbers import numbers

KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
REFUSALS: dict[int | str, dict[str, Any]] = {status: {"model": Failed} for status in (400, 403, 404, 413, 421, 422)}
BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}
MOST_OUTPUTS = 128
"""Most positions whose gradients are computed within a request."""


def create_app(
    models: Mapping[str, Trained | Vectors], *, folders: Mapping[str, str] | None = None, hosts: Collection[str] = ()
) -> FastAPI:
    """The explorer of models by name. `folders` are where they were loaded from, for the programs that the page shows;
    `hosts` the allowed `Host` headers, by default those of this machine."""
    app = FastAPI(
        title="Regard explorer",
        description="What a trained model attends to and computes, and what happens when that is changed.",
        version=__version__,
        docs_url=None,  # its page would load scripts from a CDN
        redoc_url=None,
        responses=REFUSALS,
    )
    app.add_middleware(Guard, hosts=hosts or hosts_of("127.0.0.1"))
    explored = {name: Explored(name, (folders or {}).get(name, name), each) for name, each in models.items()}
    app.state.kept = kept = Kept()
    _ask_models(app, explored, kept)
    _ask_translators(app, explored, kept)
    _ask_readers(app, explored, kept)
    _ask_vectors(app, explored, kept)
    _fetch_inspections(app, kept)
    _serve_page(app)
    _explain_refusals(app)
    return app


def _ask_models(app: FastAPI, explored: Mapping[str, Explored], kept: Kept) -> None:
    """Routes for any model; each request carries all changes inside the model."""

    @app.get("/api/models")
    def list_models() -> Models:
        """The models, and the taps of each that can be changed."""
        cards = [each.card() for each in explored.values()]
        return Models(version=__version__, models=cards, projections=available())

    @app.post("/api/models/{model}/inspect")
    def inspect(model: str, asked: Asked) -> Shown:
        """An inspection of a model while it reads a text, or writes one given another."""
        chosen = _model_of(explored, model)
        changes, texts = asked.made(), list(asked.texts)
        told = chosen.into(asked.into)
        if isinstance(told, Searching) and len(texts) == 1:
            translator = chosen.translator(texts[0], "", asked.into)
            with chosen.computing(changes):
                texts.append(translator.translate(texts)[0].text)

        def make() -> Inspection:
            with chosen.computing(changes):
                found: Inspection = told.inspect(*texts)
                return found

        name, found = kept.put(f"inspect {model} {asked.into} {texts!r} {changes!r}", make)
        call = f"inspect({', '.join(map(repr, texts))})"
        return _told(name, found, texts, chosen.program(call, changes, into=asked.into))

    @app.post("/api/models/{model}/reasons")
    def reasons(model: str, asked: AskedReason) -> Shown:
        """Explains an output: what each position of the input adds to its probability (`attributions`). Without a
        place, the gradient norms of all outputs at each position (`gradient_norms`); with `other_attention`, whether
        other weights leave the output unchanged (`faithfulness`)."""
        chosen, changes = _model_of(explored, model), asked.made()
        if asked.place is None and asked.other_attention:
            raise UsageError("place: other attention is asked about for one output; say which")
        if asked.other_attention and changes:
            raise UsageError("changes: other attention is searched for in the model as it is; leave the changes out")

        def make() -> Inspection:
            with chosen.computing():
                outputs = changed_outputs(chosen.outputs(asked.texts, asked.into), changes)
                if len(outputs) > MOST_OUTPUTS or any(len(labels) > MOST_OUTPUTS for labels in outputs.labels.values()):
                    raise UsageError(f"gradients of over {MOST_OUTPUTS} positions take too long; give a shorter text")
                if asked.place is None:
                    return gradient_norms(outputs)
                if asked.other_attention:
                    return faithfulness(outputs, asked.place, layer=asked.layer, head=asked.head)
                return attributions(outputs, asked.place)

        name, found = kept.put(f"reasons {model} {asked.model_dump_json()}", make)
        return _told(name, found, asked.texts, _reason_as_python(chosen, asked))


def _reason_as_python(chosen: Explored, asked: AskedReason) -> str:
    changes = asked.made()
    given = ["changed_outputs(outputs, changes)" if changes else "outputs"]
    given += [] if asked.place is None else [str(asked.place)]
    call, home = ("gradient_norms" if asked.place is None else "attributions"), "regard.inspect"
    if asked.other_attention:
        call, home = "faithfulness", "regard.inspect.faithful"
        options = {"layer": asked.layer, "head": asked.head}
        given += [f"{name}={value!r}" for name, value in options.items() if value is not None]
    texts = ", ".join(map(repr, asked.texts))
    after = ["changes = [", *(f"    {change!r}," for change in changes), "]"] if changes else []
    after.append(f"seen = {call}({', '.join(given)})")
    used: dict[str, set[str]] = {home: {call}}
    if changes:
        used.setdefault("regard.inspect", set()).update({"changed_outputs", *(type(each).__name__ for each in changes)})
    return chosen.program(f"outputs({texts})", into=asked.into, name="outputs", after=after, used=used)


def _ask_translators(app: FastAPI, explored: Mapping[str, Explored], kept: Kept) -> None:
    """Routes for translators: how they search."""

    @app.post("/api/models/{model}/translate")
    def translate(model: str, asked: AskedTranslation) -> Outputs:
        """The best translations of a text, as many as the beam is wide."""
        chosen = _model_of(explored, model)
        translator = chosen.translator(asked.text, asked.prefix, asked.into)
        prefixes = [asked.prefix] if asked.prefix else None
        with chosen.computing(asked.made()):
            (best,) = translator.translate([asked.text], beam=asked.beam, n_best=asked.beam, prefixes=prefixes)
        outputs = [
            Output(text=one.text, score=one.score, probability=float(np.exp(one.log_prob)), finished=one.finished)
            for one in (best, *best.others)
        ]
        return Outputs(outputs=outputs)

    @app.post("/api/models/{model}/tree")
    def tree(model: str, asked: AskedTranslation) -> Shown:
        """All hypotheses that a beam search keeps, as a tree (`Translator.search_tree`)."""
        chosen = _model_of(explored, model)
        translator, changes = chosen.translator(asked.text, asked.prefix, asked.into), asked.made()

        def make() -> Inspection:
            with chosen.computing(changes):
                return translator.search_tree(asked.text, beam=asked.beam, prefix=asked.prefix)

        name, found = kept.put(f"tree {model} {asked.model_dump_json()}", make)
        prefix = f", prefix={asked.prefix!r}" if asked.prefix else ""
        call = f"search_tree({asked.text!r}, beam={asked.beam}{prefix})"
        return _told(name, found, [asked.text], chosen.program(call, changes, into=asked.into))

    @app.post("/api/models/{model}/steps")
    def steps(model: str, asked: AskedSteps) -> Shown:
        """One attention to the source step by step (`Translator.attention_steps`)."""
        chosen, changes, texts = _model_of(explored, model), asked.made(), list(asked.texts)
        follower = chosen.follower(texts, asked.into)

        def make() -> Inspection:
            with chosen.computing(changes):
                return follower.attention_steps(*texts, layer=asked.layer)

        name, found = kept.put(f"steps {model} {asked.model_dump_json()}", make)
        given = ", ".join([*map(repr, texts), *([f"layer={asked.layer!r}"] if asked.layer else [])])
        program = chosen.program(f"attention_steps({given})", changes, into=asked.into)
        return _told(name, found, texts, program)

    @app.post("/api/models/{model}/alternatives")
    def alternatives(model: str, asked: AskedBeginning) -> Shown:
        """The likeliest next tokens after the beginning of a translation (`Translator.alternatives`)."""
        chosen = _model_of(explored, model)
        translator, changes = chosen.translator(asked.text, asked.prefix, asked.into), asked.made()

        def make() -> Inspection:
            with chosen.computing(changes):
                return translator.alternatives(asked.text, asked.prefix)

        name, found = kept.put(f"alternatives {model} {asked.model_dump_json()}", make)
        call = f"alternatives({asked.text!r}, {asked.prefix!r})"
        return _told(name, found, [asked.text], chosen.program(call, changes, into=asked.into))


def _ask_readers(app: FastAPI, explored: Mapping[str, Explored], kept: Kept) -> None:
    """Routes for language models: scoring a text and continuing it."""

    @app.post("/api/models/{model}/continue")
    def go_on(model: str, asked: AskedToken) -> Shown:
        """The likeliest next tokens of a text (`Writer.continuations`); `next` is the sampled one."""
        chosen, changes = _model_of(explored, model), asked.made()
        reader, decoding = chosen.reader(asked.into), {"method": "sample", "temperature": asked.temperature}
        given: dict[str, Any] = {"count": asked.count, "sample": asked.sample, "decoding": decoding}

        def make() -> Inspection:
            with chosen.computing(changes):
                return reader.continuations(asked.text, asked.written, **given)

        name, found = kept.put(f"continue {model} {asked.model_dump_json()}", make)
        named = ", ".join(f"{key}={value!r}" for key, value in given.items())
        call = f"continuations({asked.text!r}, {asked.written!r}, {named})"
        return _told(name, found, [asked.text], chosen.program(call, changes))

    @app.post("/api/models/{model}/score")
    def score(model: str, asked: AskedText) -> Shown:
        """How likely each token of a text is, however long (`Writer.score`)."""
        chosen, changes = _model_of(explored, model), asked.made()
        reader = chosen.reader(asked.into)

        def make() -> Inspection:
            with chosen.computing(changes):
                return reader.score(asked.text).inspection()

        name, found = kept.put(f"score {model} {asked.model_dump_json()}", make)
        return _told(name, found, [asked.text], chosen.program(f"score({asked.text!r}).inspection()", changes))


def _ask_vectors(app: FastAPI, explored: Mapping[str, Explored], kept: Kept) -> None:
    """Routes for word vectors, and for the embeddings of models."""

    @app.post("/api/models/{model}/map")
    def draw_map(model: str, asked: AskedMap) -> Shown:
        """Words as points of a plane (`word_map`), with the nearest of each."""
        chosen = _model_of(explored, model)
        which, vectors = chosen.vectors_named(asked.vectors)

        def make() -> Inspection:
            with chosen.lock:
                top = min(asked.top, len(vectors))
                found = word_map(vectors, asked.words, top=top, method=asked.projection, seed=asked.seed)
                return map_inspection(found, title=f"A map of {which}")

        name, found = kept.put(f"map {model} {asked.model_dump_json()}", make)
        settings = f"{asked.words!r}, top={asked.top}, method={asked.projection!r}, seed={asked.seed}"
        imported = "from regard.inspect import map_inspection", "from regard.vectors.mapping import word_map"
        program = chosen.program_of_vectors(which, f"map_inspection(word_map(vectors, {settings}))", *imported)
        return _told(name, found, [], program)

    @app.post("/api/models/{model}/neighbors")
    def neighbors(model: str, asked: AskedNeighbors) -> Shown:
        """The words nearest to the sum of some without others (`Vectors.most_similar`)."""
        chosen = _model_of(explored, model)
        which, vectors = chosen.vectors_named(asked.vectors)
        settings = {"top": asked.top, "method": asked.method}

        def make() -> Inspection:
            with chosen.lock:
                return neighbors_inspection(vectors, asked.positive, asked.negative, **settings)  # type: ignore[arg-type]

        name, found = kept.put(f"neighbors {model} {asked.model_dump_json()}", make)
        given = f"{asked.positive!r}, {asked.negative!r}, top={asked.top}, method={asked.method!r}"
        imported = "from regard.inspect import neighbors_inspection"
        program = chosen.program_of_vectors(which, f"neighbors_inspection(vectors, {given})", imported)
        return _told(name, found, [], program)


def _told(name: str, inspection: Inspection, texts: list[str], python: str) -> Shown:
    return Shown(**shown(name, inspection, texts, python))


def _model_of(explored: Mapping[str, Explored], name: str) -> Explored:
    if name not in explored:
        raise NotFoundError(f"there is no model {name!r}; there is {one_of(explored, name)}")
    return explored[name]


def _fetch_inspections(app: FastAPI, kept: Kept) -> None:
    """Routes for cached inspections."""
    drawing = Lock()

    @app.get("/api/inspections/{inspection}/derived/{kind}")
    def derived(inspection: str, kind: Literal["heads", "layers", "units"]) -> Shown:
        """Statistics of its heads (`head_statistics`), its layers combined (`over_layers`), or statistics over the
        units of its gates and states (`over_units`), as a separate inspection."""
        name, found = kept.put(f"{kind} {inspection}", partial(DERIVED[kind], kept.found(inspection)))
        function = DERIVED[kind].__name__
        return _told(name, found, [], f"from regard.inspect import {function}\n\nfound = {function}(seen)\n")

    @app.get("/api/inspections/{inspection}/array", response_class=Response, responses=BINARY)
    def array(
        inspection: str,
        name: Annotated[str, Query(max_length=200)],
        head: Annotated[Literal["all", "mean", "max"] | Annotated[int, Field(ge=0)], Query()] = "all",
        words: bool = False,
        exact: bool = False,
        most: Annotated[int, Query(ge=0, le=4096)] = 0,
    ) -> Response:
        """The numbers of an array. The headers say how to read them: `x-shape`, `x-type` (uint8, int8 or float32,
        little endian) and `x-largest`, the absolute value that the largest byte (255, or 127 if signed) stands for."""
        found = numbers(kept.found(inspection), name, head, words=words, exact=exact, most=most)
        return Response(found.body, media_type="application/octet-stream", headers=found.headers)

    @app.get("/api/inspections/{inspection}/file.{kind}", response_class=Response, responses=BINARY)
    def file(
        inspection: str,
        kind: Literal["svg", "png", "json", "html"],
        name: Annotated[str | None, Query(max_length=200)] = None,
        head: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """A picture, the page or the JSON of an inspection, as `Inspection.save` writes it."""
        found = kept.found(inspection)
        # One at a time, since matplotlib was not made for several threads.
        with drawing, TemporaryDirectory() as folder:
            path = Path(folder, f"look.{kind}")
            found.save(path, show=name, head=head)
            content = path.read_bytes()
        disposition = {"content-disposition": f'attachment; filename="look.{kind}"'}
        media_type = {"png": "image/png", "json": "application/json"}.get(kind) or KINDS[kind]
        return Response(content, media_type=media_type, headers=disposition)


def _serve_page(app: FastAPI) -> None:
    page = {path.name: path for path in EXPLORER.iterdir()}

    @app.get("/", include_in_schema=False)
    @app.get("/page/{name}", include_in_schema=False)
    def page_file(name: str = "index.html") -> Response:
        if name not in page:
            raise NotFoundError(f"the page has no file {name!r}")
        kind = KINDS[name.rpartition(".")[2]]
        return Response(page[name].read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})


def _explain_refusals(app: FastAPI) -> None:
    """Any invalid request gets a one-sentence error."""

    def answer(text: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
        # Lone surrogates cannot be encoded.
        return JSONResponse({"error": text.encode("utf-8", "replace").decode("utf-8")}, status, headers)

    def refused(request: Request, error: Exception) -> JSONResponse:
        return answer(str(error), 404 if isinstance(error, NotFoundError) else 400)

    def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        told = first["msg"]
        if first["type"] == "string_too_long":
            most = first["ctx"]["max_length"]
            told = f"{len(first['input']):,} characters are too many to look at; give at most {most:,}"
        return answer(f"{where}: {told}", 422)

    def unknown(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return answer(str(error.detail), error.status_code, error.headers)

    app.add_exception_handler(RegardError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, unknown)
