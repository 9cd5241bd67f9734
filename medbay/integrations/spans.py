"""Spans for OpenTelemetry, sent by OTLP over HTTP (extra `otel`). Their ids follow from what they are about.

So whoever sends a span again sends the same one, and a child finds its parent whichever of them is sent first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from medbay.errors import UsageError

_TIMEOUT_S: Final = 10
_NANO: Final = 1_000_000  # nanoseconds of a millisecond


@dataclass(frozen=True, slots=True, kw_only=True)
class Spanned:
    """Something that took time, by the task it belongs to."""

    task_id: str
    name: str  # task, attempt, check, triage, delivery
    key: str  # names it within its task; empty: the task itself
    begun_at: int
    ended_at: int
    within: str | None = None  # the key of its parent; None: it has none
    after: str | None = None  # the key of the one before it, where they are linked
    error: str = ""
    facts: Mapping[str, str | int] = field(default_factory=dict)


class SpanExporter:
    """Sends spans to a collector."""

    def __init__(self, endpoint: str, service: str, store_id: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
        except ImportError:
            raise UsageError("[otel] needs OpenTelemetry", hint="pip install 'medbay[otel]'") from None
        self._store_id = store_id
        self._resource = Resource.create({"service.name": service})
        self._exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=_TIMEOUT_S)

    def send(self, found: Sequence[Spanned]) -> bool:
        """Send them together; whether the collector took them."""
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.trace.export import SpanExportResult
        from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

        def context(each: Spanned, key: str) -> SpanContext:
            trace = int.from_bytes(_digest(self._store_id, each.task_id)[:16], "big")
            span = int.from_bytes(_digest(self._store_id, each.task_id, key)[:8], "big")
            return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

        made = [
            ReadableSpan(
                name=each.name,
                context=context(each, each.key),
                parent=None if each.within is None else context(each, each.within),
                resource=self._resource,
                attributes={"medbay.task": each.task_id, **each.facts},
                links=[Link(context(each, each.after))] if each.after is not None else [],
                status=Status(StatusCode.ERROR, each.error) if each.error else Status(StatusCode.OK),
                start_time=each.begun_at * _NANO,
                end_time=max(each.begun_at, each.ended_at) * _NANO,
            )
            for each in found
        ]
        return self._exporter.export(made) is SpanExportResult.SUCCESS


def _digest(*words: str) -> bytes:
    return hashlib.sha256("\0".join(words).encode()).digest()
