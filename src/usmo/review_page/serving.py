"""The server: a socket on this machine, an address with a one-time token, uvicorn."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable

import uvicorn

from usmo.review_page.access import Access, Hosts, bracketed, is_loopback
from usmo.review_page.application import application
from usmo.review_page.desk import Desk

_SHUTDOWN_SECONDS = 2


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens on a host and port; port 0 is a free one. An error names both."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere the option lets two servers share a port
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        one.bind((host, port))
        one.listen(128)
    except OSError as error:
        one.close()
        raise ValueError(
            f"host {host!r}, port {port}: the server cannot listen there ({error.strerror})"
        ) from error
    return one


def serve(desk: Desk, listening: socket.socket, host: str, say: Callable[[str], None], *, browser: bool) -> None:
    """Serve the page until the process is interrupted. ``say`` gets the address."""
    port = int(listening.getsockname()[1])
    access, remote = Access(), not is_loopback(host)
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else host
    base = f"http://{bracketed(shown)}:{port}/?token="
    app = application(desk, access, Hosts(port, remote=remote), address=base)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, date_header=False, lifespan="off", ws="none",
        proxy_headers=False, timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )  # fmt: skip
    server = uvicorn.Server(config)
    address = base + access.token()
    say(address)
    if browser and _has_screen():
        threading.Thread(target=_open_when_started, args=(server, address), daemon=True).start()
    server.run(sockets=[listening])


def _has_screen() -> bool:
    """Whether a browser window can appear; without one, ``webbrowser`` would start a browser inside the terminal."""
    return not sys.platform.startswith("linux") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def _open_when_started(server: uvicorn.Server, address: str) -> None:
    for _ in range(100):
        if server.started:
            webbrowser.open(address)
            return
        time.sleep(0.1)
