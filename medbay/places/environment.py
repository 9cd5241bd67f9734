"""The environment of a command: inherited, less secrets and all that is ours, plus what says who it is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Final

from medbay.errors import SpawnFailed
from medbay.places.processes import GUARD_NAME, KEY_NAME
from medbay.places.protocol import Launch

GUIDANCE_BYTES_MAX: Final = 64_000  # the kernel takes at most 128 KiB for one variable
FILE_BYTES_MAX: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OURS: Final = "MEDBAY_"
_STORE: Final = "MEDBAY_STORE"


Encoded = dict[bytes, bytes]  # encoded once per runner: encoding it at every start costs a twentieth of the rate


def inheritable(environ: Mapping[str, str], secrets: Sequence[str], *, guard: str = "") -> Encoded:
    """What of the engine's environment goes to a command, and its mark: no secrets, no store, no outer attempt."""
    inherited = {
        os.fsencode(name): os.fsencode(value)
        for name, value in environ.items()
        if not name.startswith(_OURS) and not any(fnmatchcase(name, glob) for glob in secrets)
    }
    # Here, before the key of the attempt: what follows the key is overwritten when a worker changes it.
    return {**inherited, GUARD_NAME.encode(): guard.encode()} if guard else inherited


def child_environment(inherited: Encoded, launch: Launch) -> Encoded:
    """The whole environment of one attempt; raises ValueError for what no environment can hold."""
    return {**inherited, **{os.fsencode(name): os.fsencode(value) for name, value in own_variables(launch).items()}}


def own_variables(launch: Launch) -> dict[str, str]:
    """What an attempt has beyond what all inherit. What follows the key is its room when a worker changes it."""
    given = _named(launch.env_from, os.environ) if launch.env_from else {}
    if launch.env_file:
        given |= _of_file(os.path.join(launch.cwd, launch.env_file))
    if launch.env:
        given |= {name: value for name, value in launch.env.items() if not name.startswith(_STORE)}
    result = launch.result_path
    own = {
        **given,
        "MEDBAY_TASK": launch.task_id,
        "MEDBAY_ATTEMPT": str(launch.number),
        "MEDBAY_KEY": launch.idempotency_key,
        KEY_NAME: launch.attempt_key,
        "MEDBAY_GUIDANCE": _bounded(launch.guidance),
        "MEDBAY_RESULT": result if os.path.isabs(result) else os.path.abspath(result),
    }
    if launch.input_text:
        own["MEDBAY_INPUT"] = input_path(launch)
    return own


def input_path(launch: Launch) -> str:
    """Where an attempt reads what the tasks it comes after came to: next to its log."""
    return f"{os.path.abspath(launch.log_path).removesuffix('.log')}.input.json"


def known_variables(env: Iterable[tuple[str, str]], file: str, cwd: str) -> dict[str, str]:
    """The variables of a task whose values must not be repeated, as far as they can be read."""
    found = dict(env)
    if file:
        with suppress(SpawnFailed):
            found |= _of_file(os.path.join(cwd, file))
    return found


def _named(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    missing = [name for name in names if name not in environ]
    if missing:
        raise SpawnFailed(f"{missing[0]} is not set in the environment of the daemon, and --env-from asks for it")
    return {name: environ[name] for name in names if not name.startswith(_OURS)}


def _of_file(path: str) -> dict[str, str]:
    """Lines of NAME=VALUE, perhaps with `export` in front and quotes around; # begins a comment."""
    try:
        # Without O_NONBLOCK a FIFO in its place would hang the engine.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise SpawnFailed(f"cannot read the file of variables {path}: {error.strerror or error}") from error
    if len(data) > FILE_BYTES_MAX:
        raise SpawnFailed(f"the file of variables {path} is larger than {FILE_BYTES_MAX} bytes")
    found = {}
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").splitlines(), start=1):
        text = line.strip().removeprefix("export ").strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name.strip()):
            raise SpawnFailed(f"{path}:{number} is not NAME=VALUE")
        value = value.strip()
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        found[name.strip()] = value[1:-1] if quoted else value
    return {name: value for name, value in found.items() if not name.startswith(_OURS)}


def _bounded(guidance: str) -> str:
    """Guidance holds text of logs and models: what no environment can carry must not stop the attempt."""
    if not guidance:
        return ""
    raw = guidance.replace("\0", "").encode("utf-8", "replace")
    return raw[:GUIDANCE_BYTES_MAX].decode("utf-8", "ignore")
