"""The environment of a command: inherited, less secrets and all that is ours, plus what says who it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from medbay.places.processes import GUARD_NAME, KEY_NAME
from medbay.places.protocol import Launch

GUIDANCE_BYTES_MAX: Final = 64_000  # the kernel takes at most 128 KiB for one variable
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
    return {
        **{name: value for name, value in launch.env.items() if not name.startswith(_STORE)},
        "MEDBAY_TASK": launch.task_id,
        "MEDBAY_ATTEMPT": str(launch.number),
        "MEDBAY_KEY": launch.idempotency_key,
        KEY_NAME: launch.attempt_key,
        "MEDBAY_GUIDANCE": _bounded(launch.guidance),
        "MEDBAY_RESULT": os.path.abspath(launch.result_path),
        **({"MEDBAY_INPUT": input_path(launch)} if launch.input_text else {}),
    }


def input_path(launch: Launch) -> str:
    """Where an attempt reads what the tasks it comes after came to: next to its log."""
    return f"{os.path.abspath(launch.log_path).removesuffix('.log')}.input.json"


def _bounded(guidance: str) -> str:
    """Guidance holds text of logs and models: what no environment can carry must not stop the attempt."""
    if not guidance:
        return ""
    raw = guidance.replace("\0", "").encode("utf-8", "replace")
    return raw[:GUIDANCE_BYTES_MAX].decode("utf-8", "ignore")
