"""Record transcripts of a real agent against the imitation: `python -m tests.agents.record gemini [SCENARIO ...]`.

One file a scenario, `NAME.EXITCODE.txt`: standard output, then what it complained of. What a transcript is taken for is
in the test of the readers; a version that writes another form is noticed by recording again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from medbay.core.agent import Profile
from medbay.runners.agent.preset import Run, command_of
from medbay.runners.agent.profiles import preset
from tests.agents.imitation import Imitation
from tests.agents.test_others import configure

FOLDER = Path(__file__).parent / "transcripts"
LIMIT_S = 240
SCENARIOS = {
    "says": "[[say All done.]]",
    "tool": "[[bash echo hi > fine.txt]] [[say All done.]]",
    "tools": "[[bash echo 1]] [[bash echo 2]] [[bash echo 3]] [[say Three.]]",
    "tool_fails": "[[bash exit 3]] [[say It failed, I stopped.]]",
    "offers": "[[bash echo x]] [[say All done. Let me know if you need anything else!]]",
    "long_words": f"[[say {' '.join(f'word{number}' for number in range(400))}]]",
    "unicode": "[[say Grün ✓ 漢字]]",
    "flaky": "[[err 500 1]]",
    "cut": "[[cut]]",
    "asks": "[[say Postgres or SQLite? Please let me know.]]",
    "asks_list": "[[say There are two ways:\n\n1. Postgres\n2. SQLite\n\nWhich one do you prefer?]]",
    "auth": "[[err 401]]",
    "billing": "[[err 402]]",
    "forbidden": "[[err 403]]",
    "missing": "[[err 404]]",
    "context": "[[err 400]]",
    "limit": "[[limit 3600 9]]",
    "rate": "[[err 429]]",
    "server": "[[err 500]]",
    "overloaded": "[[err 529]]",
    "loop": " ".join(["[[bash echo again]]"] * 12),
    "denied": "[[bash rm -rf out]]",
    "turns": " ".join(f"[[bash echo {number}]]" for number in range(6)),
    "refused": "[[refuse]] [[refuse]] [[refuse]]",
}
EDIT = "{name}\n```python\n<<<<<<< SEARCH\n{old}\n=======\nprint('new')\n>>>>>>> REPLACE\n```\n"
CHANGE = EDIT.format(name="app.py", old="print('old')")
# aider has no tools: it edits the files that it is shown, and asks for others.
OF_AIDER = {
    "tool": f"[[say I change it.\n\n{CHANGE}]]",
    "tools": f"[[say I change both.\n\n{CHANGE}\n{EDIT.format(name='lib.py', old='')}]]",
    "tool_fails": f"[[say I change it.\n\n{EDIT.format(name='app.py', old='no such line')}]] [[say I stopped.]]",
    "offers": f"[[say I changed it.\n\n{CHANGE}\nLet me know if you need anything else!]]",
}
WITHOUT: dict[str, tuple[str, ...]] = {
    "codex": ("loop", "denied", "turns", "refused"),
    "gemini": (),
    "opencode": ("loop", "denied", "turns"),
    "aider": ("loop", "denied", "turns", "refused"),
}


def record(agent: str, names: list[str]) -> None:
    """Run the scenarios one after the other, each in a directory of its own."""
    scenarios = {**SCENARIOS, **(OF_AIDER if agent == "aider" else {})}
    for name in names or [each for each in scenarios if each not in WITHOUT[agent]]:
        with Imitation() as imitation, tempfile.TemporaryDirectory(prefix="medbay-record-") as place:
            code, text = run(agent, name, scenarios[name], Path(place), imitation.url)
        for old in (FOLDER / agent).glob(f"{name}.*.txt"):
            old.unlink()
        (FOLDER / agent).mkdir(exist_ok=True)
        (FOLDER / agent / f"{name}.{code}.txt").write_text(text, encoding="utf-8")
        print(agent, name, code, len(text), flush=True)


def run(agent: str, name: str, told: str, place: Path, url: str) -> tuple[int, str]:
    """One run: its exit code, and what it wrote."""
    home, work = place / "home", place / "work"
    work.mkdir()
    environ = {**configure(home, url), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb"}
    prompt = place / "prompt.md"
    prompt.write_text(told, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "."], cwd=work, check=True)
    (work / "app.py").write_text("print('old')\n", encoding="utf-8")
    known = preset(agent)
    environ |= known.env
    model = {"opencode": "fake/m", "gemini": "gemini-2.5-pro", "aider": "openai/gpt-5", "codex": "gpt-5"}[agent]
    allow = ("danger-full-access",) if agent == "codex" else ("default",) if name == "denied" else ()
    profile = Profile(name=agent, preset=agent, allow=allow)
    session = "0f0f0f0f-1111-4222-8333-444444444444"
    words = command_of(known, profile, Run(prompt_file=str(prompt), model=model, session=session))
    if agent == "aider":
        words = (*words, "app.py")
    with prompt.open("rb") as stdin:
        done = subprocess.run(
            words,
            stdin=stdin if known.prompt == "stdin" else subprocess.DEVNULL,
            capture_output=True,
            cwd=work,
            env=environ,
            timeout=LIMIT_S,
            check=False,
        )
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agent", choices=sorted(WITHOUT))
    parser.add_argument("scenario", nargs="*")
    given = parser.parse_args()
    record(given.agent, given.scenario)
