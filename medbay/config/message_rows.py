"""The settings of what leaves: channels, logs of our own, the report, spans; and how long things are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from medbay.config.key import Key
from medbay.config.kinds import (
    channel_url,
    choice,
    command_words,
    duration,
    event_names,
    quiet_hours,
    switch,
    text,
    texts,
    time_of_day,
    variable,
    whole,
    zone,
)

_FROM_1S: Final = partial(duration, low_ms=1_000)

MESSAGE_ROWS: Final[Mapping[str, Callable[..., Key]]] = MappingProxyType(
    {
        "log.level": partial(
            Key,
            partial(choice, "debug", "info", "warn", "error"),
            "`debug`: also tool calls and artifacts; `info`: transitions and verdicts; `warn`: thresholds, retries and "
            "worse; `error`: only failures and blocks.",
        ),
        "log.json": partial(Key, switch, "Whether each line is a JSON object."),
        "report.at": partial(Key, time_of_day, "When it is sent.", default_is="never", example="08:00"),
        "report.zone": partial(
            Key, zone, "The zone of that time.", default_is="that of the machine", example="Europe/Berlin"
        ),
        "report.channel": partial(
            Key, text, "The channel it is sent through.", default_is="every one with an address", example="mail"
        ),
        "report.since": partial(Key, _FROM_1S, "How far back it looks."),
        "keep.history": partial(
            Key, duration, "After this time the history and events of a finished task go to the archive; 0s: never."
        ),
        "keep.logs": partial(Key, duration, "After this time the logs of a finished task are deleted; 0s: never."),
        "keep.logs_mb": partial(
            Key,
            partial(whole, 0, 1_000_000_000),
            "How many megabytes all logs may have; above that those of what finished first are deleted; 0: any.",
        ),
        "otel.endpoint": partial(
            Key,
            text,
            "The collector, by OTLP over HTTP. Its headers come from `OTEL_EXPORTER_OTLP_HEADERS`.",
            default_is="none",
            example="http://127.0.0.1:4318",
        ),
        "otel.service": partial(Key, text, "The name of the service in its spans."),
        "notify.NAME.command": partial(
            Key,
            command_words,
            "The program that is started for each event, with the event as JSON on its standard input; it runs in the "
            "directory of this file, without a shell.",
            default_is="none (this, `url` or `url_env`)",
            needed=True,
            example=["./notify.sh"],
        ),
        "notify.NAME.url": partial(
            Key,
            channel_url,
            "The address that messages are sent to: `smtp://` and `smtps://` (mail), `http://` and `https://` (a POST "
            "of JSON), anything else as apprise writes it (`medbay[notify]`). It is never shown in full.",
            default_is="none (this, `command` or `url_env`)",
            needed=True,
            example="smtp://mail.example.org/?to=you@example.org",
        ),
        "notify.NAME.url_env": partial(
            Key,
            variable,
            "The variable of the environment that holds the address, so that it stands in no file.",
            default_is="none (this, `command` or `url`)",
            needed=True,
            example="MEDBAY_TELEGRAM",
        ),
        "notify.NAME.on": partial(
            Key,
            event_names,
            "The events it is started for. With an address: `question:asked`, `incident:opened`, `incident:closed`, "
            "`hold:placed`, `hold:released`, `budget:warning`.",
        ),
        "notify.NAME.category": partial(
            Key,
            texts,
            "Only what is about tasks whose newest failure is of these categories (`transient`, `unknown/auth`).",
            example=["unknown/auth"],
        ),
        "notify.NAME.tag": partial(Key, texts, "Only what is about tasks with one of these tags.", example=["nightly"]),
        "notify.NAME.priority": partial(
            Key,
            partial(whole, 0, 4),
            "Only what is about tasks of this priority or a more urgent one; 0 is the most urgent.",
            default_is="any",
            example=1,
        ),
        "notify.NAME.quiet": partial(
            Key,
            quiet_hours,
            "Between these times nothing is sent; then one message says what there was. Needs an address.",
            default_is="never",
            example="22:00-07:00",
        ),
        "notify.NAME.zone": partial(
            Key, zone, "The time zone of the quiet hours.", default_is="of this machine", example="Europe/Berlin"
        ),
        "notify.NAME.urgent": partial(Key, switch, "Whether it sends in its quiet hours too."),
        "notify.NAME.digest": partial(
            Key,
            partial(duration, low_ms=60_000),
            "How often other events than questions, incidents and budgets come together in one message. Needs an "
            "address.",
            default_is="each by itself",
            example="1h",
        ),
        "notify.NAME.page": partial(
            Key,
            text,
            "Where those who read the messages reach the page; messages then have a link.",
            example="http://medbay.example.org:8484",
        ),
        "notify.NAME.timeout": partial(
            Key,
            _FROM_1S,
            "How long it may take; then a command and its children are killed, and the delivery is tried again later.",
        ),
        "notify.NAME.heartbeat": partial(
            Key,
            _FROM_1S,
            "It is also started with the event `heartbeat` at this interval, as long as the daemon's loop runs.",
            default_is="never",
            example="5m",
        ),
    }
)
