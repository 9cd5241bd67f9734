"""What a person reads: the one-line summary, and the advice with the names that the output gives."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.rule import compiled
from medbay.core.diagnosis.rules.names import NAMED

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
    "code_error/session": "Session no longer accepted",
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
    "unknown/refused": "The model refused",
    "unknown/pipe": "Broken pipe",
    "unknown/config": "Environment problem",
    "unknown/conflict": "Conflict",
    "unknown/malformed_output": "Malformed output",
    "unknown/merge_conflict": "Merge conflict",
    "unknown/pull_request": "The pull request came back",
    "unknown/setup": "Worktree not prepared",
    "unknown/asked": "It asks",
    "unknown/denied": "Not allowed",
    "unknown/max_turns": "Turns used up",
    "unknown/loop": "It went in circles",
    "unknown/no_evidence": "No evidence",
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

NAME_MAX: Final = 80
OFFERED_MAX: Final = 4
_OFFERS: Final = (
    r"(?i)(?:from versions|candidate versions found which didn't match|(?:available|valid|known) versions(?: are)?"
    r"|versions available)[^:\n]{0,60}: ?([\w.+*, `'\"-]{1,400})"
)
_ECOSYSTEMS: Final = (
    (("npm ", "node:internal", "node_modules", "yarn ", "pnpm "), "package.json"),
    (("Cargo", "cargo ", "crates.io", "error[E04"), "Cargo.toml"),
    (("go: ", "go get ", "go.sum"), "go.mod"),
    (("bundle", "Bundler", "cannot load such file", ".gem"), "Gemfile"),
    (
        ("ModuleNotFoundError", "No module named", "pip ", "Could not find a version that satisfies"),
        "pyproject.toml or requirements.txt",
    ),
    (("composer", "Composer"), "composer.json"),
    (("mix deps", "** (Mix)"), "mix.exs"),
)


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


def advise(advice: str, what: str = "", line: str = "", body: str = "", place: str = "") -> str:
    """Return the advice with package, version, pinning file and place filled in where the output names them."""
    if "{" not in advice:
        return advice
    find_version = compiled(_VERSION).search
    version = find_version(line) if what and not find_version(what) else None
    named = bare_name(what) + (f" {version[1]}" if version else "")
    filled = advice.replace("{what}", named if what else "what is missing").replace("{place}", place)
    return filled.replace("{pin}", _pin(body)) + _offered(body) if "{pin}" in advice else filled


def advise_on_names(line: str, place: str) -> str:
    """Return what to do about a name or type that the line names: the name, its module, the two types; else nothing."""
    for pattern, advice in NAMED:
        match = compiled(pattern).search(line)
        if match is not None:
            names = {key.rstrip("2"): bare_name(value)[:NAME_MAX] for key, value in match.groupdict().items() if value}
            return advice.format(**names, place=place)
    return ""


def _pin(body: str) -> str:
    """The file that pins what is missing: as the output names it, else the one of the tools that speak in it."""
    named = compiled(_MANIFESTS).search(body) if any(map(body.__contains__, _MANIFEST_PARTS)) else None
    if named is not None:
        return named[0]
    return next((file for words, file in _ECOSYSTEMS if any(map(body.__contains__, words))), "the dependency file")


def _offered(body: str) -> str:
    """Which versions there are, where the index said so."""
    if "version" not in body:
        return ""
    found = compiled(_OFFERS).search(body)
    if found is None:
        return ""
    versions = [each.strip(" `'\"") for each in found[1].split(",")]
    kept = [each for each in versions if each and each != "none" and "." in each][-OFFERED_MAX:]
    return f" Available: {', '.join(kept)}." if kept else ""
