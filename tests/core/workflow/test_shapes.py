"""The shapes of artifacts: published, kept, and named where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medbay.core.workflow import shapes
from medbay.core.workflow.shapes import MalformedArtifact, VerificationFile, WorkerAnswer

PUBLISHED = Path(__file__).parents[3] / "docs" / "reference" / "artifacts"
AT = "2026-02-01T12:00:00Z"
GOOD = f"story_id: S-1\nverdict: PASS\nworkers: []\nverified_at: {AT}\n"


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_the_published_schema_is_the_one_that_is_used(name: str) -> None:
    """`medbay story schema NAME` prints the same."""
    published = json.loads((PUBLISHED / f"{name}.schema.json").read_text(encoding="utf-8"))

    assert published == json.loads(json.dumps(shapes.schema(name)))


def test_what_is_written_is_read_again() -> None:
    """Line ends, signs of YAML and times survive."""
    made = VerificationFile(
        story_id="S-1",
        verdict="FAIL",
        workers=(WorkerAnswer(name="lint", verdict="FAIL", summary="x: y\n# no\n- é"),),
        verified_at=AT,
    )

    assert shapes.read(shapes.VERIFICATION, shapes.render(made)) == made
    assert f"verified_at: {AT}\n" in shapes.render(made)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "VERIFICATION.yaml is not YAML at line 1: expected the node content"),
        ("[" * 1000, "VERIFICATION.yaml is not YAML"),
        ("- 1", "VERIFICATION.yaml: Expected `object`, got `array`"),
        (GOOD + "extra: 1", "VERIFICATION.yaml: Object contains unknown field `extra`"),
        (
            GOOD.replace("[]", "[{name: lint, verdict: MAYBE}]"),
            "Invalid enum value 'MAYBE' - at `$.workers[0].verdict`",
        ),
        (GOOD.replace("S-1", "1"), "Expected `str`, got `int` - at `$.story_id`"),
        (GOOD.replace(AT, "yesterday"), "- at `$.verified_at`"),
        ("!!python/object:os.system x", "could not determine a constructor"),
        (" " * (shapes.FILE_MAX + 1), "VERIFICATION.yaml is longer than 1024 KB"),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(text: str, why: str) -> None:
    """So that the role can be asked again for exactly that."""
    with pytest.raises(MalformedArtifact) as raised:
        shapes.read(shapes.VERIFICATION, text)

    assert why in str(raised.value)
    assert shapes.check(shapes.VERIFICATION, text) == str(raised.value)


def test_a_file_that_fits_or_has_no_shape_is_fine() -> None:
    """PROOF.md is free text."""
    assert shapes.check(shapes.VERIFICATION, GOOD) == ""
    assert shapes.check(shapes.PROOF, "[") == ""
