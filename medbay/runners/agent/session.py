"""The file in which a tool keeps its session: where its record on stdout tells what it used only at the end.

It is read as it grows, beside that record, so that a budget holds while the agent runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from glob import escape, glob
from typing import Final

from medbay.foreign import open_regular
from medbay.runners.agent.preset import Preset
from medbay.runners.agent.transcript import Transcript, record_in

READ_BYTES: Final = 8_000_000  # at once


def pass_over(preset: Preset, transcript: Transcript, env: Mapping[str, str]) -> None:
    """What an earlier attempt left in the session that is continued is not this one's."""
    _find(preset, transcript, env)
    with suppress(OSError):
        transcript.session_offset = os.path.getsize(transcript.session_path)


def read_on(preset: Preset, transcript: Transcript, env: Mapping[str, str]) -> None:
    """Take the whole lines that it has beyond what was read."""
    if preset.read_session is None:
        return
    _find(preset, transcript, env)
    if not transcript.session_path:
        return
    with suppress(OSError), open(open_regular(transcript.session_path), "rb") as file:
        file.seek(transcript.session_offset)
        raw = file.read(READ_BYTES)
        whole = len(raw) if len(raw) == READ_BYTES else raw.rfind(b"\n") + 1
        transcript.session_offset += whole
        for line in raw[:whole].decode("utf-8", "replace").split("\n"):
            if (record := record_in(line.strip())) is not None:
                preset.read_session(record, transcript)


def _find(preset: Preset, transcript: Transcript, env: Mapping[str, str]) -> None:
    """Look for the file, once the session has a name."""
    if transcript.session_path or not transcript.session or not preset.session_file:
        return
    variable, usual = preset.session_home
    known = {**os.environ, **env}
    home = known.get(variable) or usual.replace("~", known.get("HOME") or os.path.expanduser("~"), 1)
    name = preset.session_file.replace("{session}", transcript.session).replace("{beginning}", transcript.session[:8])
    found = glob(os.path.join(escape(home), name))
    if found:
        transcript.session_path = max(found)
