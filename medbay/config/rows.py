"""The table of settings: a key is one row here and one field of `medbay.config.fields`.

A row becomes a `Key` when it is asked for, so that a start without a configuration costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from medbay.config.key import Key
from medbay.config.kinds import (
    account,
    address,
    agent_command,
    choice,
    duration,
    durations,
    evaluator,
    factor,
    money,
    patterns,
    preset,
    share,
    shell,
    store_url,
    switch,
    text,
    texts,
    token,
    variable,
    whole,
    zone,
)
from medbay.config.message_rows import MESSAGE_ROWS
from medbay.config.story_rows import STORY_ROWS, STORY_SECTIONS
from medbay.config.tracker_rows import TRACKER_ROWS
from medbay.core.agent import SPEC_ROLE
from medbay.core.cluster import TEMPORAL
from medbay.core.policy.presets import LADDER

NAMED: Final = "NAME"
"""Stands in a section for a name that people choose themselves."""

SECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "store": "Where tasks, attempts and decisions are kept.",
        "engine": "How tasks are claimed, run and handed back.",
        "policy": "What happens after a failure.",
        **{f"policy.ladder.{category}": f"The ladder for failures of the category {category}." for category in LADDER},
        "recurring": "What follows a failure of a recurring task: it backs off from its own period.",
        "triage": "Which agent judges a failure that retries did not heal, and what that may cost.",
        "budget": "What all attempts of a day may cost together.",
        "budgets.NAME": "What the attempts of one role may cost: worker (plain work), spec, triage, reviewer (all "
        "`review-...` of stories), or any other role of a story by its name. One table for each.",
        "breakers.agency": "Triage agents that keep failing are not started for a while.",
        "breakers.retry_storm": "Many retries due at once: reported once, and limited to their share of the slots.",
        "breakers.phase": "A phase of a story that keeps failing in the same way is not tried again without a person.",
        "breakers.crash_loop": "Runners that cannot be started on a host are not started for a while.",
        "incidents": "A cause that several tasks share is handled once.",
        "runner": "How processes are started.",
        "git": "Where agents work on repositories: each task has a worktree and a branch of its own.",
        "web": "The dashboard and the API, which `medbay up` and `medbay serve` start.",
        "log": "What `medbay up` and `medbay worker` print of what happens.",
        "report": "The report of `medbay report`, sent once a day.",
        "keep": "How long `medbay up` and `medbay worker` keep what is finished. What an open task needs always stays.",
        "otel": "Spans of tasks, attempts, checks, triages and deliveries for OpenTelemetry (`medbay[otel]`).",
        "agents.NAME": "An agent that works on tasks: `medbay add TITLE --agent NAME`. One table for each.",
        "queues.NAME": "A queue whose tasks have only so many slots, or run at a place. One table for each.",
        "places.NAME": "A place elsewhere where attempts run: `medbay add --place NAME`. One table for each.",
        "models.NAME": "Which models of a provider are small, medium and large: `medbay add ... --model small`.",
        "notify.NAME": "A channel that receives events as they happen. One table for each.",
        "intake": "How captures become candidates: `medbay capture`, `medbay intake`.",
        **STORY_SECTIONS,
        "beads": "Issues of Beads as a source of work: `medbay beads dispatch`, `medbay triage --source beads`.",
        "trackers.NAME": "Issues of GitHub, Linear or Jira as a source of work: `medbay sync`. One table for each.",
    }
)

_FROM_1S: Final = partial(duration, low_ms=1_000)
_COUNT: Final = partial(whole, 1, 1000)
_RETRIES: Final = partial(whole, 0, 1000)
_NO_LIMIT: Final = "no limit"
_DELAYS: Final = partial(Key, durations, "The waits before each retry; the last one repeats.")
_MAX_RETRIES: Final = partial(Key, _RETRIES, "How many charged retries the category allows.")

ROWS: Final[Mapping[str, Callable[..., Key]]] = MappingProxyType(
    {
        "store.url": partial(
            Key,
            store_url,
            "The store. A relative SQLite path is looked for upward from the working directory. "
            "`MEDBAY_STORE` sets it as well.",
        ),
        "store.notify": partial(
            Key,
            switch,
            "On PostgreSQL every commit wakes the other engines with NOTIFY. When off, they poll four times a second "
            "instead; SQLite needs neither.",
        ),
        "engine.workers": partial(Key, _COUNT, "How many attempts run at once."),
        "engine.lease": partial(
            Key,
            _FROM_1S,
            "A worker that has not renewed its lease for this long is considered dead and its attempts lost.",
            default_is='"30s" on SQLite, "2m" on PostgreSQL',
            example="30s",
        ),
        "engine.grace": partial(
            Key,
            duration,
            "The time between asking a process to stop and killing it; another host waits as long beyond the lease.",
        ),
        "engine.crash_budget": partial(
            Key, _COUNT, "How often a task may take its engine down before a person is asked."
        ),
        "engine.blocked_timeout": partial(
            Key,
            _FROM_1S,
            "A task blocked by something external, or waiting for a review, is tried again after this long.",
        ),
        "engine.slots_for_recovery": partial(
            Key, share, "The share of the slots that retries may take while fresh work is ready."
        ),
        "policy.preset": partial(
            Key,
            partial(choice, "ladder", later=("tiers", "recurring", "phase")),
            "The rules for one-off tasks.",
            hidden=True,
        ),
        "policy.max_retries_total": partial(
            Key, _RETRIES, "Charged retries a task gets over all categories; only a person grants more."
        ),
        "policy.adaptive": partial(
            Key,
            switch,
            "Delays are learned from earlier retries of the same class, within half and four times the schedule's. "
            "`medbay policy learn` shows what would be chosen.",
        ),
        "policy.assess": partial(
            Key,
            partial(choice, "off", "warn", "ask"),
            "Whether the specification of a new task is held against those that failed before: `warn` records it, "
            "`ask` puts a risky one to a person before its first attempt.",
        ),
        "policy.load_aware": partial(
            Key,
            switch,
            "Retries that start processes wait while the machine is short of CPU (more than two processes for each "
            "core want to run) or memory (less than 5 % is left). Fresh work starts all the same.",
        ),
        "policy.fallback_after": partial(
            Key,
            duration,
            "An account that is held for longer lets the next agent of a task go on (`--agent claude,codex`).",
        ),
        **{
            f"policy.ladder.{category}.{name}": row
            for category in LADDER
            for name, row in (("delays", _DELAYS), ("max_retries", _MAX_RETRIES))
        },
        "recurring.triage_threshold": partial(
            Key, _COUNT, "Failures in a row after which a triage of the task is started."
        ),
        "recurring.triage_cooldown": partial(Key, duration, "How long no second triage of the same task is started."),
        "recurring.failure_backoff_multiplier": partial(
            Key,
            partial(factor, 1, 10),
            "By how much each further failure in a row stretches the wait.",
            at="recurring.multiplier",
        ),
        "recurring.failure_backoff_max_delay": partial(
            Key,
            _FROM_1S,
            "The longest wait after a failure, unless the period itself is longer.",
            at="recurring.cap_ms",
        ),
        "recurring.transient_max_delay": partial(
            Key,
            _FROM_1S,
            "The longest wait after a failure that passes by itself (an outage, a limit without a named time).",
            default_is="the greater of 15m and three periods",
            example="15m",
        ),
        "recurring.ask_after": partial(
            Key,
            duration,
            "After this long of nothing but failures, or at once where the next run is twelve times as far away, a "
            "person is asked, once, while the schedule goes on; 0s: never.",
        ),
        "triage.agent": partial(
            Key,
            partial(choice, "rules", "command", "model", "claude"),
            "Which agent judges: `rules` is built in, `command` is any program that takes the context as JSON on its "
            "standard input and prints a verdict on its standard output, `model` is any model (`medbay[ai]`), `claude` "
            "is Claude with read-only tools (`medbay[claude]`).",
        ),
        "triage.command": partial(
            Key,
            texts,
            "The program of the agent `command`, as a list of arguments; it runs in the directory of the failing task. "
            "A relative path starts at the directory of this file.",
            example=["./triage.py"],
        ),
        "triage.model": partial(
            Key,
            text,
            "The model of the agents `model` (`anthropic:NAME`, `openai:NAME`, ...) and `claude`; keys come from the "
            "environment.",
            example="anthropic:claude-haiku-4-5",
        ),
        "triage.timeout": partial(
            Key,
            _FROM_1S,
            "How long a triage or an evaluation may take; then a person is asked, or nothing is rescued.",
        ),
        "triage.fix_agent": partial(
            Key, text, "The agent that works on the fixes a triage files; without one a person is asked."
        ),
        "triage.max_tokens": partial(
            Key,
            partial(whole, 1, 10**12),
            "What one triage may use; the verdict of one that reports more is ignored, and a person is asked.",
            default_is=_NO_LIMIT,
            example=50_000,
        ),
        "triage.max_cost": partial(Key, money, "What one triage may cost.", default_is=_NO_LIMIT, example=0.5),
        "triage.evaluate": partial(
            Key,
            evaluator,
            "Evaluates the work of a failed attempt before it counts as failed: a command that gets the context as "
            'JSON on its standard input and prints `{"score": 0.9, "why": "..."}`.',
            example="./evaluate.py",
        ),
        "triage.rescue_threshold": partial(
            Key, share, "A failed attempt with at least this score counts as a success."
        ),
        "budget.daily_tokens": partial(
            Key,
            partial(whole, 1, 10**15),
            "Tokens; what does not fit waits for the next day.",
            default_is=_NO_LIMIT,
            example=5_000_000,
        ),
        "budget.daily_cost": partial(
            Key, money, "Money, in the currency that attempts report.", default_is=_NO_LIMIT, example=20.0
        ),
        "budget.zone": partial(Key, zone, "The time zone whose midnight ends the day."),
        "budgets.NAME.max_tokens": partial(
            Key,
            partial(whole, 1, 10**12),
            "Tokens that one attempt of the role may use, where its task does not say; it is stopped at the limit.",
            default_is=_NO_LIMIT,
            example=200_000,
        ),
        "budgets.NAME.max_cost": partial(
            Key, money, "What one attempt of the role may cost.", default_is=_NO_LIMIT, example=1.5
        ),
        "budgets.NAME.daily_tokens": partial(
            Key,
            partial(whole, 1, 10**15),
            "Tokens of all attempts of the role in a day; what does not fit waits for the next.",
            default_is=_NO_LIMIT,
            example=2_000_000,
        ),
        "budgets.NAME.daily_cost": partial(
            Key, money, "Money of all attempts of the role in a day.", default_is=_NO_LIMIT, example=5.0
        ),
        "breakers.agency.failures": partial(
            Key,
            _COUNT,
            "This many failed triages or evaluations in a row stop new ones.",
            at="limits.agency_failures",
        ),
        "breakers.retry_storm.limit": partial(
            Key,
            partial(whole, 1, 1_000_000),
            "More retries than this due at once are a retry storm.",
            at="limits.storm_retries",
        ),
        "breakers.crash_loop.failures": partial(
            Key,
            _COUNT,
            "This many failed starts of a runner on one host stop it there.",
            at="limits.crash_failures",
        ),
        "breakers.crash_loop.window": partial(Key, _FROM_1S, "Within this time.", at="limits.crash_window_ms"),
        "breakers.phase.failures": partial(
            Key,
            _COUNT,
            "This many failures of one type in a row block the story, and a person is asked.",
            at="limits.phase_failures",
        ),
        "incidents.tasks": partial(
            Key,
            partial(whole, 2, 1_000_000),
            "This many different tasks with one shared cause make an incident.",
            at="limits.incident_tasks",
        ),
        "incidents.window": partial(Key, _FROM_1S, "Within this time of each other.", at="limits.incident_window_ms"),
        "runner.secrets": partial(
            Key,
            texts,
            "Names of environment variables that processes do not get; `*` and `?` stand for any letters.",
            example=["AWS_*", "*_TOKEN"],
        ),
        "runner.redact": partial(
            Key,
            patterns,
            "Patterns that are redacted from everything taken from a log, in addition to what looks like a secret.",
            example=["ACME-[0-9a-f]{12}"],
        ),
        "git.worktrees": partial(
            Key,
            text,
            "The directory of all worktrees, outside of the repositories.",
            default_is="`medbay/worktrees` in the state directory of the user (`XDG_STATE_HOME`)",
            example="~/worktrees",
        ),
        "git.keep": partial(
            Key, _FROM_1S, "A worktree that was not used for so long is removed; its branch and its refs stay."
        ),
        "git.pr_wait": partial(
            Key,
            duration,
            "How long the checks of a pull request are waited for; those that fail and what reviewers say come back to "
            "the agent, or to the developer of the story. 0s: not at all.",
        ),
        "git.pr_watch": partial(
            Key,
            duration,
            "How long a pull request is watched after its task was completed: while it is open, checks that fail and "
            "what reviewers write become a task that changes the work on the same branch. 0s: not at all.",
        ),
        "git.pr_poll": partial(Key, _FROM_1S, "How often a pull request that is watched is looked at."),
        "git.max_pr_rounds": partial(
            Key, partial(whole, 0, 100), "How often a pull request may come back to the agent before a person is asked."
        ),
        "web.enabled": partial(Key, switch, "Whether `medbay up` starts the page; `--no-web` leaves it out once."),
        "web.host": partial(
            Key, address, "The address it listens on. Others than this machine reach it at another one."
        ),
        "web.port": partial(Key, partial(whole, 0, 65535), "The port it listens on; 0 takes any free one."),
        "web.token": partial(
            Key,
            token,
            "What opens it: `auto` makes a token, kept in `.medbay/web-token` for its owner alone; any other text is "
            "the token itself. `medbay web token add NAME` makes one for a person.",
        ),
        "web.names": partial(
            Key,
            texts,
            "The names that others call this machine by, where it is not reached by its address alone: a request under "
            "any other name is refused.",
            example=["medbay.example.org"],
        ),
        **MESSAGE_ROWS,
        "runner.shell": partial(
            Key,
            shell,
            "What runs the command lines (`--run`, checks) of tasks that are added from now on: a name, or words such "
            "as `bash -eu -o pipefail -c`. `bash` alone is `bash -o pipefail -c`.",
            default_is='"bash" where it is there, else "sh"',
            example="bash",
        ),
        "runner.stall": partial(
            Key,
            duration,
            "A command or function without any progress for this long is ended: no new output, no file written below "
            "its directory, no CPU time, no new process; 0s: never.",
        ),
        "runner.agent_stall": partial(Key, duration, "The same for agents; 0s: never."),
        "agents.NAME.command": partial(
            Key,
            agent_command,
            "How it is started without a terminal: `{prompt_file}` is the file with its prompt, `{model}` the model; "
            "without a model its word and the option before it are left out. A relative path starts at the "
            "directory of this file.",
            default_is="none",
            example=["my-agent", "--prompt", "{prompt_file}"],
        ),
        "agents.NAME.preset": partial(
            Key,
            preset,
            "An agent that is known by name, not needed where NAME itself is one. With a `command` it says how the "
            "command's output is read.",
            default_is="NAME, if there is one of that name",
            example="claude",
        ),
        "agents.NAME.program": partial(
            Key,
            text,
            "The program of the preset, where it is not on the PATH under its own name.",
            example="/opt/claude",
        ),
        "agents.NAME.allow": partial(
            Key,
            texts,
            "What it may do without being asked, in the words of the agent itself (Claude Code: tools; Codex: the mode "
            "of its sandbox; Gemini: the approval mode).",
            default_is="what the preset allows",
            example=["Bash(make *)", "Edit"],
        ),
        "agents.NAME.max_turns": partial(
            Key,
            partial(whole, 1, 100_000),
            "How many turns one attempt may take. Claude Code holds itself to it; Codex, Gemini, OpenCode and aider "
            "are stopped at it, as their own record shows their turns; a command of your own is not.",
            default_is=_NO_LIMIT,
            example=200,
        ),
        "agents.NAME.role": partial(
            Key, partial(choice, "", SPEC_ROLE), 'With "spec" it also reviews specifications that work fails on.'
        ),
        "agents.NAME.provider": partial(Key, account, "Whose limits its tasks share, NAME or NAME/ACCOUNT."),
        "agents.NAME.model": partial(Key, text, "The model it uses, unless a task names another."),
        "agents.NAME.worktree": partial(
            Key, switch, "In a git repository its tasks work in a worktree of their own; false: in the main tree."
        ),
        "agents.NAME.setup": partial(
            Key,
            text,
            "A command line that prepares a new worktree, and again when a lock file changed; its failure is not the "
            "agent's.",
            example="npm ci",
        ),
        "agents.NAME.copy": partial(
            Key,
            texts,
            "Files of the main tree that git ignores and a worktree needs; they are never committed.",
            example=[".env"],
        ),
        "agents.NAME.on_pass": partial(
            Key,
            partial(choice, "keep", "merge", "pr"),
            "What becomes of the branch of a task that passed: kept, merged, or a pull request.",
        ),
        "agents.NAME.evidence": partial(
            Key,
            switch,
            "In a git repository something has to show that a task is done: a change, an artifact, a check that "
            "failed before, or a reason why nothing has to change that a check confirms.",
        ),
        "agents.NAME.sandbox": partial(
            Key,
            partial(choice, "", "bwrap"),
            'With "bwrap" it writes its worktree, its own settings and temporary files only, and reaches `hosts` only.',
        ),
        "agents.NAME.hosts": partial(
            Key,
            texts,
            "The network hosts a sandboxed agent may reach, through a proxy; without any it has no network.",
            example=["api.anthropic.com"],
        ),
        "queues.NAME.slots": partial(
            Key,
            _COUNT,
            "How many tasks of the queue run at once, on all engines together; the others wait.",
            default_is="none (this or `place`)",
            needed=True,
            example=2,
        ),
        "queues.NAME.place": partial(
            Key,
            text,
            "Where new tasks of the queue run that name no place themselves: the name of a table `[places.NAME]`.",
            default_is="none (this or `slots`)",
            needed=True,
            example="cluster",
        ),
        "places.NAME.kind": partial(
            Key,
            partial(choice, TEMPORAL),
            "What runs attempts there. Temporal is the one kind so far (`medbay[temporal]`).",
            default_is="none (required)",
            needed=True,
            example=TEMPORAL,
        ),
        "places.NAME.address": partial(Key, address, "Host and port of the cluster.", example="temporal.internal:7233"),
        "places.NAME.namespace": partial(Key, text, "The namespace; it has to exist."),
        "places.NAME.task_queue": partial(Key, text, "The task queue that `medbay worker --place NAME` serves."),
        "places.NAME.tls": partial(Key, switch, "Whether the cluster speaks TLS; a file below switches it on as well."),
        "places.NAME.server_ca": partial(
            Key, text, "A file with the certificate of the authority to trust, where that is not a public one."
        ),
        "places.NAME.client_cert": partial(Key, text, "A file with our certificate, for clusters that ask for one."),
        "places.NAME.client_key": partial(Key, text, "The file with its key."),
        "places.NAME.api_key_env": partial(
            Key,
            variable,
            "The name of the variable that has the API key; the key itself is never stored.",
            default_is="none",
            example="TEMPORAL_API_KEY",
        ),
        "places.NAME.slots": partial(
            Key,
            partial(whole, 1, 100_000),
            "How many attempts of one engine run there; they take no slot here.",
        ),
        "places.NAME.heartbeat": partial(
            Key,
            _FROM_1S,
            "A worker that is silent for this long has lost its attempts: tried again, uncharged.",
        ),
        "places.NAME.start_within": partial(
            Key, _FROM_1S, "What no worker takes up within this time comes back, uncharged."
        ),
        "models.NAME.small": partial(Key, text, "The model for focused checks and status work.", example="haiku"),
        "models.NAME.medium": partial(Key, text, "The model for code.", example="sonnet"),
        "models.NAME.large": partial(Key, text, "The model for critical decisions.", example="opus"),
        "intake.agent": partial(
            Key,
            partial(choice, "rules", "command", "model", "claude"),
            "Which agent turns captures into candidates: `rules` is built in and groups by similar words, `command` is "
            "any program that takes the prompt on its standard input and prints a bundle on its standard output, "
            "`model` and `claude` use the model of `[triage]`.",
        ),
        "intake.command": partial(
            Key,
            texts,
            "The program of the agent `command`, as a list of arguments. A relative path starts at the directory of "
            "this file.",
            example=["./candidates.py"],
        ),
        "intake.batch": partial(Key, _COUNT, "How many captures one workorder takes at most."),
        "intake.budget": partial(Key, _FROM_1S, "How long a workorder may take; then it has failed."),
        "intake.max_tries": partial(Key, _COUNT, "After so many workorders that failed a capture is poison."),
        "intake.promote_above": partial(
            Key,
            partial(factor, 0, 1),
            "Candidates with at least this confidence are promoted without a person; 0: never.",
        ),
        **STORY_ROWS,
        "beads.dispatch": partial(
            Key, switch, "Whether `medbay up` takes up open issues that carry the tag of a workflow."
        ),
        "beads.path": partial(
            Key,
            text,
            "The workspace; by default the `.beads` found upward from here.",
            example="../app",
        ),
        "beads.agent": partial(Key, text, "The agent that works on issues.", example="claude"),
        "beads.run": partial(
            Key,
            text,
            "The command that works on issues, for the shell: it gets `MEDBAY_ISSUE`, and the issue as JSON in the "
            "file `MEDBAY_INPUT`.",
            example="./work.sh",
        ),
        "beads.checks": partial(
            Key, texts, "The checks of issues with the tag `implement_verify_close`.", example=["make test"]
        ),
        "beads.poll": partial(Key, _FROM_1S, "How often `medbay up` asks for new issues."),
        **TRACKER_ROWS,
    }
)
