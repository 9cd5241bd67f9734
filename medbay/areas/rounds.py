"""What a daemon does beside its loop, in one thread: traces of what ended, the report of the day, clearing away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from medbay import app, env
from medbay.areas.keeping import Keeping
from medbay.areas.spans import Spans
from medbay.areas.traces import Traces
from medbay.core import delivery as rules
from medbay.env import Clock, SystemClock
from medbay.store import effects
from medbay.views import report as view

if TYPE_CHECKING:
    from medbay.bay import Bay

EVERY_S: Final = 1.0
REPORT_EVERY_S: Final = 20.0
KEEP_EVERY_S: Final = 300.0
_TRACES_MAX: Final = 5  # cycles of traces in one round


class DaemonRounds:
    """The rounds of one daemon; a connection that is made again begins with new parts."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._bay: Bay | None = None
        self._report_at_s = self._clock.monotonic_s()
        self._keep_at_s = self._clock.monotonic_s() + KEEP_EVERY_S  # not while everything starts

    def cycle(self, bay: Bay) -> list[str]:
        """One round. Raises StoreError when the store is away, or an archive cannot be written."""
        if bay is not self._bay:
            self._bay, self._traces, self._keeping, self._report = bay, Traces(bay), Keeping(bay), MorningReport(bay)
            self._spans = Spans(bay)
        now_s = self._clock.monotonic_s()
        for _ in range(_TRACES_MAX):
            if not self._traces.cycle():
                break
        if now_s >= self._report_at_s:
            self._report_at_s = now_s + REPORT_EVERY_S
            self._report.cycle()
        if now_s >= self._keep_at_s:
            self._keep_at_s = now_s + KEEP_EVERY_S
            self._keeping.cycle()
        why = self._spans.cycle()
        return [why] if why else []


class MorningReport:
    """Puts the report into the outbox when its time has come."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self._config = bay.place.config.report

    def cycle(self) -> int:
        """Make today's report if it is due and not made; how many messages."""
        bay, wanted = self._bay, self._config
        if wanted.at is None:
            return 0
        now, zone = bay.now(), wanted.zone or env.local_zone()
        due = rules.report_due(wanted.at, zone, now)
        channels = [
            each
            for each in app.channels_of(bay.place.config)
            if each.kind == "url" and wanted.channel in ("", each.name)
        ]
        if due is None or not channels:
            return 0
        keys = {each.name: rules.report_key(each, due, store_id=bay.store.store_id) for each in channels}
        with bay.store.read() as tx:
            channels = [each for each in channels if not effects.exists(tx, keys[each.name])]
        if not channels:
            return 0
        found = bay.statistics.report(wanted.since_ms)
        text = "\n".join(view.lines(found, since=now - wanted.since_ms, now=now))
        said = {"title": view.subject(found), "text": text}
        with bay.store.write() as tx:
            effects.add(
                tx, [rules.report_delivery(each, due, key=keys[each.name], now=now, said=said) for each in channels]
            )
        return len(channels)
