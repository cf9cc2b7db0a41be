"""What the page asks for, and what it is answered."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from importlib.resources import files
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.types import ASGIApp, Receive, Scope, Send

from diffgan.archive import Archive
from diffgan.archive.export.png import encode_png
from diffgan.errors import ArchiveError, DiffganError, UsageError
from diffgan.labelling.answers import cluster_members, cluster_page, items, standing
from diffgan.labelling.catalogue import Order
from diffgan.labelling.cover import Cover
from diffgan.labelling.gate import Gate, Rules
from diffgan.labelling.office import Office
from diffgan.labelling.people import annotator_name

_FILES = files("diffgan.labelling") / "page"
_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_NEVER_CHANGES = "private, max-age=31536000, immutable"


def _as_name(text: str) -> str:
    try:
        return annotator_name(text)
    except UsageError as error:
        raise ValueError(str(error)) from None


Name = Annotated[str, AfterValidator(_as_name)]
TriggerId = Annotated[str, Field(pattern="^[0-9a-fA-F]{16}$")]
Label = int | Literal["invalid"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    annotator: Name
    #: Names this saying: under the same name again, it is answered and not done a second time.
    saying: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class LabelBody(_Body):
    """One label for some triggers."""

    ids: Annotated[list[TriggerId], Field(min_length=1, max_length=1000)]
    label: Label


class SkipBody(_Body):
    """A trigger to put off."""

    id: TriggerId


class UndoBody(_Body):
    """Whose latest step to take back."""


def create_app(office: Office, cover: Cover, rules: Rules) -> ASGIApp:
    """The page as an ASGI application, behind its gate."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _add_errors(app)
    _add_files(app)
    _add_looking(app, office, cover)
    _add_saying(app, office)
    return Gate(_OfThisRun(app, _identity(office, cover), cover.run), rules)


def _identity(office: Office, cover: Cover) -> str:
    """Tells a run from others, wherever it is moved to: by its beginning, and what it found first."""
    return hashlib.sha256(f"{cover.begun}/{office.desk.catalogue.hex_id(0)}".encode()).hexdigest()[:16]


class _OfThisRun:
    """Refuses what a page says that was opened for another run, at this address before."""

    def __init__(self, app: ASGIApp, identity: str, run: str) -> None:
        self._app, self._identity = app, identity.encode()
        self._told = (
            f"The run {run} is labelled here now, and this page is of another one: close it, or start diffgan "
            "label on its run again, at this address."
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = [value for key, value in scope.get("headers", []) if key == b"x-run"]
        app = self._app if named in ([], [self._identity]) else JSONResponse({"error": self._told}, 409)
        await app(scope, receive, send)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(DiffganError)
    async def _told(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, 503 if isinstance(error, ArchiveError) else 400)

    @app.exception_handler(RequestValidationError)
    async def _misread(_: Request, error: Exception) -> Response:
        first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
        where = ".".join(str(part) for part in first.get("loc", ())[1:])
        return JSONResponse({"error": f"{where}: {first.get('msg', 'it does not fit')}"}, 422)


def _add_files(app: FastAPI) -> None:
    contents = {entry.name: entry.read_bytes() for entry in _FILES.iterdir() if entry.name.rpartition(".")[2] in _KINDS}

    def answer(name: str) -> Response:
        kind = f"{_KINDS[name.rpartition('.')[2]]}; charset=utf-8"
        return Response(contents[name], media_type=kind, headers={"cache-control": "no-cache"})

    @app.get("/")
    async def page() -> Response:
        return answer("index.html")

    @app.get("/page/{name}")
    async def part(name: str) -> Response:
        return answer(name) if name in contents else Response("There is no such file.", 404)


def _add_looking(app: FastAPI, office: Office, cover: Cover) -> None:
    desk = office.desk

    @app.get("/api/run")
    async def run() -> Response:
        about = {name: value for name, value in asdict(cover).items() if name != "begun"}
        facts = {**about, "classes": office.facts.classes, "image": asdict(office.facts.image)}
        return _json({**facts, "identity": _identity(office, cover), "annotators": desk.annotators()})

    @app.get("/api/next")
    async def upcoming(
        annotator: Annotated[Name, Query()],
        order: Order = Order.SPREAD,
        cluster: int | None = None,
        count: Annotated[int, Query(ge=0, le=64)] = 24,
    ) -> Response:
        def look(archive: Archive) -> dict[str, Any]:
            rows = desk.upcoming(annotator, order, count=count, cluster=cluster)
            return {"items": items(office.desk, archive, annotator, rows), "tally": asdict(desk.tally(annotator))}

        return _json(await office.read(look))

    @app.get("/api/clusters")
    async def clusters(
        annotator: Annotated[Name, Query()],
        start: Annotated[int, Query(ge=0)] = 0,
        count: Annotated[int, Query(ge=1, le=200)] = 60,
    ) -> Response:
        return _json(cluster_page(office.desk, annotator, start, count))

    @app.get("/api/clusters/{cluster}")
    async def members(cluster: int, annotator: Annotated[Name, Query()]) -> Response:
        return _json(cluster_members(desk, annotator, cluster))

    @app.get("/api/neighbour")
    async def neighbour(annotator: Annotated[Name, Query()], cluster: int, forward: bool) -> Response:
        return _json({"cluster": desk.neighbour(annotator, cluster, forward=forward)})

    @app.get("/api/annotator")
    async def annotator(name: Annotated[Name, Query()]) -> Response:
        return _json({"name": name})

    @app.get("/api/triggers/{hex_digits}")
    async def trigger(hex_digits: str, annotator: Annotated[Name, Query()]) -> Response:
        row = desk.catalogue.find(hex_digits)
        return _json((await office.read(lambda archive: items(office.desk, archive, annotator, [row])))[0])

    @app.get("/images/{hex_digits}.png")
    async def image(hex_digits: str) -> Response:
        number = desk.catalogue.find(hex_digits) + 1
        content = await office.read(lambda archive: encode_png(archive.images_at([number])[0]))
        return Response(content, media_type="image/png", headers={"cache-control": _NEVER_CHANGES})


def _add_saying(app: FastAPI, office: Office) -> None:
    desk = office.desk

    @app.post("/api/labels")
    async def label(body: LabelBody) -> Response:
        said = None if body.label == "invalid" else body.label
        await office.write(lambda archive: desk.label(archive, body.annotator, body.ids, said), saying=body.saying)
        return _json(standing(office.desk, body.annotator, [desk.catalogue.find(body.ids[0])]))

    @app.post("/api/skip")
    async def skip(body: SkipBody) -> Response:
        await office.write(lambda _: desk.skip(body.annotator, body.id), saying=body.saying)
        return _json(standing(office.desk, body.annotator, [desk.catalogue.find(body.id)]))

    @app.post("/api/undo")
    async def undo(body: UndoBody) -> Response:
        undone = await office.write(lambda archive: desk.undo(archive, body.annotator), saying=body.saying)
        if undone is None:
            return _json({"undone": None, **standing(office.desk, body.annotator, [])})
        shown = await office.read(lambda archive: items(office.desk, archive, body.annotator, undone.rows[:1]))
        ids = [desk.catalogue.hex_id(row) for row in undone.rows]
        facts = {"item": shown[0], "ids": ids, "skipped": undone.was_skip}
        return _json({"undone": facts, **standing(office.desk, body.annotator, undone.rows)})


def _json(content: Any) -> Response:
    return JSONResponse(content, headers={"cache-control": "no-store"})
