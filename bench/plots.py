"""Bar charts as SVG, written by hand: a sentence as title, bars from zero with their labels, the target a dashed line.

Colours are those of the interface: ours in the token `run`, peers in `idle`, the target in `wait`. An outline and the
label say the same without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bench.targets import figure

WIDTH = 760
LEFT = 180
RIGHT = 110
ROW = 30
TOP = 62
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1c2733 }
.title { font-size: 15px; font-weight: 600 } .small { font-size: 12px; fill: #56606b }
.ground { fill: #ffffff } .ours { fill: #1457b8; stroke: #0b5cad } .peer { fill: #868d95; stroke: #56606b }
.bar { stroke: #7a5600; stroke-width: 2; stroke-dasharray: 5 4 } .axis { stroke: #56606b }
.spread { stroke: #1c2733 } .target { fill: #7a5600 }
.value { paint-order: stroke; stroke: #ffffff; stroke-width: 5 }
@media (prefers-color-scheme: dark) {
text { fill: #e8ecf0 } .small { fill: #a3adb8 } .ground { fill: #11161c }
.ours { fill: #2f80e8; stroke: #6db3ff } .peer { fill: #6f7883; stroke: #a3adb8 }
.bar { stroke: #f2d15c } .axis { stroke: #a3adb8 } .spread { stroke: #e8ecf0 } .target { fill: #f2d15c }
.value { stroke: #11161c }
}
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """One value with its label; `least` and `most` are drawn as a thin line over it."""

    label: str
    value: float
    least: float
    most: float
    ours: bool


def chart(title: str, below: str, bars: Sequence[Bar], *, target: float | None = None) -> str:
    """A whole picture."""
    longest = max([*(bar.most for bar in bars), target or 0.0]) or 1.0
    scale = (WIDTH - LEFT - RIGHT) / longest
    height = TOP + ROW * len(bars) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="16" y="26">{escape(title)}</text>',
        f'<text class="small" x="16" y="46">{escape(below)}</text>',
    ]
    for row, bar in enumerate(bars):
        parts += _row(bar, TOP + ROW * row, scale)
    bottom = TOP + ROW * len(bars)
    parts.append(f'<line class="axis" x1="{LEFT}" y1="{TOP - 4}" x2="{LEFT}" y2="{bottom}"/>')
    if target is not None:
        at = LEFT + target * scale
        side = "end" if at > WIDTH - 260 else "start"
        parts.append(f'<line class="bar" x1="{at:.1f}" y1="{TOP - 4}" x2="{at:.1f}" y2="{bottom + 4}"/>')
        words = f"target {figure(target, digits=3)}"
        parts.append(f'<text class="target" x="{at:.1f}" y="{bottom + 20}" text-anchor="{side}">{words}</text>')
    parts += [_value(bar, TOP + ROW * row, scale) for row, bar in enumerate(bars)]
    return "\n".join([*parts, "</svg>", ""])


def _row(bar: Bar, top: int, scale: float) -> list[str]:
    kind = "ours" if bar.ours else "peer"
    middle = top + ROW / 2 - 3
    end = LEFT + bar.value * scale
    edge = LEFT + max(bar.value, bar.most) * scale
    lines = [
        f'<text x="{LEFT - 10}" y="{middle + 5:.1f}" text-anchor="end">{escape(bar.label)}</text>',
        f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{max(1.0, end - LEFT):.1f}" height="{ROW - 8}"/>',
    ]
    if bar.most > bar.least:
        start = LEFT + bar.least * scale
        lines.append(f'<line class="spread" x1="{start:.1f}" y1="{middle:.1f}" x2="{edge:.1f}" y2="{middle:.1f}"/>')
    return lines


def _value(bar: Bar, top: int, scale: float) -> str:
    """Its number beside it, over everything else: the line of the target may be there."""
    edge = LEFT + max(bar.value, bar.most) * scale
    return f'<text class="value" x="{edge + 8:.1f}" y="{top + ROW / 2 + 2:.1f}">{figure(bar.value, digits=3)}</text>'
