"""The colours of the page: every ink is legible on its grounds, and no two fills look alike to anybody."""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

CSS = (Path(__file__).parent.parent.parent / "medbay" / "web" / "static" / "app.css").read_text(encoding="utf-8")
TOKENS = ("run", "wait", "held", "you", "fail", "done", "idle")
THEMES = ("light", "dark")
Colour = tuple[float, float, float]
# Full-strength protanopia, deuteranopia and tritanopia (Machado, Oliveira, Fernandes 2009), on linear light.
SIGHTS: dict[str, tuple[Colour, Colour, Colour]] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def values(theme: str) -> dict[str, Colour]:
    """The variables of a theme as linear light."""
    head = ":root {" if theme == "light" else ':root[data-theme="dark"] {'
    block = CSS.partition(head)[2].partition("}")[0]
    return {name: linear(code) for name, code in re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block)}


def linear(code: str) -> Colour:
    """`#rrggbb` as linear light."""
    r, g, b = (int(code[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b))  # type: ignore[return-value]


def luminance(colour: Colour) -> float:
    """How light it is."""
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


def contrast(one: Colour, two: Colour) -> float:
    """The contrast ratio of the web's guidelines."""
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def seen(colour: Colour, sight: str) -> Colour:
    """The colour as somebody with this sight has it."""
    made = [sum(part * value for part, value in zip(row, colour, strict=True)) for row in SIGHTS[sight]]
    return tuple(min(1.0, max(0.0, each)) for each in made)  # type: ignore[return-value]


def lab(colour: Colour) -> Colour:
    """CIE L*a*b* under D65."""
    r, g, b = colour
    x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
    y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
    z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def difference(one: Colour, two: Colour) -> float:
    """CIEDE2000."""
    (l1, a1, b1), (l2, a2, b2) = lab(one), lab(two)
    mean_c = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(mean_c**7 / (mean_c**7 + 25**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    dl, dc = l2 - l1, c2 - c1
    dh = 0.0 if not c1 * c2 else (h2 - h1 + 180) % 360 - 180
    dh_ = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(dh / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = h1 + h2 if not c1 * c2 else (h1 + h2) / 2 if abs(h1 - h2) <= 180 else (h1 + h2 + 360) / 2 % 360
    t = (
        1
        - 0.17 * math.cos(math.radians(hm - 30))
        + 0.24 * math.cos(math.radians(2 * hm))
        + 0.32 * math.cos(math.radians(3 * hm + 6))
        - 0.20 * math.cos(math.radians(4 * hm - 63))
    )
    sl = 1 + 0.015 * (lm - 50) ** 2 / math.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    turn = -2 * math.sqrt(cm**7 / (cm**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(((hm - 275) / 25) ** 2))))
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh_ / sh) ** 2 + turn * (dc / sc) * (dh_ / sh))


@pytest.mark.parametrize("theme", THEMES)
def test_every_ink_is_legible_on_its_grounds(theme: str) -> None:
    """5.5 to 1 and better, texts included."""
    found = values(theme)

    for ink in (*TOKENS, "text", "text-2"):
        for ground in ("ground", "ground-2"):
            assert contrast(found[ink], found[ground]) >= 5.5, (ink, ground)


@pytest.mark.parametrize("sight", sorted(SIGHTS))
@pytest.mark.parametrize("theme", THEMES)
def test_no_two_fills_look_alike(theme: str, sight: str) -> None:
    """A difference of 10 and more, in normal sight and in three simulated colour-blindnesses."""
    found = values(theme)

    for one, two in combinations(TOKENS, 2):
        apart = difference(seen(found[f"{one}-fill"], sight), seen(found[f"{two}-fill"], sight))
        assert apart >= 10, (one, two, apart)


def test_nothing_else_names_a_colour() -> None:
    """Beside the tokens there are only white and near-black on fills, and shadows."""
    rest = CSS.partition("* { box-sizing")[2]

    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b", rest)) <= {"#fff", "#0b1118", "#11161c"}
