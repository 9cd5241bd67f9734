"""A file of jobs as text: its tables `[jobs.NAME]`, with the line of every key. What a key means is said elsewhere."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final

from medbay.config import lines as toml_lines
from medbay.errors import ConfigError

NAME_MAX: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTable:
    """One table `[jobs.NAME]`."""

    name: str
    line: int
    given: Mapping[str, Any]
    lines: Mapping[str, int] = field(default_factory=dict)


def read_jobs(text: str, file: str) -> tuple[str, tuple[JobTable, ...]]:
    """The name the file gives itself (empty: none), and its jobs in their order."""
    if toml_lines.is_too_deep(text):
        raise ConfigError("has a key of too many parts", file=file, hint="nothing was changed")
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not TOML: {error}", file=file, hint="nothing was changed") from None
    known = toml_lines.locate(text)

    def wrong(message: str, *path: str, hint: str = "") -> ConfigError:
        return ConfigError(message, file=file, line=toml_lines.nearest(known, path), hint=hint or "nothing was changed")

    for key in found:
        if key not in ("name", "jobs"):
            raise wrong(f'unknown key "{key}"', key, hint="a job is a table [jobs.NAME]; name = names the file")
    name, tables = found.get("name", ""), found.get("jobs", {})
    if not isinstance(name, str) or len(name) > NAME_MAX or ":" in name:
        raise wrong(f"name is text of at most {NAME_MAX} characters without a colon", "name")
    if not isinstance(tables, dict):
        raise wrong("jobs is a table of tables", "jobs", hint="write [jobs.NAME]")
    jobs = []
    for job, given in tables.items():
        if not isinstance(given, dict):
            raise wrong(f'"{job}" is not a table', "jobs", job, hint=f"write [jobs.{job}]")
        if not job.strip() or ":" in job or len(job) > NAME_MAX or not job.isprintable():
            raise wrong(f"the name of a job has 1 to {NAME_MAX} characters and no colon", "jobs", job)
        lines = {key: toml_lines.nearest(known, ("jobs", job, key)) for key in given}
        line = toml_lines.nearest(known, ("jobs", job))
        plain = {key: _plain(value) for key, value in given.items()}
        jobs.append(JobTable(name=job, line=line, given=plain, lines=lines))
    return name, tuple(jobs)


def _plain(value: Any) -> Any:
    """A date or time of TOML as the text it stands for."""
    return value.isoformat() if isinstance(value, datetime | date) else value
