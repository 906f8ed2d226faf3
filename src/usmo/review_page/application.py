"""The addresses of the page and what they do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from usmo.report.page import templates
from usmo.review_page.access import Access, Hosts
from usmo.review_page.desk import Answer, Desk
from usmo.review_page.guard import NO_SESSION, Guard
from usmo.review_page.report import report_page
from usmo.review_page.requests import Fields, RequestRefused

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_IMPORTS = "/api/known"


def application(desk: Desk, access: Access, hosts: Hosts, *, address: str) -> ASGIApp:
    """The page of a review as an ASGI application; ``address`` is what a token is appended to."""
    static = _static_files()
    page = templates("usmo.review_page").get_template("page.html").render(
        source=PurePath(desk.source).name, whole=desk.cards.sheet.frame is not None, remote=hosts.remote
    )  # fmt: skip

    async def front(request: Request) -> Response:
        token = request.query_params.get("token")
        if token is None:
            return HTMLResponse(page)
        session = access.exchange(token) if request.method == "GET" else None
        if session is None:
            return PlainTextResponse(NO_SESSION, 401)
        # a page, not a redirect: the cookie is not sent with a redirect from another site
        answer = HTMLResponse(templates("usmo.review_page").get_template("entry.html").render())
        answer.set_cookie(guard.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    async def static_file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in static:
            raise HTTPException(404)
        return Response(static[name], media_type=_TYPES[PurePath(name).suffix])

    async def share(request: Request) -> Response:
        Fields.of_json(await request.body())
        return JSONResponse({"address": address + access.token()})

    async def export(request: Request) -> Response:
        data, name, media = await run_in_threadpool(desk.file, Fields(request.query_params))
        return Response(data, media_type=media, headers=_attached(name))

    async def report(request: Request) -> Response:
        text = await run_in_threadpool(report_page, desk)
        return Response(text, media_type="text/html", headers=_attached("review.html"))

    routes = [
        Route("/", front),
        Route("/static/{name}", static_file),
        Route("/export", export),
        Route("/report", report),
        Route("/api/share", share, methods=["POST"]),
        Route("/api/next", _query(desk.next)),
        Route("/api/rows", _query(desk.rows)),
        Route("/api/rows/{row:int}", _of_row(desk.row)),
        Route("/api/rows/{row:int}/why", _of_row(desk.why)),
        Route("/api/progress", _query(desk.progress)),
        Route("/api/decisions", _change(desk.decide), methods=["POST"]),
        Route("/api/undo", _change(desk.undo), methods=["POST"]),
        Route(_IMPORTS, _change(desk.add_known), methods=["POST"]),
        Route("/api/criteria", _query(lambda _fields: desk.criteria())),
        Route("/api/criteria", _change(desk.set_criteria), methods=["POST"]),
    ]
    handlers: dict[Any, Any] = {RequestRefused: _refused, HTTPException: _http_error, sqlite3.Error: _not_saved}
    guard = Guard(Starlette(routes=routes, exception_handlers=handlers), access, hosts, _IMPORTS)
    return guard


def _static_files() -> dict[str, bytes]:
    """The files of the page by name: those of this package, and the report's style sheet, which it builds on."""
    folder = files("usmo.review_page").joinpath("static")
    own = {one.name: one.read_bytes() for one in folder.iterdir() if PurePath(one.name).suffix in _TYPES}
    return own | {"report.css": files("usmo.report").joinpath("style.css").read_bytes()}


def _query(work: Callable[[Fields], Answer]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(work, Fields(request.query_params)))

    return endpoint


def _of_row(work: Callable[[int], Answer]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(work, request.path_params["row"]))

    return endpoint


def _change(work: Callable[[Fields], Answer]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        fields = Fields.of_json(await request.body())
        return JSONResponse(await run_in_threadpool(work, fields))

    return endpoint


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    return JSONResponse({"error": str(error), **error.more}, error.status)


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _not_saved(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"the file of the review cannot be used ({error}); nothing is recorded"}, 503)
