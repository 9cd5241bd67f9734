"""What a real server gets to see: no secret, in what is sent, in heartbeats, in results; and nothing without bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import medbay
from tests.places.cluster import NEEDS_A_SERVER, Fleet, Server, wait_until

pytestmark = NEEDS_A_SERVER
SECRETS = {"DEPLOY_TOKEN": "kept-on-the-worker-81734", "OTHER_PASSWORD": "never-to-be-seen-55120"}


def recorded_by(server: Server) -> bytes:
    """Every byte that the server has kept."""
    return b"".join(path.read_bytes() for path in sorted(server.folder.glob("temporal.db*")))


def test_no_secret_reaches_the_server_by_any_way(fleet: Fleet, server: Server) -> None:
    """By name, from a file, in the newest output, in the log, the result, a check, and what cannot be started."""
    (fleet.home / "vars").write_text(f"OTHER_PASSWORD={SECRETS['OTHER_PASSWORD']}\n", encoding="utf-8")
    fleet.worker(DEPLOY_TOKEN=SECRETS["DEPLOY_TOKEN"])
    says = "echo mark-4711 $DEPLOY_TOKEN $OTHER_PASSWORD"
    result = """echo "{\\"summary\\": \\"used $DEPLOY_TOKEN\\", \\"data\\": \\"$OTHER_PASSWORD\\"}" > $MEDBAY_RESULT"""
    task = fleet.add(
        f"{says}; {result}; while [ ! -f go ]; do sleep 0.1; done; {says}",
        *("--env-from", "DEPLOY_TOKEN", "--env-file", "vars", "--check", "env | grep ^DEPLOY_; true"),
    )
    fleet.engine()
    wait_until(lambda: "mark-4711" in fleet.run("log", task).stdout)
    (fleet.home / "go").touch()
    wait_until(lambda: fleet.status(task) == "completed")

    seen = recorded_by(server)

    assert b"mark-4711" in seen, "nothing of it was found: this test looks in the wrong place"
    assert not [name for name, secret in SECRETS.items() if secret.encode() in seen]
    shown = json.dumps(fleet.show(task))
    assert not [name for name, secret in SECRETS.items() if secret in shown]


@pytest.mark.long  # what is kept and what is sent is also held by the tests of orders and reports
def test_a_large_result_stays_on_the_worker_and_is_named(fleet: Fleet) -> None:
    """The task is done; its result says where the whole of it is."""
    fleet.worker()
    paths = "[f'{each:0300}' for each in range(500)]"
    said = "json.dump({'artifacts': paths, 'summary': 'all of it'}, open(os.environ['MEDBAY_RESULT'], 'w'))"
    task = fleet.add(f'python3 -c "import json, os; paths = {paths}; {said}"')

    fleet.must("up", "--until-idle")

    with medbay.open(cwd=fleet.home, trust_file=True) as bay:
        result = bay.result(task)
    _, _, path = str(result["left_at"]).partition(":")
    assert fleet.status(task) == "completed" and result["summary"] == "all of it"
    assert len(json.dumps(result)) < 1_000 and result["bytes"] > 150_000
    assert len(json.loads(Path(path).read_text("utf-8"))["artifacts"]) == 500
