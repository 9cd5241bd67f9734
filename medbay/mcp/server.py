"""The server of `medbay mcp`: the tools with their descriptions, over stdio. It decides nothing.

Inside an attempt each tool goes through the engine's door with the attempt's token; outside it uses the library.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from medbay import bay
from medbay.areas import door
from medbay.areas.tools import ATTEMPT, SOCKET, TOKEN, Tools
from medbay.errors import MedbayError, NotAllowed

_INSTRUCTIONS: Final = (
    "Medbay runs tasks and heals them when they fail. Inside an attempt you see and change your own task and what you"
    " add. When only a person can decide something, use ask and stop: the answer comes with your next attempt."
)

UseTool = Callable[[str, Mapping[str, Any]], Any]


def use_tool(environ: Mapping[str, str], store: str | None) -> UseTool:
    """How tools are used from here; raises NotAllowed inside an attempt that has no way to its engine."""
    path, token = environ.get(SOCKET), environ.get(TOKEN)
    if path and token:
        return lambda name, arguments: door.ask(path, token, name, dict(arguments))
    if environ.get(ATTEMPT):
        raise NotAllowed(
            f"this runs inside an attempt ({ATTEMPT} is set) without {SOCKET} and {TOKEN}",
            hint="agents have them; let the client hand them on",
        )

    def at_home(name: str, arguments: Mapping[str, Any]) -> Any:
        with bay.open_bay(store, create=False) as opened:
            return Tools(opened).call(name, arguments)

    return at_home


def make(use: UseTool) -> MCPServer[Any]:
    """The server with its eight tools."""
    server: MCPServer[Any] = MCPServer("medbay", instructions=_INSTRUCTIONS, log_level="WARNING")

    def asked(name: str, **arguments: Any) -> Any:
        try:
            return use(name, arguments)
        except MedbayError as error:
            raise ToolError(str(error)) from None
        except OSError as error:
            raise ToolError(f"the engine cannot be reached: {error}") from None

    _add_work(server, asked)
    _add_views(server, asked)
    _add_reports(server, asked)
    return server


def serve(store: str | None) -> None:
    """Serve over stdio until the client leaves."""
    make(use_tool(os.environ, store)).run("stdio")


def _add_work(server: MCPServer[Any], asked: Callable[..., Any]) -> None:
    @server.tool()
    def add(
        title: str,
        run: str = "",
        agent: str = "",
        person: bool = False,
        description: str = "",
        spec: str = "",
        after: list[str] | None = None,
        check: list[str] | None = None,
        tag: list[str] | None = None,
        priority: int | None = None,
        timeout: str = "",
    ) -> dict[str, Any]:
        """Add a task: a shell command (run), work for an agent (agent), or a question to a person (person).

        after: ids of tasks it comes after. check: commands that have to accept its result. timeout: 30s, 10m, 2h.
        """
        given: dict[str, Any] = {
            "run": run,
            "agent": agent,
            "person": person or None,
            "description": description,
            "spec": spec,
        }
        given |= {"after": after, "check": check, "tag": tag, "priority": priority, "timeout": timeout}
        found: dict[str, Any] = asked("add", title=title, **given)
        return found

    @server.tool()
    def capture(text: str) -> dict[str, Any]:
        """Write a thought down that is not your task now; a person decides later what becomes of it."""
        found: dict[str, Any] = asked("capture", text=text)
        return found


def _add_views(server: MCPServer[Any], asked: Callable[..., Any]) -> None:
    @server.tool(name="list")
    def list_tasks(status: list[str] | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """List tasks, what changed last first. status: pending, in_progress, completed, failed, blocked, ..."""
        found: list[dict[str, Any]] = asked("list", status=status, limit=limit)
        return found

    @server.tool()
    def show(id: str = "") -> dict[str, Any]:
        """Show everything about one task: attempts, diagnoses, checks, guidance. Inside an attempt: your own."""
        found: dict[str, Any] = asked("show", id=id)
        return found

    @server.tool()
    def log(id: str = "", attempt: int = 0, lines: int = 100) -> dict[str, Any]:
        """Show the end of the output of an attempt; the newest by default."""
        found: dict[str, Any] = asked("log", id=id, attempt=attempt, lines=lines)
        return found

    @server.tool()
    def explain(id: str = "") -> dict[str, Any]:
        """Explain why a task is where it is, what happens next and when, and what would change that."""
        found: dict[str, Any] = asked("explain", id=id)
        return found


def _add_reports(server: MCPServer[Any], asked: Callable[..., Any]) -> None:
    @server.tool()
    def report(
        outcome: str = "succeeded",
        summary: str = "",
        id: str = "",
        artifacts: list[str] | None = None,
        category: str = "",
        retry_after: str = "",
    ) -> dict[str, Any]:
        """Report the result of your work: succeeded or failed, a line about it, and the files you made (artifacts).

        If nothing has to change, say so in the summary: "nothing to change, because ...".
        """
        said = {"outcome": outcome, "summary": summary, "id": id, "artifacts": artifacts}
        found: dict[str, Any] = asked("report", **said, category=category, retry_after=retry_after)
        return found

    @server.tool()
    def ask(question: str) -> dict[str, Any]:
        """Ask a person. Use it when only a person can decide; then stop, the answer comes with your next attempt."""
        found: dict[str, Any] = asked("ask", question=question)
        return found

    @server.tool()
    def note(text: str, id: str = "") -> dict[str, Any]:
        """Note progress in one line: what is done, what comes next. People who follow the log see it."""
        found: dict[str, Any] = asked("note", text=text, id=id)
        return found
