"""Serving: takes the port, says where the page is, and goes on until it is stopped or its parent is gone."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn

from medbay.app import StoreLocation
from medbay.bay import Bay
from medbay.errors import NotAllowed, UsageError
from medbay.web.app import make

BACKLOG: Final = 128
STOP_WITHIN_S: Final = 2


def serve(place: StoreLocation, *, ready: Callable[[str], None], child: bool = False) -> None:
    """Serve a store until stopped; `ready` is called with the link that opens the page."""
    with Bay(place, create=False) as bay:
        token = bay.tokens.owner()
    listening = listen(place.config.web.host, place.config.web.port)
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        make(place, port=port),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_WITHIN_S,
        ws_max_size=65_536,
        proxy_headers=False,
    )
    server = PageServer(config)
    if child:
        threading.Thread(target=_until_orphaned, args=(server,), name="medbay-parent", daemon=True).start()
    ready(f"{address(place.config.web.host, port)}/#token={token}")
    server.run(sockets=[listening])


class PageServer(uvicorn.Server):
    """Ends in order when it is asked to, and that is no failure: the signal is not raised once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that ask for an end."""
        if threading.current_thread() is threading.main_thread():
            for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(each, self.handle_exit)
        yield


def listen(host: str, port: int) -> socket.socket:
    """Take a port; one that is taken is named."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # Named as TCP, so that what is accepted sends at once: else every answer waits 40 ms for an acknowledgement.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            hint = "another Medbay may have it; [web] port or --port names another"
            raise NotAllowed(f"port {port} of {host} is taken", hint=hint) from error
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror or error}", hint="[web] host, port"
        ) from error
    return made


def address(host: str, port: int) -> str:
    """Return where the page is, as a browser on this machine reaches it."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def _until_orphaned(server: uvicorn.Server) -> None:
    """The end of standard input is the end of the parent, however it died."""
    while os.read(sys.stdin.fileno(), 64):
        pass
    server.should_exit = True
