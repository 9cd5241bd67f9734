"""`gh api --include` as the real program prints it, for machines without one; talks to `GH_DOUBLE_URL`.

`gh repo view` takes every work tree for acme/shop.

Status line and headers (sorted, those of several lines joined) come first, then an empty line and the body as it came.
A status above 299 is exit 1, with `gh: MESSAGE (HTTP N)` on the second stream.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import urllib.parse


def main(words: list[str]) -> int:
    """Send one request; 0, or 1 where its status is no success, or 4 without a login."""
    if words == ["repo", "view", "--json", "url"]:
        print('{"url":"https://github.com/acme/shop"}')
        return 0
    if words[:2] != ["api", "--include"]:
        sys.stderr.write(f"unknown command {words}\n")
        return 1
    options = dict(each[2:].split("=", 1) for each in words[2 : words.index("--")])
    (target,) = words[words.index("--") + 1 :]
    token = os.environ.get("GH_TOKEN") or os.environ.get("GITHUB_TOKEN")
    if not token:
        sys.stderr.write("To get started with GitHub CLI, please run:  gh auth login\n")
        return 4
    parts = urllib.parse.urlsplit(os.environ["GH_DOUBLE_URL"])
    body = sys.stdin.buffer.read() if options.get("input") == "-" else None
    headers = {"Authorization": f"token {token}", "Content-Type": "application/json; charset=utf-8"}
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    try:
        connection.request(options["method"], f"/{target}", body=body, headers=headers)
        answer = connection.getresponse()
        data = answer.read()
    except (OSError, http.client.HTTPException):
        sys.stderr.write(f"error connecting to api.{options['hostname']}\ncheck your internet connection\n")
        return 1
    names = sorted({name.title() for name in answer.headers})
    lines = "".join(f"{name}: {', '.join(answer.headers.get_all(name) or ())}\r\n" for name in names)
    sys.stdout.buffer.write(f"HTTP/1.1 {answer.status} {answer.reason}\n{lines}\r\n".encode() + data)
    if answer.status <= 299:
        return 0
    try:
        said = f"{json.loads(data)['message']} (HTTP {answer.status})"
    except (ValueError, KeyError, TypeError):
        said = f"HTTP {answer.status}"
    sys.stderr.write(f"gh: {said}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
