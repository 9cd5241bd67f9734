"""Any command that takes its prompt from a file: nothing is read from its output, its exit code is what counts."""

from __future__ import annotations

from typing import Final

from medbay.runners.agent.preset import Preset

PRESET: Final = Preset(name="custom", title="a command of your own", prompt="file")
