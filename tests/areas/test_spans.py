"""Spans of a failing and healing task, as a collector receives them: right parents, linked attempts, the same ids."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from medbay import app
from medbay.areas.spans import Spans
from medbay.bay import Bay
from medbay.config.fields import OtelConfig

HEALS = ["sh", "-c", "test -e done || { touch done; echo 'connect: Connection refused'; exit 1; }"]


@contextmanager
def collector() -> Iterator[tuple[str, list[Any], list[int]]]:
    """A collector: its address, the spans it took, and what it answers next instead of 200."""
    taken: list[Any] = []
    script: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Take spans."""
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            raw = gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw
            code = script.pop(0) if script else 200
            if code == 200:
                found = ExportTraceServiceRequest.FromString(raw)
                taken.extend(s for r in found.resource_spans for c in r.scope_spans for s in c.spans)
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", taken, script
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def place(tmp_path: Path) -> app.StoreLocation:
    """Where a store is, whose retries come soon."""
    (tmp_path / ".medbay").mkdir()
    (tmp_path / "medbay.toml").write_text('[policy.ladder.transient]\ndelays = ["50ms"]\n', encoding="utf-8")
    url = f"sqlite:///{tmp_path}/.medbay/medbay.db"
    return app.find_place(tmp_path, store_url=url, environ={"HOME": str(tmp_path)})


def test_a_collector_gets_the_spans_of_a_task_that_heals(place: app.StoreLocation, tmp_path: Path) -> None:
    """Refused at first, they are sent again; nothing is sent twice after that."""
    with collector() as (url, taken, script):
        settings = replace(place.config, otel=OtelConfig(endpoint=url))
        with Bay(replace(place, config=settings), actor="person:test") as bay:
            spans = Spans(bay)
            assert spans.cycle() == ""
            task = bay.add("heals", run=HEALS, cwd=str(tmp_path), check="true")
            bay.run_until_idle()
            script.append(400)

            assert "did not take" in spans.cycle()
            assert spans.cycle() == "" and spans.cycle() == ""

    by_name: dict[str, list[Any]] = {}
    for each in taken:
        by_name.setdefault(each.name, []).append(each)
    (whole,), (first, second), (check,) = by_name["task"], by_name["attempt"], by_name["check"]
    assert not whole.parent_span_id and {each.trace_id for each in taken} == {whole.trace_id}
    assert first.parent_span_id == second.parent_span_id == whole.span_id
    assert check.parent_span_id == second.span_id
    assert [each.span_id for each in second.links] == [first.span_id] and not first.links
    assert first.status.code == 2 and second.status.code == 1  # error, ok
    assert {each.key: each.value.string_value for each in whole.attributes}["medbay.task"] == task.id
    assert whole.start_time_unix_nano <= first.start_time_unix_nano <= first.end_time_unix_nano
    assert len(taken) == 4


def test_without_a_collector_nothing_is_sent(place: app.StoreLocation) -> None:
    """And nothing is read."""
    with Bay(place, actor="person:test") as bay:
        assert Spans(bay).cycle() == ""
