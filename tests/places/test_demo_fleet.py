"""The demo's fleet at a cluster with two workers: each command ends as it should, as on one machine."""

from __future__ import annotations

import json

import pytest

import medbay
from medbay.cli.demo.fleet import FLEET, SETTINGS, TOKEN
from tests.places.cluster import NEEDS_A_SERVER, Fleet, wait_until

pytestmark = [*NEEDS_A_SERVER, pytest.mark.long]


def test_the_fleet_of_the_demo_heals_on_two_workers(both: Fleet) -> None:
    """Diagnosis, waits, limits, advice, one question for two tasks: nothing depends on where it runs."""
    own = (both.home / "medbay.toml").read_text(encoding="utf-8")
    place = own[own.index("[places.cluster]") :]
    (both.home / "medbay.toml").write_text(f"{SETTINGS}\n{place}", encoding="utf-8")
    both.worker()
    both.worker()
    with medbay.open(both.environ.get("MEDBAY_STORE"), cwd=both.home, trust_file=True) as bay:
        ids: dict[str, str] = {}
        for patient in FLEET:
            after = {"after": [ids[patient.after]]} if patient.after else {}
            task = bay.add(
                patient.title, run=patient.script, place="cluster", cwd=str(both.home), **after, **patient.options
            )
            ids[patient.title] = task.id
        both.engine()
        waiting = {ids["push to eu"], ids["push to us"]}
        wait_until(lambda: any(waiting == set(asked.task_ids) for asked in bay.inbox()), 120)
        (both.home / TOKEN).touch()
        bay.answer(ids["push to eu"], "default")

        wait_until(lambda: all(p.check(bay.get(ids[p.title]), bay.attempts(ids[p.title])) for p in FLEET), 120)

        hosts = {attempt.place for each in ids.values() for attempt in bay.attempts(each)}
    assert hosts == {"cluster"}
    assert json.loads(both.must("show", ids["pull rates"], "--json"))["place"] == "cluster"
