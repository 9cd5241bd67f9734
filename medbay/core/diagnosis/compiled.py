"""Regular expressions compiled when they are first needed: most texts need few, and a first answer should not wait."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(source: str) -> re.Pattern[str]:
    """The pattern of a source, made once; flags stand at its start."""
    return re.compile(source)
