"""What the doctor says of a judge: installed, with a key, reachable; nothing is sent to its provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from medbay.integrations.judges import reach
from tests.agents.imitation import Imitation
from tests.cli.calling import Cli
from tests.cli.conftest import bare  # noqa: F401 - a fixture

MODEL = "anthropic:claude-haiku-4-5"


def test_a_model_that_can_be_asked_is_fine() -> None:
    """A connection is made, and no request."""
    with Imitation() as server:
        environ = {"ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": server.url}

        found = reach.check("model", MODEL, environ)
        claude = reach.check("claude", "", {"ANTHROPIC_BASE_URL": server.url})

        assert (found.said, found.fix) == (f"model ({MODEL}) at 127.0.0.1 can be reached", "")
        assert (claude.said, claude.fix) == ("claude at 127.0.0.1 can be reached", "")
        assert (server.bill.calls, server.bill.prompts) == (0, [])


@pytest.mark.parametrize(
    ("agent", "model", "environ", "said", "certain"),
    [
        ("model", MODEL, {}, "has no key: ANTHROPIC_API_KEY is not set", True),
        ("model", "openai:gpt-5-mini", {"ANTHROPIC_API_KEY": "x"}, "OPENAI_API_KEY is not set", True),
        ("claude", "", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, "cannot be reached", False),
        ("claude", "", {"ANTHROPIC_BASE_URL": "http://[broken"}, "cannot be reached", False),
    ],
)
def test_what_is_missing_is_said_with_what_helps(
    agent: str, model: str, environ: dict[str, str], said: str, certain: bool
) -> None:
    """A key for certain; a network may be back in a moment."""
    found = reach.check(agent, model, environ)

    assert said in found.said and found.fix
    assert found.certain is certain


def test_what_cannot_be_tried_is_no_failure() -> None:
    """A provider that nobody knows here, and one behind a proxy."""
    assert "it was not tried" in reach.check("model", "mistral:large", {}).said
    proxied = {"ANTHROPIC_API_KEY": "x", "HTTPS_PROXY": "http://proxy:3128"}
    assert reach.check("model", MODEL, proxied).fix == ""


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words to type."""
    monkeypatch.setattr(reach, "missing_extra", lambda agent: "ai")

    assert reach.check("model", MODEL, {}).fix == "pip install 'medbay[ai]'"


def test_the_doctor_says_it(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """One line for triage and one for intake, where a model judges."""
    bare.good("init")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    Path("medbay.toml").write_text(f'[triage]\nagent = "model"\nmodel = "{MODEL}"\n[intake]\nagent = "model"\n')

    said = bare("doctor").out

    assert said.count(f"by model ({MODEL}) has no key: ANTHROPIC_API_KEY is not set") == 2
