"""The keys by their paths, and what is written of them for people: `medbay init` and the reference page.

As a module it prints the tables of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from medbay.config.fields import NAMED_PARTS, Config
from medbay.config.key import Key, Setting, default_at
from medbay.config.kinds import shown
from medbay.config.rows import NAMED, ROWS, SECTIONS


@cache
def key_at(path: str) -> Key:
    """The key that stands at a path; raises KeyError where there is none."""
    head, _, rest = path.partition(".")
    row = f"{head}.{NAMED}.{rest.rpartition('.')[2]}" if head in NAMED_PARTS else path
    return ROWS[row](path=path)


def under(config: Config, prefix: str) -> tuple[Setting, ...]:
    """The settings of a section and the sections below it, in the order of the reference."""
    known = dict.fromkeys((*paths(), *config.given))
    wanted = (path for path in known if f"{path}.".startswith(f"{prefix}."))
    return tuple(config.given.get(path) or _by_default(key_at(path)) for path in wanted)


def _by_default(key: Key) -> Setting:
    return Setting(key=key, raw=key.default, value=default_at(key.field_path))


def paths() -> list[str]:
    """Where each key stands that needs no name."""
    return [path for path in ROWS if f".{NAMED}." not in path]


def first_file() -> str:
    """The `medbay.toml` of `medbay init`: what people change first, commented out, and where the rest is."""
    settings = (
        ("# [engine]", ""),
        (_commented("engine.workers"), "how many attempts run at once"),
        ("# [budget]", ""),
        (_commented("budget.daily_cost"), "what all attempts of a day may cost together"),
        ("# [runner]", ""),
        (_commented("runner.secrets"), "environment variables that tasks do not get"),
        ("# [agents.helper]", "medbay add TITLE --agent helper"),
        (_commented(f"agents.{NAMED}.command"), ""),
        ("# [triage]", "judges failures that retries did not heal"),
        (_commented("triage.fix_agent", "helper"), "works on the fixes that a triage files"),
        ("# [notify.me]", "a message for each question and incident: medbay notify test"),
        (_commented(f"notify.{NAMED}.url"), ""),
    )
    size = max(len(line) for line, doc in settings if doc)
    return "".join(
        [
            "# Settings of Medbay. Every one is optional; uncomment a setting together with its [section].\n",
            "# Durations: 30s, 2m, 8h, 1d. A flag overrides an environment variable, and that overrides this file.\n",
            "# Every setting: docs/reference/configuration.md, or medbay init --print\n",
            *(f"{line.ljust(size)}  # {doc}\n" if doc else f"{line}\n" for line, doc in settings),
        ]
    )


def _commented(path: str, value: object = None) -> str:
    """A key with its default, else its example, commented out."""
    key = key_at(path)
    return f"# {key.name} = {shown(value or key.default or key.example)}"


def commented_file() -> str:
    """A `medbay.toml` with every setting at its default, commented out."""
    parts = [
        "# Medbay. Every setting is optional; what is commented out is the default.\n",
        "# To change one, uncomment it together with the [section] above it.\n",
        "# Durations: 50ms, 30s, 2m, 8h, 1d, 1h30m. Environment variables and flags come before this file.\n",
    ]
    told: set[str] = set()
    ways: set[str] = set()
    for section, doc in SECTIONS.items():
        parts.append(f"\n# {doc}\n# [{section}]\n")
        for key in keys_of(section):
            raw = key.default if key.default or key.example is None else key.example
            note = f" Default: {key.default_text}." if raw != key.default else ""
            if key.doc not in told:
                parts.append(f"# {key.doc}{note}\n")
            other = key.needed and section in ways  # a second way out instead of the first
            parts.append(f"# {'or: ' if other else ''}{key.name} = {shown(raw)}\n")
            told.add(key.doc)
            ways |= {section} if key.needed else set()
    return "".join(parts)


def reference_tables() -> str:
    """The tables of the reference page, one per section."""
    parts = []
    for section, doc in SECTIONS.items():
        parts.append(f"### `[{section}]`\n\n{doc}\n\n")
        parts.append("| key | default | accepted | variable | meaning |\n|---|---|---|---|---|\n")
        for key in keys_of(section):
            default = key.default_is or f"`{key.default_text}`"
            variable = f"`{key.variable}`" if key.variable else ""
            parts.append(f"| `{key.name}` | {default} | {key.kind.says} | {variable} | {key.doc} |\n")
        parts.append("\n")
    return "".join(parts)


def keys_of(section: str) -> Iterator[Key]:
    """The documented keys of a section."""
    own = (key_at(path) for path in ROWS if path.rpartition(".")[0] == section)
    return (key for key in own if not key.hidden)


if __name__ == "__main__":
    print(reference_tables(), end="")
