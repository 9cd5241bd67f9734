"""The real Codex, Gemini, OpenCode and aider against the imitation, where they are installed: `make test-agents`."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agents.imitation import GUIDANCE, INPUT, OUTPUT, Imitation
from tests.e2e.test_the_path_of_a_task import QUICK, Terminal

pytestmark = [pytest.mark.agents, pytest.mark.long]
AGENTS = ("codex", "gemini", "opencode")
TURN = INPUT + OUTPUT
WHO = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")


def configure(home: Path, url: str) -> dict[str, str]:
    """Write the configuration each tool reads, so that its only API is the imitation; its environment."""
    provider = f'name = "fake"\nbase_url = "{url}/v1"\nwire_api = "responses"\nrequest_max_retries = 1\n'
    codex = f'model_provider = "fake"\nmodel = "gpt-5"\n[model_providers.fake]\n{provider}'
    options = {"baseURL": f"{url}/v1", "apiKey": "x"}
    fake = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": {"m": {"name": "m"}}}
    opencode = {"provider": {"fake": fake}, "model": "fake/m", "autoupdate": False, "share": "disabled"}
    gemini = {
        "general": {"maxAttempts": 2},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }
    files = {
        ".codex/config.toml": codex,
        ".config/opencode/opencode.json": json.dumps(opencode),
        ".gemini/settings.json": json.dumps(gemini),
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    environ = {"HOME": str(home), "GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url, "OPENAI_API_KEY": "dummy"}
    return {**environ, "OPENAI_API_BASE": f"{url}/v1"}  # aider


def project(agent: str, folder: Path, imitation: Imitation, more: str = "") -> Terminal:
    """A project in which an agent talks to the imitation only."""
    if shutil.which(agent) is None:
        pytest.skip(f"NO {agent}: make test-agents installs it")
    place = folder / "project"
    place.mkdir()
    here = Terminal(place, real=True)
    here.limit_s = 300
    kept = {name: value for name, value in here.environ.items() if name in ("PATH", "LANG")}
    here.environ = {**kept, **configure(folder / "home", imitation.url)}
    here.must("init")
    allow = {"codex": 'allow = ["danger-full-access"]'}.get(agent, "")
    model = {"codex": "gpt-5", "opencode": "fake/m", "gemini": "gemini-2.5-pro", "aider": "openai/gpt-5"}[agent]
    settings = f'{QUICK}\n[agents.{agent}]\n{allow}\nmodel = "{model}"\n{more}\n'
    (place / "medbay.toml").write_text(settings, encoding="utf-8")
    here.must("agents", "check", agent)  # OpenCode makes its own store at its first start, and only one may
    return here


def add(here: Terminal, agent: str, told: dict[str, str], *options: str) -> dict[str, str]:
    """Add a task for each text; their ids by name."""
    return {
        name: here.must("add", name, "--agent", agent, "--description", text, *options).strip()
        for name, text in told.items()
    }


@pytest.mark.timeout(600)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agent_works_asks_and_goes_on_in_its_session(agent: str, tmp_path: Path, imitation: Imitation) -> None:
    """Done with a tool, refused credentials, a question that is answered in the session that asked it."""
    here = project(agent, tmp_path, imitation)
    told = {"fine": "[[bash echo hi > fine.txt]] [[say All done.]]", "auth": "[[err 401]]"}
    told["asks"] = "[[say Postgres or SQLite? Please let me know.]]"
    ids = add(here, agent, told)

    here.must("up", "--until-idle", code=75)
    here.must("answer", ids["asks"], "[[say SQLite it is.]]")
    here.run("up", "--until-idle")

    fine, auth, asks = (here.show(ids[name]) for name in ("fine", "auth", "asks"))
    assert (fine["status"], fine["result"]["summary"]) == ("completed", "All done.")
    assert (here.home / "fine.txt").read_text(encoding="utf-8") == "hi\n"
    assert auth["attempts"][0]["diagnosis"]["subcategory"] == "auth"
    assert (asks["status"], asks["result"]["summary"]) == ("completed", "SQLite it is.")
    assert len({each["session"] for each in asks["attempts"]}) == 1
    assert sum(each["tokens_out"] for each in asks["attempts"]) == 2 * OUTPUT


@pytest.mark.timeout(600)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_budget_and_turns_hold_while_a_real_agent_runs(agent: str, tmp_path: Path, imitation: Imitation) -> None:
    """Stopped at most one turn over its budget, with what it hands back; stopped when its turns are used up."""
    here = project(agent, tmp_path, imitation)
    steps = " ".join(f"[[bash python3 -c 'import time; time.sleep(1.5)' {n}]]" for n in range(8))
    over = add(here, agent, {"over": steps}, "--max-tokens", str(4 * TURN + 10))["over"]
    here.run("up", "--until-idle")
    settings = here.home / "medbay.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + "\nmax_turns = 2\n", encoding="utf-8")
    billed = imitation.bill.tokens_out
    turns = add(here, agent, {"turns": steps})["turns"]
    here.run("up", "--until-idle")

    (first,) = here.show(over)["attempts"]
    assert (first["outcome"], first["diagnosis"]["subcategory"]) == ("over_budget", "budget")
    assert 4 * TURN <= first["tokens"] <= 5 * TURN
    assert (here.home / ".medbay" / "logs" / over / "1.handback.log").stat().st_size > 0
    (stopped, *_) = here.show(turns)["attempts"]
    assert (stopped["outcome"], stopped["diagnosis"]["subcategory"]) == ("failed", "max_turns")
    # One call beside the turns: OpenCode has its sessions named by the model.
    assert imitation.bill.tokens_out - billed <= 4 * OUTPUT * len(here.show(turns)["attempts"])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agent_that_fails_is_waited_for_or_told(agent: str, tmp_path: Path, imitation: Imitation) -> None:
    """Nothing to show, a usage limit, an outage, a stream that is cut, a hang, a full context window."""
    here = project(agent, tmp_path, imitation)
    repository = here.home / "repository"
    repository.mkdir()
    for words in (("init", "--quiet"), (*WHO, "commit", "--quiet", "--allow-empty", "-m", "The beginning")):
        subprocess.run(["git", *words], cwd=repository, check=True)
    learns = "[[say It looks fine.]] [[bash touch learnt.txt]] [[say Done.]]"
    ids = add(here, agent, {"learns": learns}, "--cwd", "repository")
    provider = {"limited": "[[limit 2 2]] [[say I am back.]]", "busy": "[[err 529 2]] [[say It works again.]]"}
    provider |= {
        "slow": "[[hang 90 1]] [[say Here I am.]] [[say Here I am.]]",
        "cut": "[[cut 1]] [[say Whole.]]",
    }
    for name, text in provider.items():
        ids |= add(here, agent, {name: text}, "--provider", name, "--stall", "20s")
    ids |= add(here, agent, {"context": "[[err 400]]"})

    here.run("up", "--until-idle")

    shown = {name: here.show(task) for name, task in ids.items()}
    failed = {name: [each["diagnosis"] for each in found["attempts"][:-1]] for name, found in shown.items()}
    assert {name: each["status"] for name, each in shown.items()} == {
        **dict.fromkeys(ids, "completed"),
        "context": "blocked",
    }
    assert [each["subcategory"] for each in failed["learns"]] == ["no_evidence"]
    told = (here.home / ".medbay" / "logs" / ids["learns"] / "2.prompt.md").read_text(encoding="utf-8")
    assert f"{GUIDANCE} (Attempt #2)" in told
    if agent != "opencode":  # which goes on by itself here
        assert [each["outcome"] for each in shown["slow"]["attempts"]] == ["stalled", "succeeded"]
    assert {each["category"] for name in ("limited", "busy", "cut") for each in failed[name]} <= {
        "transient",
        "code_error",
    }
    assert not any(each["charged"] for name in ("limited", "busy", "cut") for each in shown[name]["attempts"][:-1])
    kinds = {each["diagnosis"]["subcategory"] for each in shown["context"]["attempts"]}
    assert kinds == {"context_window"} and "split the task" in shown["context"]["question"]["why"]


def edit(old: str, new: str) -> str:
    """A message of a model that changes a file, as aider takes it."""
    return f"[[say I change it.\n\napp.py\n```python\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n]]"


@pytest.mark.timeout(600)
def test_aider_works_is_refused_and_is_held_to_its_budget(tmp_path: Path, imitation: Imitation) -> None:
    """An edit on a branch of its own, credentials that are refused with exit 0, edits that never fit."""
    here = project("aider", tmp_path, imitation)
    (here.home / "app.py").write_text("print('old')\n", encoding="utf-8")
    for words in (("init", "--quiet"), ("add", "-A"), (*WHO, "commit", "--quiet", "-m", "The beginning")):
        subprocess.run(["git", *words], cwd=here.home, check=True)
    wrong = edit("print('no such line')", "print('new')")
    fine, auth = add(
        here, "aider", {"fine": edit("print('old')", "print('new')") + " in app.py", "auth": "[[err 401]]"}
    ).values()
    over = add(here, "aider", {"over": f"{wrong * 10} in app.py"}, "--max-tokens", str(2 * TURN + 10))["over"]

    here.must("up", "--until-idle", code=75)

    done, refused = here.show(fine), here.show(auth)["attempts"][0]
    assert (done["status"], done["attempts"][0]["tokens"]) == ("completed", TURN)
    changed = here.must("diff", fine)
    assert "+print('new')" in changed and changed.count("diff --git") == 1  # nothing of its own beside it
    assert (refused["outcome"], refused["diagnosis"]["subcategory"]) == ("failed", "auth")
    (first, *_) = here.show(over)["attempts"]
    assert (first["outcome"], first["diagnosis"]["subcategory"]) == ("over_budget", "budget")
    assert 2 * TURN < first["tokens"] <= 4 * TURN
