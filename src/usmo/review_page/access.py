"""Who may use the page: one-time tokens in an address, exchanged for a session that a cookie holds."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import socket
import threading
from collections import OrderedDict

_MOST = 100
"""Tokens not yet used, and sessions; older ones are forgotten."""


class Access:
    """Tokens that were given out and sessions that are open, as digests: the values themselves are not kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: OrderedDict[bytes, None] = OrderedDict()
        self._sessions: OrderedDict[bytes, None] = OrderedDict()

    def token(self) -> str:
        """A new token, good for one exchange."""
        return self._new(self._tokens)

    def exchange(self, token: str) -> str | None:
        """The session for a token; None if the token is unknown or was used before."""
        with self._lock:
            if self._tokens.pop(_digest(token), _digest) is _digest:
                return None
        return self._new(self._sessions)

    def knows(self, session: str) -> bool:
        with self._lock:
            return _digest(session) in self._sessions

    def _new(self, kept: OrderedDict[bytes, None]) -> str:
        value = secrets.token_urlsafe(32)
        with self._lock:
            kept[_digest(value)] = None
            while len(kept) > _MOST:
                kept.popitem(last=False)
        return value


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server on this host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bracketed(host: str) -> str:
    """A host as an address writes it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


class Hosts:
    """The values of the Host header that belong to this server.

    A page elsewhere can let a name of its own point at this machine; the browser then sends that name. So names are
    refused, except localhost and, for a server that others may reach, the name of this machine.
    """

    def __init__(self, port: int, *, remote: bool = False) -> None:
        self.port, self.remote = port, remote
        self._names = {"localhost"} | (
            {socket.gethostname().lower(), socket.getfqdn().lower()} if remote else set()
        )

    def accepts(self, header: str) -> bool:
        """Whether a Host header names this server."""
        name, port = _parts(header.lower())
        if port != self.port:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return self.remote or address.is_loopback

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Whether an Origin header is that of the page at this Host."""
        return origin.lower() == f"http://{host.lower()}"


def _parts(header: str) -> tuple[str, int]:
    """Name and port of a Host header; port -1 if it is malformed."""
    name, colon, port = header.rpartition(":")
    if not colon or header.endswith("]"):
        name, port = header, "80"
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    elif ":" in name:
        return "", -1
    return name, int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else -1
