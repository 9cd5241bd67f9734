"""What a person reads: the one-line summary, and the advice with the names that the output gives."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.rule import compiled

SUMMARY_MAX: Final = 200

_LEADS: Final = {
    "transient": "Temporary failure",
    "transient/rate_limit": "Rate limit",
    "transient/usage_limit": "Usage limit",
    "transient/overloaded": "Service overloaded",
    "transient/service": "Service failing",
    "transient/network": "Network failure",
    "transient/lock": "Held by another process",
    "code_error": "Error",
    "code_error/config": "Configuration error",
    "code_error/version": "Wrong version",
    "code_error/crash": "Crash",
    "code_error/data": "Damaged data",
    "code_error/sql": "SQL error",
    "code_error/lint": "Lint findings",
    "code_error/compile": "Compile error",
    "code_error/syntax": "Syntax error",
    "code_error/type": "Type or name error",
    "test_failure": "Test failed",
    "timeout": "Time limit exceeded",
    "resource_exhaustion": "Out of resources",
    "resource_exhaustion/memory": "Out of memory",
    "resource_exhaustion/disk": "Disk full",
    "resource_exhaustion/context_window": "Context window exceeded",
    "resource_exhaustion/quota": "Credits or quota used up",
    "dependency_missing": "Missing",
    "dependency_missing/command": "Command missing",
    "dependency_missing/module": "Module missing",
    "dependency_missing/package": "Package not available",
    "unknown": "Unknown failure",
    "unknown/auth": "Not authorized",
    "unknown/permission": "Permission denied",
    "unknown/config": "Environment problem",
    "unknown/conflict": "Conflict",
    "unknown/malformed_output": "Malformed output",
    "unknown/no_evidence": "No evidence",
    "unknown/merge_conflict": "Merge conflict",
    "unknown/setup": "Worktree not prepared",
    "unknown/interrupted": "Interrupted",
    "unknown/no_failure": "No failure in the output",
}
_MANIFESTS: Final = (
    r"\b(?:requirements[\w.-]{0,30}\.(?:txt|in)|pyproject\.toml|package\.json|Cargo\.toml|go\.mod|Gemfile|composer\.json|mix\.exs"
    r"|pom\.xml|build\.gradle(?:\.kts)?|pubspec\.yaml|environment\.ya?ml|Pipfile|Podfile|Package\.swift|\w{1,40}\.csproj|setup\.py)\b"
)
_MANIFEST_PARTS: Final = (
    "requirements", ".toml", ".json", "go.mod", "Gemfile", "mix.exs", "pom.xml", "build.gradle", ".yaml", ".yml",
    "Pipfile", "Podfile", "Package.swift", ".csproj", "setup.py",
)  # fmt: skip
_VERSION: Final = r"(?:==|@|~>|>=|<=|\^|version[ '\"]{1,2})\s?v?(\d[\w.*+-]{0,30})"


def summarize(category: str, subcategory: str | None, line: str, place: str) -> str:
    """One line a person understands: the kind in words, the line that says it, and where."""
    lead = _LEADS.get(f"{category}/{subcategory}") or _LEADS[category]
    told = " ".join(line.split())
    where = f" ({place})" if place and place not in told and place.rsplit("/", 1)[-1] not in told else ""
    text = f"{lead}: {told}" if told else lead
    return text[: SUMMARY_MAX - len(where)] + where if len(where) < SUMMARY_MAX else text[:SUMMARY_MAX]


def relabel(summary: str, *, before: str, after: str) -> str:
    """The summary of a failure whose kind was corrected: the words for the kind change, the rest stays."""
    old, new = (_LEADS.get(kind) or _LEADS[kind.partition("/")[0]] for kind in (before, after))
    return (new + summary.removeprefix(old))[:SUMMARY_MAX] if summary.startswith(old) else summary


def bare_name(what: str) -> str:
    """A name without the marks around it; the dot of `./run.sh` belongs to it."""
    return what.strip(" ,:;'\"`").rstrip(".")


def advise(advice: str, what: str, line: str, body: str) -> str:
    """The advice with package, version and pinning file filled in where the output names them."""
    if "{" not in advice:
        return advice
    find_version = compiled(_VERSION).search
    version = find_version(line) if what and not find_version(what) else None
    manifest = compiled(_MANIFESTS).search(body) if any(map(body.__contains__, _MANIFEST_PARTS)) else None
    named = bare_name(what) + (f" {version[1]}" if version else "")
    return advice.replace("{what}", named if what else "what is missing").replace(
        "{pin}", manifest[0] if manifest else "the dependency file"
    )
