"""What every request must satisfy: its host, its origin, a session, a small body; and what every answer says.

The server listens on this machine, but every web page that the user visits can send requests to it. A page elsewhere
has another origin, no cookie (SameSite=Strict) and cannot send JSON without asking first; one that lets a name of its
own point at this machine sends that name as Host.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from usmo.review_page.access import Access, Hosts
from usmo.review_page.requests import LARGEST_BODY, LARGEST_IMPORT

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

NO_SESSION = (
    "No access. The address that usmo prints opens the page once; on an open page, Share makes another address. "
    "After a restart, open the address that usmo prints then."
)


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, access: Access, hosts: Hosts, imports: str) -> None:
        self.app, self.access, self.hosts = app, access, hosts
        self._imports = imports
        self.cookie = f"usmo-review-{hosts.port}"
        """Cookies do not know ports: two reviews on one machine need two names."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is served, got {scope['type']}")
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    own[name] = value
            await send(message)

        if refusal is not None:
            await refusal(scope, receive, answer)
        else:
            await self.app(scope, _limited(receive, self._limit(scope["path"])), answer)

    def _limit(self, path: str) -> int:
        return LARGEST_IMPORT if path == self._imports else LARGEST_BODY

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that goes no further."""
        host, path = headers.get("host", ""), scope["path"]
        reads = scope["method"] in ("GET", "HEAD")
        if len(headers.getlist("host")) != 1 or not self.hosts.accepts(host):
            return _refuse(421, "the Host header does not name this server")
        origin = headers.get("origin")
        if (origin is None and not reads) or (origin is not None and not self.hosts.is_own_origin(origin, host)):
            return _refuse(403, "the Origin header is not that of this page")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") and path != "/":
            return _refuse(403, "the request comes from another page")
        if path == "/" and reads and b"token=" in scope["query_string"]:
            return None  # the application exchanges the token
        if not self._has_session(headers):
            return PlainTextResponse(NO_SESSION, 401) if path == "/" else _refuse(401, NO_SESSION)
        if not reads and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _refuse(415, "changes are sent as application/json")
        limit, length = self._limit(path), headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 16):
            return _refuse(400, "the Content-Length header is not a number")
        return _refuse(413, _too_large(limit)) if int(length) > limit else None

    def _has_session(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and self.access.knows(cookie.value)


def _refuse(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status)


def _too_large(limit: int) -> str:
    return f"the request is larger than {limit:,} bytes"


def _limited(receive: Receive, limit: int) -> Receive:
    """``receive`` that raises as soon as more than ``limit`` bytes have come."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return limited
