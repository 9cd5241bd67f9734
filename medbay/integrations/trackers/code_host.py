"""Which tracker has the pull requests of a work tree."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from medbay.core.tracker.source import TrackerSource
from medbay.integrations.trackers.github_pulls import GitHubPulls
from medbay.integrations.trackers.github_repository import PROGRAM, open_repository, repository_of_gh
from medbay.integrations.trackers.protocol import CodeHost, TrackerError

_SCHEME: Final = re.compile(r"(?!file:)[a-z+]+://[^/]+/([^/]+/[^/]+?)(?:\.git)?/?")
_SCP: Final = re.compile(r"(?:[^@/:]+@)?[^/:]+:/?([^/:]+/[^/:]+?)(?:\.git)?/?")


def open_code_host(sources: Iterable[TrackerSource], folder: Path, remotes: Mapping[str, str], to: str) -> CodeHost:
    """The tracker that names one of the remotes of a work tree, else what `gh` takes it for.

    `to` is the remote that branches are pushed to, and so says whose they are. Raises TrackerError: of kind missing
    where nobody can be asked.
    """
    projects = {name: project_of(url) for name, url in remotes.items()}
    known = {each.lower() for each in projects.values() if each}
    named = next((each for each in sources if each.kind == "github" and each.project.lower() in known), None)
    program = shutil.which(PROGRAM)
    if named is not None:
        means = replace(named, via=PROGRAM) if program and named.via == "auto" else named
        repository = open_repository(means, os.environ)
    elif program is not None:
        repository = repository_of_gh(program, folder)
    else:
        where = projects.get(to) or remotes.get(to, to)
        raise TrackerError("missing", f"{PROGRAM} is not installed, and no [trackers.NAME] of kind github is {where}")
    return GitHubPulls(repository, (projects.get(to) or repository.project).partition("/")[0])


def project_of(url: str) -> str:
    """The `owner/repository` that the address of a remote ends with; empty where it is a path of this machine."""
    found = _SCHEME.fullmatch(url) or _SCP.fullmatch(url)
    return found[1] if found else ""
