"""bubblewrap: a command that sees the machine read-only, writes a few places, and reaches few hosts or none.

In the sandbox there is no network but the loopback. Where hosts are allowed, a bridge inside hands connections through
a Unix socket to a proxy outside, which opens those to the hosts that are named and refuses all others.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from medbay.errors import MedbayError
from medbay.integrations.git import PACKAGE

_TEMPORARY: Final = ("/tmp", "/var/tmp")  # those of the sandbox are its own
_HEAD_MAX: Final = 65_536
_PIECE: Final = 65_536
_CONNECT_S: Final = 30.0
_BRIDGE: Final = (
    "import sys; sys.path.append(sys.argv.pop(1));"
    " from medbay.integrations.bubblewrap import bridge; sys.exit(bridge(sys.argv[1], sys.argv[2:]))"
)
_WORKS: Final = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--", "true")


@contextmanager
def sandboxed(
    command: Sequence[str], *, readable: Sequence[str], writable: Sequence[str], hosts: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """The command in its sandbox, with the proxy beside it; raises MedbayError where bubblewrap is missing."""
    program = shutil.which("bwrap")
    if program is None:
        raise MedbayError('sandbox = "bwrap": bubblewrap is not installed', hint="install it, or take the sandbox off")
    words = [program, "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for each in _TEMPORARY:
        words += ["--tmpfs", each]
    named = [each for each in command if os.path.isabs(each) and os.path.exists(each)]  # its program, its prompt
    for each in (PACKAGE, *named, *readable):
        words += ["--ro-bind-try", each, each]
    for each in writable:
        if not os.path.lexists(each):
            Path(each).touch(mode=0o600)
        words += ["--bind", each, each]
    words.append("--unshare-net")
    if not hosts:
        yield (*words, "--", *command)
        return
    with tempfile.TemporaryDirectory(prefix="medbay-proxy-") as folder:
        door = os.path.join(folder, "proxy")
        with _listening(socket.AF_UNIX, door, lambda client: _serve(client, hosts)):
            inside = (sys.executable, "-P", "-c", _BRIDGE, PACKAGE, door, *command)
            yield (*words, "--ro-bind", folder, folder, "--", *inside)


def why_not() -> str:
    """Why no sandbox can be made on this machine; empty when one can."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed"
    try:
        done = subprocess.run([program, *_WORKS], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip()[:200] or f"bwrap ends with {done.returncode}"


def bridge(door: str, command: Sequence[str]) -> int:
    """Inside: run the command with a proxy on the loopback that hands every connection out through the door."""

    def hand_out(client: socket.socket) -> None:
        outside = socket.socket(socket.AF_UNIX)
        outside.connect(door)
        _shuttle(client, outside)

    with _listening(socket.AF_INET, ("127.0.0.1", 0), hand_out) as server:
        proxy = f"http://127.0.0.1:{server.getsockname()[1]}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        env = {**os.environ, **{each: proxy for name in names for each in (name, name.lower())}, "NO_PROXY": ""}
        try:
            child = subprocess.Popen(command, env=env)
        except OSError as error:
            print(f"[medbay] {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
            return 127
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda got, _: child.send_signal(got))
        code = child.wait()
        return code if code >= 0 else 128 - code


@contextmanager
def _listening(
    family: int, address: str | tuple[str, int], serve: Callable[[socket.socket], None]
) -> Iterator[socket.socket]:
    """A thread for every connection, until this is left."""
    server = socket.socket(family)
    server.bind(address)
    server.listen(64)

    def accept() -> None:
        with suppress(OSError):  # closed: it is over
            while True:
                client, _ = server.accept()
                threading.Thread(target=_quietly, args=(serve, client), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


def _quietly(serve: Callable[[socket.socket], None], client: socket.socket) -> None:
    with client, suppress(OSError, ValueError):
        serve(client)


def _serve(client: socket.socket, hosts: Sequence[str]) -> None:
    """One connection of the proxy: CONNECT, or a plain request that names its whole address."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD_MAX:
        piece = client.recv(_PIECE)
        if not piece:
            return
        head += piece
    method, target, version = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    plain = method != "CONNECT"
    address, _, path = target.removeprefix("http://").partition("/") if plain else (target, "", "")
    host, port = _split(address, 80 if plain else 443)
    if not is_allowed(host, port, hosts):
        said = f"{host} is not among the hosts of this agent's sandbox\n".encode()
        client.sendall(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(said) + said)
        return
    with socket.create_connection((host, port), timeout=_CONNECT_S) as server:
        server.settimeout(None)
        if plain:  # one request on this connection: the next could be for another host
            rest = head.split(b"\r\n", 1)[1].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
            server.sendall(f"{method} /{path} {version}\r\n".encode("latin-1") + rest)
        else:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        _shuttle(client, server)


def is_allowed(host: str, port: int, hosts: Sequence[str]) -> bool:
    """Whether a host is named: `example.org`, one port of it, or with `*.` everything below it."""
    names = (host.lower(), f"{host.lower()}:{port}")
    return any(
        each.lower() in names or (each.startswith("*.") and host.lower().endswith(each[1:].lower())) for each in hosts
    )


def _split(address: str, port: int) -> tuple[str, int]:
    host, _, given = address.rpartition("@")[2].rpartition(":")
    return (host.strip("[]"), int(given)) if host and given.isdecimal() else (address.strip("[]"), port)


def _shuttle(one: socket.socket, other: socket.socket) -> None:
    """Both ways until both have ended."""
    back = threading.Thread(target=_pour, args=(other, one), daemon=True)
    back.start()
    _pour(one, other)
    back.join()
    other.close()


def _pour(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
