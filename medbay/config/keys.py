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


def commented_file() -> str:
    """A `medbay.toml` with every setting at its default, commented out."""
    parts = [
        "# Medbay. Every setting is optional; what is commented out is the default.\n",
        "# To change one, uncomment it together with the [section] above it.\n",
        "# Durations: 50ms, 30s, 2m, 8h, 1d, 1h30m. Environment variables and flags come before this file.\n",
    ]
    told: set[str] = set()
    for section, doc in SECTIONS.items():
        parts.append(f"\n# {doc}\n# [{section}]\n")
        for key in keys_of(section):
            raw = key.default if key.default or key.example is None else key.example
            note = f" Default: {key.default_text}." if raw != key.default else ""
            if key.doc not in told:
                parts.append(f"# {key.doc}{note}\n")
            parts.append(f"# {key.name} = {shown(raw)}\n")
            told.add(key.doc)
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
    """The keys of a section that are told of."""
    own = (key_at(path) for path in ROWS if path.rpartition(".")[0] == section)
    return (key for key in own if not key.hidden)


if __name__ == "__main__":
    print(reference_tables(), end="")
