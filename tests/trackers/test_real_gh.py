"""The real `gh`, where there is one, against the imitation over a Unix socket; and its double, which prints alike."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from medbay.core.tracker import record
from tests.trackers import gh_double
from tests.trackers.imitations import TOKEN, Board, imitation
from tests.trackers.test_contract import LINE, connect

pytestmark = pytest.mark.long
HOST: Final = "github.localhost"  # gh talks to it without TLS
ASKED: Final = (
    ("GET", "user", ""),
    ("GET", "repos/acme/shop/issues?per_page=2&state=open", ""),
    ("GET", "repos/acme/shop/issues/99", ""),
    ("POST", "repos/acme/shop/issues", '{"title": ""}'),
    ("DELETE", "repos/acme/shop/issues/1/labels/none", ""),
    ("GET", "repos/acme/other/issues", ""),
)


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    """The real program, logged in, with an imitation behind the socket it is configured to use."""
    program = os.environ.get("MEDBAY_TEST_GH") or shutil.which("gh")
    if program is None:
        pytest.skip("there is no gh on the PATH, nor in MEDBAY_TEST_GH: install the package gh to run this")
    socket, config = tmp_path / "api.sock", tmp_path / "gh"
    config.mkdir()
    (config / "config.yml").write_text(f"http_unix_socket: {socket}\nprompt: disabled\n", encoding="utf-8")
    login = f"{HOST}:\n    oauth_token: {TOKEN}\n    user: medbay-bot\n    git_protocol: https\n"
    (config / "hosts.yml").write_text(login, encoding="utf-8")
    for name in ("GH_TOKEN", "GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GH_CONFIG_DIR", str(config))
    monkeypatch.setenv("PATH", str(Path(program).parent), prepend=":")
    with imitation("github", unix=str(socket)) as (board, _):
        yield board


def printed(words: list[str], body: str, env: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """What a program prints, without what changes from run to run."""
    ran = subprocess.run(words, input=body.encode(), capture_output=True, env={**os.environ, **env}, timeout=60)
    return ran.returncode, re.sub(rb"(?m)^Date: .*\r\n", b"", ran.stdout), ran.stderr


def test_the_double_prints_what_the_real_one_does(gh: Board) -> None:
    """To the byte: lists with links, errors with and without words, answers without a body."""
    with imitation("github") as (board, url):
        for each in (gh, board):
            for number in range(5):
                each.add(f"issue {number} é", "implement_close")
        for method, path, body in ASKED:
            words = ["api", "--include", f"--method={method}", f"--hostname={HOST}"]
            words += [*(["--input=-"] if body else []), "--", path]
            real = printed(["gh", *words], body, {})
            env = {"GH_DOUBLE_URL": url, "GH_TOKEN": TOKEN}
            double = printed([sys.executable, gh_double.__file__, *words], body, env)

            # Links name the host that was asked.
            expected = real[1].replace(f"http://api.{HOST}".encode(), url.encode())
            same = (double[0], re.sub(rb"(?m)^Server: .*\r\n", b"", double[1]), double[2])
            assert same == (real[0], re.sub(rb"(?m)^Server: .*\r\n", b"", expected), real[2]), (method, path)


def test_the_real_gh_carries_every_request(gh: Board) -> None:
    """List, read, record, label, close, create, pause."""
    made = [gh.add(f"issue {number}", "implement_close") for number in range(6)]
    tracker = connect("github-gh", f"https://api.{HOST}")

    tracker.set_notes(made[0], LINE)
    tracker.set_notes(made[1], record.needs_human("why"))
    tracker.close(made[2], "Completed by medbay")
    tracker.pause(made[3])
    part = tracker.create("part", "words", like=tracker.read(made[4]), labels=("ui",), key="medbay:k")

    listed = {each.id: each.notes for each in tracker.open_issues().issues}
    assert set(listed) == {made[0], made[1], made[4], made[5], part}
    assert (listed[made[0]], record.read(listed[made[1]]).human) == (LINE, "why")
    assert gh.labels(made[1]) == ["implement_close", "needs_human"]
    assert (gh.entry(made[2]).closed, gh.said(made[2])[0].endswith("Completed by medbay")) == ("completed", True)


def test_the_real_gh_says_when_nothing_answers(gh: Board) -> None:
    """A cut connection, a refused token."""
    from medbay.integrations.trackers.protocol import TrackerError

    tracker = connect("github-gh", f"https://api.{HOST}")
    for status, kind in ((0, "unreachable"), (401, "unauthorized"), (503, "unreachable")):
        gh.faults.clear()
        gh.fail(".", status, body={"message": "x"} if status else None)
        with pytest.raises(TrackerError) as caught:
            tracker.open_issues()
        assert caught.value.kind == kind
