"""Seeds that once broke a promise, with what was wrong. They are run for ever."""

from __future__ import annotations

from typing import Final

PLACES_SINCE: Final = 8_000_000  # the worlds of earlier seeds had no second place when they were found

REGRESSIONS: Final[tuple[tuple[int, str], ...]] = (
    (16, "a suspect came on top of the share of recovery"),
    (38, "a task could be put behind a cancelled one, and ran"),
    (274, "a task that kills its engine succeeded, as its machine had forgotten it when a neighbour started another"),
    (784, "an occurrence released before the clock was set back was written down as planned for when it was claimed"),
    (944, "a simulated engine that lost its lease while it stopped waited for ever to store what it never can"),
    (20100, "what waited for its checks after a takeover had no part in the share of recovery, nor a slot"),
    (20179, "a verdict about an earlier failure gave a retry to a task that waited for a look at its later one"),
    (20222, "a simulated engine that slept when all faults stopped was woken without its heart, and lost its lease"),
    (50284, "the same"),
    (310033, "the same, where the triage had waited for its provider"),
    (310206, "hopeless parts of a split, one after another, needed more days than the last phase gave all together"),
    (711022, "a queue with one slot left gave it to recovery above its share while fresh work was ready"),
    (8300002, "the death of an engine counted as a crash of a task that was never begun elsewhere"),
    (8300004, "an attempt whose checks were to be read was taken up as if its work went on, and a rule broke"),
    (8300005, "an engine that did not know the place gave up what ran there, and its result was thrown away"),
    (8300036, "a result was recorded by a commit without an answer, and a rule broke when it was recorded again"),
    (8450005, "a failure that came in the moment its worker was told to stop was handed back, without its named time"),
    (8450015, "what had ended elsewhere gave up its slot there before its checks were read"),
    (8460032, "the same as 8450005"),
    (8460091, "nobody was asked about what comes after a task that was taken up elsewhere after its cancel"),
    (8460125, "the same as 8450015"),
    (9710773, "a simulated engine spun over the cancel of what it had not started yet"),
    (10800287, "a limit that nothing but a check said was excused for ever, beyond its probes, and nobody was asked"),
)
