"""The page itself: one empty document for every view, and its files, read once. It knows no data and needs no token."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from medbay.web.answers import refusal

router = APIRouter()
KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
DOCUMENT: Final = "index.html"


@router.api_route("/static/{name:path}", methods=["GET", "HEAD"])
async def file(request: Request, name: str) -> Response:
    """One file of the page."""
    return _file(request, name)


@router.api_route("/{path:path}", methods=["GET", "HEAD"])
async def document(request: Request, path: str) -> Response:
    """The document, whatever the view: what it shows is asked for by the page."""
    if path.startswith("api/"):
        return refusal(404, "not_found", f"there is no /{path[:100]}", "/openapi.json has what there is")
    return _file(request, DOCUMENT)


def _file(request: Request, name: str) -> Response:
    found = files().get(name)
    if found is None:
        return refusal(404, "not_found", f'there is no file "{name[:100]}"')
    kind, body, tag = found
    headers = {"etag": tag, "cache-control": "no-cache", "content-type": kind}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(b"" if request.method == "HEAD" else body, headers=headers)


@cache
def files() -> dict[str, tuple[str, bytes, str]]:
    """Every file of the page: what it is, its bytes, and a mark that changes with them."""
    found = {}
    root = resources.files("medbay.web").joinpath("static")
    folders = [("", root)]
    while folders:
        prefix, folder = folders.pop()
        for each in folder.iterdir():
            name = prefix + each.name
            if each.is_dir():
                folders.append((name + "/", each))
            elif (kind := KINDS.get("." + each.name.rpartition(".")[2])) is not None:
                body = each.read_bytes()
                found[name] = kind, body, f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    return found
