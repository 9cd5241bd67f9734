"""`medbay mcp` by the official client: every tool, as a person and inside an attempt, and what a token never opens."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from tests.e2e.test_the_path_of_a_task import EITHER_STORE, MEDBAY, QUICK, Terminal, store_of

TOOLS = {"add", "capture", "list", "show", "log", "explain", "report", "ask", "note"}

# An agent that speaks the protocol: it makes the calls of a file, and writes what came back.
AGENT = f"""#!{sys.executable}
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters, stdio_client

async def main():
    calls = json.load(open(os.environ["CALLS"]))
    found = []
    async with stdio_client(StdioServerParameters(command="{MEDBAY}", args=["mcp"], env=dict(os.environ))) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            for name, arguments in calls:
                made = await session.call_tool(name, arguments)
                found.append([name, bool(made.is_error), made.content[0].text if made.content else ""])
    found.append([os.environ["MEDBAY_SOCKET"], os.environ["MEDBAY_TOKEN"], ""])
    json.dump(found, open(os.environ["CALLS"] + ".out", "w"))
    print("it worked")

asyncio.run(main())
"""


async def called(terminal: Terminal, *calls: tuple[str, dict[str, Any]]) -> tuple[set[str], list[tuple[bool, str]]]:
    """The names of the tools a client is offered, and what calls of them give: whether an error, and its text."""
    server = StdioServerParameters(command=MEDBAY, args=["mcp"], env=dict(terminal.environ), cwd=str(terminal.home))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        names = {each.name for each in (await session.list_tools()).tools}
        found = []
        for name, arguments in calls:
            made = await session.call_tool(name, arguments)
            text = "\n".join(each.text for each in made.content if hasattr(each, "text"))
            found.append((bool(made.is_error), text))
    return names, found


@pytest.fixture(params=EITHER_STORE)
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Terminal:
    """A project with an agent that speaks the protocol."""
    here = Terminal(tmp_path)
    here.environ |= {"MEDBAY_STORE": store} if (store := store_of(request)) else {}
    here.environ["PATH"] = f"{Path(sys.executable).parent}:{here.environ['PATH']}"
    here.must("init")
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    text = f'{QUICK}\n[agents.fake]\ncommand = ["{agent}", "{{prompt_file}}"]\n'
    (tmp_path / "medbay.toml").write_text(text, encoding="utf-8")
    return here


def within(terminal: Terminal, *calls: tuple[str, dict[str, Any]], code: int = 0) -> tuple[str, list[list[Any]]]:
    """Let an attempt make these calls; the id of its task, and what came back."""
    path = terminal.home / "calls.json"
    path.write_text(json.dumps(calls), encoding="utf-8")
    task = terminal.must("add", "Talk", "--agent", "fake", "--env", f"CALLS={path}").strip()
    terminal.must("up", "--until-idle", code=code)
    return task, json.loads(Path(f"{path}.out").read_text(encoding="utf-8"))


def test_a_person_has_every_tool(terminal: Terminal) -> None:
    """The official client lists and calls each of them."""
    persons = terminal.must("add", "Sign it", "--person").strip()

    names, found = asyncio.run(
        called(
            terminal,
            ("add", {"title": "one", "run": "echo hello", "tag": ["x"], "priority": 1}),
            ("capture", {"text": "the login is slow"}),
            ("list", {}),
            ("show", {"id": persons}),
            ("explain", {"id": persons}),
            ("report", {"id": persons, "summary": "signed"}),
            ("ask", {"question": "Which colour?"}),
            ("log", {"id": persons}),
            ("note", {"text": "x", "id": persons}),
            ("show", {"id": "nothing"}),
            ("add", {"title": "no work"}),
        )
    )

    assert names == TOOLS
    assert [wrong for wrong, _ in found] == [False] * 7 + [True] * 4
    assert "the login is slow" in terminal.must("captures")
    assert terminal.show(persons)["status"] == "completed"
    assert "Which colour?" in terminal.must("inbox")
    assert {each["title"] for each in json.loads(terminal.must("list", "--all", "--json"))} >= {"one", "Which colour?"}


def test_an_attempt_sees_and_changes_its_own_task_and_what_it_creates(terminal: Terminal) -> None:
    """Every tool, by the token, through the engine's door; what it reports is its result."""
    task, found = within(
        terminal,
        ("add", {"title": "more", "person": True}),
        ("list", {}),
        ("show", {}),
        ("explain", {}),
        ("note", {"text": "half way\n"}),
        ("log", {}),
        ("report", {"summary": "did it", "artifacts": ["a.txt"]}),
    )

    assert [wrong for _, wrong, _ in found[:-1]] == [False] * 5 + [True, False]
    shown = terminal.show(task)
    assert shown["status"] == "completed"
    assert "[medbay] note: half way" in terminal.must("log", task)
    (more,) = (each for each in json.loads(terminal.must("list", "--json")) if each["title"] == "more")
    assert terminal.show(more["id"])["created_by"] == f"agent:{task}"


