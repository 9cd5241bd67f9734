"""story.md: what its frontmatter and its criteria say, and the same file with what the store says now.

People edit this file with any editor, so reading never fails: what cannot be read is named with its line and counts as
not said. Writing changes the values that differ and leaves every other character as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml
from msgspec import Struct
from msgspec.structs import replace

from medbay.core.untrusted import line, lines, number
from medbay.core.workflow.records import Story

FILE_MAX: Final = 256 * 1024  # characters
NAME_MAX: Final = 100
TITLE_MAX: Final = 200
CRITERION_MAX: Final = 2_000
LIST_MAX: Final = 100
MULTIPLIER_MAX: Final = 1_000.0
PRIORITY_MAX: Final = 4
ENFORCEMENT: Final = ("advisory", "warning", "soft_gate", "hard_gate")

_FENCE: Final = re.compile(r"---[ \t]*")
_TOP_KEY: Final = re.compile(r"(?P<key>[A-Za-z_][\w-]*)[ \t]*:(?:\s|$)")
_HEADING: Final = re.compile(r"#{1,6}[ \t]+(?P<words>.*?)[ \t#:]*")
_ITEM: Final = re.compile(r"[ \t]{0,3}(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<words>\S.*)")


class StoryText(Struct, frozen=True, kw_only=True):
    """What a story.md says; None where it does not say it, or not in a way that can be read."""

    id: str | None = None
    title: str | None = None
    status: str | None = None
    priority: int | None = None
    depends_on: tuple[str, ...] | None = None
    enforcement: str | None = None
    multiplier: float | None = None
    criteria: tuple[str, ...] | None = None
    mistakes: tuple[str, ...] = ()  # each with its line
    readable: bool = True  # whether its frontmatter has the form of one

    @property
    def said(self) -> dict[str, Any]:
        """What it says, by name."""
        names = (name for name in self.__struct_fields__ if name not in ("mistakes", "readable"))
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def read(text: str) -> StoryText:
    """What a story.md says. Never fails."""
    if len(text) > FILE_MAX:
        return StoryText(mistakes=(f"line 1: the file is longer than {FILE_MAX // 1024} KB",), readable=False)
    front, body = _parted(text)
    if front is None:
        missing = "line 1: there is no frontmatter between two lines of ---"
        return StoryText(criteria=_criteria_in(body), mistakes=(missing,), readable=not _opens(text))
    try:
        values = yaml.safe_load(front) if front.strip() else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return StoryText(mistakes=(_not_yaml(error),), readable=False)
    if not isinstance(values, dict):
        wrong = "line 2: the frontmatter is not a list of `name: value`"
        return StoryText(mistakes=(wrong,), readable=False)
    return _Values(values, front.split("\n")).read(_criteria_in(body))


def told(story: Story) -> StoryText:
    """What the store says of a story, as its file can say it: one line each."""
    criteria = tuple(dict.fromkeys(words for each in story.criteria if (words := line(each, CRITERION_MAX))))
    return StoryText(
        id=story.id,
        title=line(story.title, TITLE_MAX) or None,
        status=story.status,
        priority=story.priority,
        depends_on=story.depends_on,
        enforcement=story.enforcement,
        multiplier=story.multiplier,
        criteria=criteria,
    )


def render(story: Story, before: str | None) -> str:
    """The file of a story: what it says already stays as it is written, and so does everything that is not ours.

    A frontmatter that cannot be read is a person's to mend: the text is returned as it is.
    """
    wants = told(story).said
    if before is None:
        words = f"\n{lines(story.description).strip()}\n" if story.description.strip() else ""
        before = f"\n# {wants.get('title', story.id)}\n{words}"
    found = read(before)
    has = found.said
    if not found.readable or all(has.get(name) == value for name, value in wants.items()):
        return before
    front, body = _parted(before)
    made = front.split("\n") if front else []
    for key, names in _KEYS.items():
        if any(name in wants and has.get(name) != wants[name] for name in names):
            made = _with(made, key, _yaml(key, {name: wants[name] for name in names if name in wants}))
    if has.get("criteria") != wants["criteria"]:
        made = _with(made, _CRITERIA_KEY, None)
        body = _with_criteria(body, wants["criteria"])
    return "---\n" + "".join(f"{each}\n" for each in made) + "---\n" + body


def edited(
    found: StoryText, written: Mapping[str, Any], story: Story, *, before: Mapping[str, Any] | None = None
) -> StoryText | None:
    """What a person changed: values that are neither what was written last nor what the store says; None for none.

    `before` is what the file said when a write of it was begun and not seen to end: it may still say that. Where
    nothing is known of what was written last, nothing was edited: the store stands.
    """
    earlier = before or {}
    now = told(story).said
    changes = {
        name: value
        for name, value in found.said.items()
        if name in written and value not in (written[name], now.get(name), earlier.get(name)) and name != "id"
    }
    return StoryText(**changes, mistakes=found.mistakes) if changes or found.mistakes else None


_KEYS: Final[dict[str, tuple[str, ...]]] = {  # of the frontmatter, with what each says
    "id": ("id",),
    "title": ("title",),
    "status": ("status",),
    "priority": ("priority",),
    "depends_on": ("depends_on",),
    "token_budget": ("enforcement", "multiplier"),
}
_CRITERIA_KEY: Final = "acceptance_criteria"


class _Values:
    """The values of a frontmatter, read one by one; what cannot be read is a problem."""

    def __init__(self, values: dict[Any, Any], lines: list[str]) -> None:
        self._values = values
        self._lines = lines
        self._mistakes: list[str] = []

    def read(self, criteria: tuple[str, ...] | None) -> StoryText:
        budget = self._budget()
        said = StoryText(
            id=self._name("id", NAME_MAX),
            title=self._name("title", TITLE_MAX),
            status=self._name("status", NAME_MAX),
            priority=self._priority(),
            depends_on=self._list("depends_on", NAME_MAX, split=True),
            enforcement=self._enforcement(budget),
            multiplier=self._multiplier(budget),
            criteria=self._list(_CRITERIA_KEY, CRITERION_MAX) if _CRITERIA_KEY in self._values else criteria,
        )
        return replace(said, mistakes=tuple(self._mistakes))

    def _wrong(self, key: str, why: str) -> None:
        found = (at for at, each in enumerate(self._lines) if (top := _TOP_KEY.match(each)) and top["key"] == key)
        self._mistakes.append(f"line {next(found, 0) + 2}: {key} {why}")

    def _name(self, key: str, limit: int) -> str | None:
        value = self._values.get(key)
        if value is None:
            return None
        words = line(str(value), limit) if isinstance(value, str | int | float) else ""
        if not words:
            self._wrong(key, "is not a text")
        return words or None

    def _priority(self) -> int | None:
        value = self._values.get("priority")
        if value is None:
            return None
        words = str(value).strip().upper().removeprefix("P")
        if words.isascii() and words.isdigit() and int(words[:3]) <= PRIORITY_MAX:
            return int(words[:3])
        self._wrong("priority", f"is not one of 0 to {PRIORITY_MAX}")
        return None

    def _list(self, key: str, limit: int, *, split: bool = False) -> tuple[str, ...] | None:
        value = self._values.get(key, ())
        if value is None:
            return ()
        if key not in self._values:
            return None
        if isinstance(value, str | int | float):
            value = re.split(r"[,\s]+", str(value).strip()) if split else [value]
        if not isinstance(value, list) or not all(isinstance(each, str | int | float) for each in value):
            self._wrong(key, "is not a list of texts")
            return None
        if len(value) > LIST_MAX:
            self._wrong(key, f"has more than {LIST_MAX} entries")
            return None
        return tuple(dict.fromkeys(words for each in value if (words := line(str(each), limit))))

    def _budget(self) -> dict[Any, Any]:
        value = self._values.get("token_budget") or {}
        if not isinstance(value, dict):
            self._wrong("token_budget", "has `enforcement` and `multiplier`, and nothing else")
            return {}
        return value

    def _enforcement(self, budget: dict[Any, Any]) -> str | None:
        value = budget.get("enforcement")
        if value is None or value in ENFORCEMENT:
            return value
        self._wrong("token_budget", f"enforcement is not one of {', '.join(ENFORCEMENT)}")
        return None

    def _multiplier(self, budget: dict[Any, Any]) -> float | None:
        value = budget.get("multiplier")
        found = number(value)
        if value is None or (found is not None and 0 < found <= MULTIPLIER_MAX):
            return found
        self._wrong("token_budget", f"multiplier is not a number above 0, up to {MULTIPLIER_MAX:g}")
        return None


def _opens(text: str) -> bool:
    return _FENCE.fullmatch(text.removeprefix("\ufeff").partition("\n")[0].rstrip("\r")) is not None


def _parted(text: str) -> tuple[str | None, str]:
    """Frontmatter and the rest; no frontmatter where it does not begin and end."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if _opens(text):
        for at, each in enumerate(lines[1:], start=1):
            if _FENCE.fullmatch(each):
                return "\n".join(lines[1:at]), "\n".join(lines[at + 1 :])
    return None, text


