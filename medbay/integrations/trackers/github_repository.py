"""One repository of GitHub: its REST API with a token, or the same requests through the program `gh`, logged in."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medbay.core.redaction import redact
from medbay.core.tracker.source import TrackerSource
from medbay.core.untrusted import line
from medbay.integrations.trackers.protocol import TrackerError, TrackerFault
from medbay.integrations.trackers.transport import (
    ApiAnswer,
    HttpTransport,
    Query,
    Transport,
    fine,
    needed_token,
    safe_url,
    token_of,
)

PROGRAM: Final = "gh"
URL: Final = "https://api.github.com"
PAGE: Final = 100
PAGES_MAX: Final = 10
GH_S: Final = 30.0
_PUBLIC: Final = "github.com"
_VERSION: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_PROJECT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_NEXT: Final = re.compile(r'<([^<>]*)>;[^,]*\brel="next"')
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Repository:
    """What is asked of one repository, whatever carries it."""

    project: str  # owner/repository
    transport: Transport

    def ask(self, method: str, path: str, *, body: Any = None) -> Any:
        """The answer to one request; None where it is empty."""
        where = f"repos/{self.project}/{path}"
        answer = fine(self.transport.send(method, where, body=body), f"{method} {where}")
        return answer.json(f"{method} {where}") if answer.body.strip() else None

    def page(self, path: str, query: Query, *, within: str = "") -> tuple[list[Mapping[str, Any]], Query]:
        """The entries of a page, and the query of the next one; the host in its link is never asked."""
        where = f"repos/{self.project}/{path}"
        answer = fine(self.transport.send("GET", where, query=query), f"GET {where}")
        entries = answer.json(f"GET {where}")
        if within and isinstance(entries, dict):
            entries = entries.get(within)
        if not isinstance(entries, list):
            raise TrackerError("unreadable", f"GET {where}: no list came back")
        link = _NEXT.search(answer.headers.get("link", ""))
        following = urllib.parse.parse_qsl(urllib.parse.urlsplit(link[1]).query) if link else []
        return [each if isinstance(each, dict) else {} for each in entries], following

    def every(self, path: str, query: Query, *, within: str = "") -> Iterator[Mapping[str, Any]]:
        """The entries of all pages, up to a bound."""
        following = [*query, ("per_page", str(PAGE))]
        for _ in range(PAGES_MAX):
            entries, following = self.page(path, following, within=within)
            yield from entries
            if not following:
                return


def open_repository(source: TrackerSource, environ: Mapping[str, str]) -> Repository:
    """The repository of a source; raises TrackerError where it cannot be asked at all."""
    if not _PROJECT.fullmatch(source.project) or source.project.endswith(("/.", "/..")):
        hint = f'project = "owner/repository" in [trackers.{source.name}]'
        raise TrackerError("refused", f"{source.name}: {source.project!r} is no repository of GitHub", hint=hint)
    return Repository(source.project, _transport(source, environ))


def repository_of_gh(program: str, folder: Path) -> Repository:
    """The repository that `gh` itself takes a work tree for; raises TrackerError where it knows none."""
    code, out, err = _run([program, "repo", "view", "--json", "url"], b"", "gh repo view", GH_S, folder=folder)
    found = re.search(rb'"url": *"https://([^/"]+)/([^/"]+/[^/"]+)"', out)
    if code != 0 or found is None:
        raise _complaint("gh repo view", code, (err or out).decode("utf-8", "replace"))
    host, project = (each.decode("utf-8", "replace") for each in found.groups())
    url = "" if host == _PUBLIC else f"https://{host}/api/v3"
    source = TrackerSource(name=PROGRAM, kind="github", project=project, url=url, via="gh")
    return open_repository(source, os.environ)


def _transport(source: TrackerSource, environ: Mapping[str, str]) -> Transport:
    url, timeout_s = safe_url(source, URL), source.timeout_ms / 1000
    if source.via == "gh" or (source.via == "auto" and not token_of(source, environ)):
        program = shutil.which(PROGRAM, path=environ.get("PATH"))
        if program is not None:
            return GhTransport(program, _host(url), timeout_s)
        if source.via == "gh":
            raise TrackerError("missing", f"{source.name}: {PROGRAM} is not on the PATH", hint="install GitHub's gh")
    token = needed_token(source, environ)
    return HttpTransport(url, {**_VERSION, "Authorization": f"Bearer {token}"}, timeout_s, token)


def _host(url: str) -> str:
    host = urllib.parse.urlsplit(url).hostname or ""
    return host.removeprefix("api.")


@dataclass(frozen=True, slots=True)
class GhTransport:
    """Requests by `gh api`: argument lists without a shell, the body on its standard input, a time limit."""

    program: str
    host: str
    timeout_s: float

    def send(self, method: str, path: str, *, query: Query | None = None, body: Any = None) -> ApiAnswer:
        """Send one request; what gh prints is status, headers and body as they came."""
        asked = f"gh api {method} {path}"
        target = path + (f"?{urllib.parse.urlencode(query)}" if query else "")
        words = [self.program, "api", "--include", f"--method={method}", f"--hostname={self.host}"]
        words += [f"--header={name}: {value}" for name, value in _VERSION.items()]
        words += ["--input=-"] if body is not None else []
        data = json.dumps(body, ensure_ascii=False).encode() if body is not None else b""
        code, out, err = _run([*words, "--", target], data, asked, self.timeout_s)
        head, found, rest = out.replace(b"\r\n\r\n", b"\n\r\n", 1).partition(b"\n\r\n")
        status = re.match(rb"HTTP/[\d.]+ (\d{3})\b", head)
        if status is None:
            raise _complaint(asked, code, err.decode("utf-8", "replace"))
        lines = head.decode("utf-8", "replace").splitlines()[1:]
        headers = {name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        return ApiAnswer(int(status[1]), headers, rest if found else b"")


def _run(
    words: Sequence[str], data: bytes, asked: str, timeout_s: float, *, folder: Path | None = None
) -> tuple[int, bytes, bytes]:
    env = {**os.environ, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1", "GH_NO_UPDATE_NOTIFIER": "1"}
    env |= {"CLICOLOR_FORCE": "0", "GH_PAGER": "cat"}
    env.pop("GH_DEBUG", None)
    pipe = subprocess.PIPE
    try:
        running = subprocess.Popen(
            words, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except OSError as error:
        raise TrackerError("missing", f"{asked}: {error.strerror}", hint="install GitHub's gh") from None
    try:
        out, err = running.communicate(data, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        raise TrackerError("unreachable", f"{asked}: no answer after {timeout_s:g}s") from None
    return running.returncode, out, err


def _complaint(asked: str, code: int, said: str) -> TrackerError:
    """What gh says where no answer came: it is not logged in, or nothing could be reached."""
    words = redact(line(said, _SHOWN)) or "it said nothing"
    login = code == 4 or "gh auth login" in said or "GH_TOKEN" in said
    hint = "gh auth login, or a token in GITHUB_TOKEN" if login else ""
    kind: TrackerFault = "unauthorized" if login else "unreachable"
    return TrackerError(kind, f"{asked}: exit {code}: {words}", output=said, hint=hint)
