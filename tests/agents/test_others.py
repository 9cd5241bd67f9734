"""The real Codex, Gemini and OpenCode against the imitation, where they are installed: `make test-agents`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.agents.imitation import Imitation
from tests.e2e.test_the_path_of_a_task import QUICK, Terminal

pytestmark = [pytest.mark.agents, pytest.mark.long]
AGENTS = ("codex", "gemini", "opencode")


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


@pytest.mark.timeout(300)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agent_works_asks_and_goes_on_in_its_session(agent: str, tmp_path: Path, imitation: Imitation) -> None:
    """Done with a tool, refused credentials, a question that is answered in the session that asked it."""
    if shutil.which(agent) is None:
        pytest.skip(f"NO {agent}: make test-agents installs it")
    place, home = tmp_path / "project", tmp_path / "home"
    place.mkdir()
    here = Terminal(place, real=True)
    kept = {name: value for name, value in here.environ.items() if name in ("PATH", "LANG")}
    here.environ = {**kept, **configure(home, imitation.url)}
    here.must("init")
    allow = {"codex": 'allow = ["danger-full-access"]'}.get(agent, "")
    model = {"opencode": 'model = "fake/m"', "gemini": 'model = "gemini-2.5-pro"'}.get(agent, "")
    (place / "medbay.toml").write_text(f"{QUICK}\n[agents.{agent}]\n{allow}\n{model}\n", encoding="utf-8")
    told = {"fine": "[[bash echo hi > fine.txt]] [[say All done.]]", "auth": "[[err 401]]"}
    told["asks"] = "[[say Postgres or SQLite? Please let me know.]]"
    ids = {name: here.must("add", name, "--agent", agent, "--description", text).strip() for name, text in told.items()}

    here.must("up", "--until-idle", code=75)
    here.must("answer", ids["asks"], "[[say SQLite it is.]]")
    here.run("up", "--until-idle")

    fine, auth, asks = (here.show(ids[name]) for name in ("fine", "auth", "asks"))
    assert (fine["status"], fine["result"]["summary"]) == ("completed", "All done.")
    assert (place / "fine.txt").read_text(encoding="utf-8") == "hi\n"
    assert auth["attempts"][0]["diagnosis"]["subcategory"] == "auth"
    assert (asks["status"], asks["result"]["summary"]) == ("completed", "SQLite it is.")
    assert len({each["session"] for each in asks["attempts"]}) == 1
    assert sum(each["tokens_out"] for each in asks["attempts"]) == 2 * 17