def test_a_token_opens_no_other_task_and_dies_with_its_attempt(terminal: Terminal) -> None:
    """Each tool is tried on another's task; afterwards the door is gone, and so is the token."""
    other = terminal.must("add", "Another's", "--run", "true", "--at", "+1h").strip()

    task, found = within(
        terminal,
        ("list", {}),
        *((name, {"id": other}) for name in ("show", "log", "explain", "report")),
        ("note", {"text": "x", "id": other}),
        ("add", {"title": "after it", "run": "true", "after": [other]}),
    )

    assert other not in found[0][2] and [wrong for _, wrong, _ in found[1:-1]] == [True] * 6
    assert all("you have no task" in text for _, _, text in found[1:-1])
    assert terminal.show(other)["status"] == "pending" and terminal.show(task)["status"] == "completed"
    door, token, _ = found[-1]
    assert token and not Path(door).exists()


def test_a_door_lets_in_who_has_a_token_and_says_no_to_the_rest(terminal: Terminal) -> None:
    """A wrong token, no JSON, an unknown tool, a token that was revoked: one line each, and it goes on."""
    import medbay
    from medbay.areas import door as doors
    from medbay.errors import MedbayError
    from medbay.places.protocol import Launch

    with medbay.open(cwd=terminal.home) as bay:
        task = bay.add("x", run=["true"])
        door = doors.Door(bay.place)
        door.start()
        launch = Launch(
            store_id="s",
            task_id=task.id,
            number=1,
            runner="agent:fake",
            command=("true",),
            cwd=terminal.home,
            log_path=str(terminal.home / "1.log"),
            result_path=str(terminal.home / "1.result.json"),
            idempotency_key="k",
        )
        token, path = door.passes.issue(launch), door.passes.socket
        try:
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            assert doors.ask(path, token, "show", {})["id"] == task.id
            asked = doors.ask(path, token, "ask", {"question": "Postgres or SQLite?"})
            said = json.loads((terminal.home / "1.result.json").read_text(encoding="utf-8"))
            assert asked["attempt"] == 1 and said["question"] == "Postgres or SQLite?"
            for wrong in (("wrong", "show", {}), (token, "db", {}), (token, "show", {"x": 1}), (token, "ask", {})):
                with pytest.raises(MedbayError):
                    doors.ask(path, *wrong)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                client.sendall(b"[1]\n")
                assert json.loads(client.recv(1000))["ok"] is False
            door.passes.revoke(token)
            with pytest.raises(MedbayError, match="its attempt has ended"):
                doors.ask(path, token, "show", {})
        finally:
            door.stop()
    assert not Path(path).exists()


def test_inside_an_attempt_without_its_token_nothing_is_served(terminal: Terminal) -> None:
    """The store is not for agents."""
    terminal.environ["MEDBAY_ATTEMPT_KEY"] = "s:t:1"

    assert "MEDBAY_TOKEN" in terminal.run("mcp").stderr
    terminal.must("mcp", code=4)
    terminal.must("mcp", "install", "claude", code=4)


def test_a_client_is_told_of_it_beside_what_it_knows(terminal: Terminal) -> None:
    """In its own file, once, whatever else is there; a broken file is left as it is."""
    terminal.environ |= {"HOME": str(terminal.home), "CODEX_HOME": str(terminal.home / ".codex")}
    (terminal.home / ".mcp.json").write_text('{"mcpServers": {"x": {"command": "x"}}}', encoding="utf-8")
    codex = terminal.home / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text('model = "m"\n', encoding="utf-8")

    for _ in range(2):
        assert terminal.must("mcp", "install", "claude").strip() == str(terminal.home / ".mcp.json")
        assert json.loads(terminal.must("mcp", "install", "codex", "--json"))["path"] == str(codex)
    terminal.must("mcp", "install", "claude", "--user")

    servers = json.loads((terminal.home / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    assert set(servers) == {"x", "medbay"} and servers["medbay"]["args"] == ["mcp"]
    known = tomllib.loads(codex.read_text(encoding="utf-8"))
    assert known["model"] == "m" and known["mcp_servers"]["medbay"]["args"] == ["mcp"]
    assert "medbay" in json.loads((terminal.home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]
    codex.write_text("= broken", encoding="utf-8")
    terminal.must("mcp", "install", "codex", code=4)
    assert codex.read_text(encoding="utf-8") == "= broken"
    (terminal.home / "a-file").touch()
    terminal.environ |= {"CODEX_HOME": str(terminal.home / "a-file" / "below")}
    terminal.must("mcp", "install", "codex", code=4)
    terminal.must("mcp", "install", "emacs", code=2)
