"""The OpenAPI document holds: whatever is sent, the API answers as it says, and never with an error of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from tests.web.conftest import TOKEN, served

load_all_checks()
EXAMPLES = 6
HEADERS = {"Authorization": f"Bearer {TOKEN}", "X-Medbay": "1"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The document of a page with a little work in it."""
    folder: Path = tmp_path_factory.mktemp("schema")
    with served(folder) as site:
        site.bay.add("nightly", run="true", tag="a", cron="0 3 * * *")
        task = site.bay.add("one", run="true", tag="a")
        site.bay.block(site.bay.add("asks", run="true", after=[task.id]).id, "why not", kind="human")
        yield schemathesis.openapi.from_url(f"{site.url}/openapi.json", headers=HEADERS)


def test_the_api_keeps_to_its_document(document: Any) -> None:
    """For every operation: documented statuses and kinds of content, no error of the server."""
    checks = [not_a_server_error, status_code_conformance, content_type_conformance]
    operations = [each.ok() for each in document.get_all_operations()]
    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        def keeps(case: Any) -> None:
            case.call_and_validate(headers=HEADERS, checks=checks)

        keeps()
    assert len(operations) > 40
