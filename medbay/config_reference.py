"""The settings for people: the commented file that `medbay init` writes, and the tables of the reference page.

As a module it prints the tables.
"""

from __future__ import annotations

from medbay.config_key import Key
from medbay.config_keys import AGENT_KEYS, KEYS, SECTIONS
from medbay.config_kinds import shown


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
        for key in _keys_of(section):
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
        for key in _keys_of(section):
            default = key.default_is or f"`{key.default_text}`"
            variable = f"`{key.variable}`" if key.variable else ""
            parts.append(f"| `{key.name}` | {default} | {key.kind.says} | {variable} | {key.doc} |\n")
        parts.append("\n")
    return "".join(parts)


def _keys_of(section: str) -> tuple[Key, ...]:
    return tuple(key for key in (*KEYS, *AGENT_KEYS) if key.section == section)


if __name__ == "__main__":
    print(reference_tables(), end="")
