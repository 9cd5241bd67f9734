"""Whether an agent is here: its program, its version, whether it is signed in; and one cheap call that shows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from medbay.core.agent import Profile
from medbay.core.outcome import Failed, Outcome, Output, Succeeded
from medbay.runners.agent import ending
from medbay.runners.agent.preset import Preset, Run, command_of
from medbay.runners.agent.profiles import preset_of
from medbay.runners.agent.transcript import Transcript

VERSION_S: Final = 10.0
CALL_S: Final = 120.0
HELLO: Final = "Answer with the one word OK. Use no tools and change nothing."
_TEXT_MAX: Final = 100


class Presence(Struct, frozen=True, kw_only=True):
    """What there is of an agent on this machine."""

    program: str  # the word it is started by
    path: str = ""  # empty: not installed
    version: str = ""
    signed_in: bool | None = None  # None: nobody can tell without a call
    install: str = ""
    sign_in: str = ""


class AgentCall(Struct, frozen=True, kw_only=True):
    """How one cheap call ended."""

    worked: bool
    said: str
    kind: str = ""
    model: str = ""
    tokens: int = 0
    cost: int | None = None


def look(profile: Profile, environ: Mapping[str, str]) -> Presence:
    """Look for the program of a profile; its version is asked for, nothing is called."""
    preset = preset_of(profile)
    words = profile.command or preset.start
    program = profile.program or (words[0] if words else "")
    path = shutil.which(program) or ""
    return Presence(
        program=program,
        path=path,
        version=_version(path, environ) if path and not profile.command else "",
        signed_in=_signed_in(preset, environ) if preset.has_record else None,
        install=preset.install,
        sign_in=preset.sign_in,
    )


def call(profile: Profile, environ: Mapping[str, str], *, model: str = "") -> AgentCall:
    """Make one cheap real call in a directory of its own, and read its record."""
    preset = preset_of(profile)
    with tempfile.TemporaryDirectory(prefix="medbay-check-") as folder:
        prompt, log = Path(folder) / "prompt.md", Path(folder) / "log"
        prompt.write_text(HELLO, encoding="utf-8")
        run = Run(prompt_file=str(prompt), model=model or profile.model, session=_session(folder), turns=1)
        reads = preset.prompt == "stdin" and not profile.command
        try:
            with prompt.open("rb") as told, log.open("wb") as output:
                done = subprocess.run(
                    command_of(preset, profile, run),
                    stdin=told if reads else subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    env={**environ, **preset.env},
                    timeout=CALL_S,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            return AgentCall(worked=False, said=f"no answer within {CALL_S:.0f} s", kind="timeout/limit")
        except OSError as error:
            found = look(profile, environ)
            missing = f"{found.program} is not installed" + (f": {found.install}" if found.install else "")
            said = f"cannot be started: {error.strerror}" if found.path else missing
            return AgentCall(worked=False, said=said, kind="dependency_missing/command")
        return _read(preset, log.read_text(encoding="utf-8", errors="replace"), done.returncode)


def _read(preset: Preset, text: str, code: int) -> AgentCall:
    transcript = Transcript()
    ending.feed(preset, transcript, text)
    output = Output(tail=text[-_TEXT_MAX:], total_bytes=len(text))
    raw: Outcome = Succeeded(output=output) if code == 0 else Failed(output=output, exit_code=code)
    judged = ending.judged(preset, transcript, raw)
    worked = isinstance(judged, Succeeded)
    said = transcript.said if worked else str((judged.output.result or {}).get("summary") or transcript.text() or text)
    return AgentCall(
        worked=worked,
        said=" ".join(said.split())[-300:],
        kind="" if worked else str((judged.output.result or {}).get("category") or ""),
        model=transcript.model,
        tokens=transcript.tokens,
        cost=transcript.reckoned(),
    )


def _session(folder: str) -> str:
    """A session of its own for the call; the directory has a name that nobody else has."""
    digits = folder.encode().hex()[-32:].rjust(32, "0")
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def _version(path: str, environ: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=dict(environ),
            timeout=VERSION_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    lines = [each for each in done.stdout.splitlines() if any(letter.isdigit() for letter in each)]
    return lines[-1].strip()[:_TEXT_MAX] if lines else ""


def _signed_in(preset: Preset, environ: Mapping[str, str]) -> bool:
    """Whether a key is in the environment or a file shows it; whether they are accepted only a call tells."""
    home = environ.get("HOME", os.path.expanduser("~"))
    files = (each.replace("~", home, 1) for each in preset.account_files)
    return any(environ.get(name) for name in preset.accounts) or any(map(os.path.exists, files))