def _not_yaml(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    at = mark.line + 2 if mark is not None else 2
    why = "it is nested too deep" if isinstance(error, RecursionError) else getattr(error, "problem", None) or error
    return f"line {at}: the frontmatter is not YAML: {line(str(why), 200)}"


def _yaml(key: str, values: dict[str, Any]) -> list[str]:
    """The lines of one key. Texts are quoted as in JSON, which YAML reads whatever is in them."""
    if key == "token_budget":
        return [f"{key}:", *(f"  {name}: {json.dumps(value)}" for name, value in values.items())]
    value = values[key]
    if key == "status":
        return [f"{key}: {value}" if re.fullmatch(r"[a-z][a-z-]*", value) else f"{key}: {json.dumps(value)}"]
    return [f"{key}: {json.dumps(value, ensure_ascii=False)}"]


def _with(lines: list[str], key: str, new: list[str] | None) -> list[str]:
    """The lines of a frontmatter with those of one key replaced, added, or with None taken away."""
    made: list[str] = []
    inside = done = False
    for each in lines:
        top = _TOP_KEY.match(each)
        if top or (inside and each[:1] not in ("", " ", "\t", "-", "]", "}")):
            inside = top is not None and top["key"] == key
            if inside:
                made += [] if done else new or []
                done = True
        if not inside:
            made.append(each)
    return made if done or new is None else [*made, *new]


def _criteria_at(lines: list[str]) -> tuple[int, int] | None:
    """From which line to which the section of the criteria goes, its heading left out."""
    for at, each in enumerate(lines):
        heading = _HEADING.fullmatch(each)
        if heading and heading["words"].strip().casefold() == "acceptance criteria":
            ends = (n for n, one in enumerate(lines[at + 1 :], start=at + 1) if _HEADING.fullmatch(one))
            return at + 1, next(ends, len(lines))
    return None


def _criteria_in(body: str) -> tuple[str, ...] | None:
    rows = body.replace("\r\n", "\n").split("\n")
    found = _criteria_at(rows)
    if found is None:
        return None
    items = (_ITEM.fullmatch(each) for each in rows[found[0] : found[1]])
    words = (line(item["words"], CRITERION_MAX) for item in items if item)
    return tuple(dict.fromkeys(words))[:LIST_MAX]


def _with_criteria(body: str, criteria: Iterable[str]) -> str:
    """The text with its section of criteria replaced, or with one at its end."""
    items = [f"{at}. {each}" for at, each in enumerate(criteria, start=1)]
    rows = body.split("\n")
    found = _criteria_at(rows)
    if found is None:
        return body.rstrip("\n") + "\n\n## Acceptance criteria\n\n" + "".join(f"{each}\n" for each in items)
    kept = [each for each in rows[found[0] : found[1]] if each.strip() and not _ITEM.fullmatch(each)]
    section = ["", *kept, *([""] if kept else []), *items, ""]
    return "\n".join([*rows[: found[0]], *section, *rows[found[1] :]])
