"""Whether the page and its store are there, and figures for Prometheus."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.responses import PlainTextResponse

from medbay.errors import MedbayError
from medbay.web.answers import JsonAnswer

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz(request: Request) -> JsonAnswer:
    """Whether the store answers; open to all, and says no more than that."""
    try:
        await request.app.state.bays.call(lambda bay: bay.schema())
    except MedbayError:
        return JsonAnswer({"ok": False}, status_code=503)
    return JsonAnswer({"ok": True})


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> PlainTextResponse:
    """Figures in the text format of Prometheus."""
    return PlainTextResponse(await request.app.state.bays.call(_figures), media_type="text/plain; version=0.0.4")


def _figures(bay: Any) -> str:
    registry = CollectorRegistry()
    tasks = Gauge("medbay_tasks", "Tasks by status, those that have not ended.", ["status"], registry=registry)
    for status, number in sorted(bay.open_counts().items()):
        tasks.labels(status).set(number)
    Gauge("medbay_questions_open", "Questions that wait for a person.", registry=registry).set(len(bay.inbox()))
    held = Gauge("medbay_breaker_held", "Tasks that an open breaker holds.", ["key", "kind"], registry=registry)
    for each, number in bay.breakers():
        held.labels(each.key, each.kind).set(number)
    pending, _ = bay.pending_retries(1)
    Gauge("medbay_retries_pending", "Retries that wait for their time.", registry=registry).set(pending)
    Gauge("medbay_engines", "Engines whose lease lasts.", registry=registry).set(bay.page.engines()[1])
    Gauge("medbay_events_last_seq", "The number of the newest event.", registry=registry).set(bay.last_seq())
    running = Gauge("medbay_attempts_running", "Attempts that run, by engine.", ["worker"], registry=registry)
    for worker, number in bay.workers():
        running.labels(worker.id).set(number)
    return generate_latest(registry).decode()
