"""Jobs of a file as records: what was not said is empty, and nothing can be changed afterwards."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from medbay.core.jobs import FileJob, JobChange, JobFile


def test_what_was_not_said_is_empty() -> None:
    """Of a job, and of what became of it."""
    job = FileJob(name="backup", key="apply:jobs.toml:backup", given={"run": "true"})
    change = JobChange(name="backup", action="keep")

    assert (job.line, job.lines) == (1, {})
    assert (change.line, change.task_id, change.changed, change.error) == (None, "", {}, None)


def test_a_file_is_what_was_read() -> None:
    """For as long as it is applied."""
    file = JobFile(jobs=(), prefix="apply:jobs.toml:", cwd="/srv")

    with pytest.raises(FrozenInstanceError):
        file.prefix = "other"  # type: ignore[misc]
