"""What people meet in everyday use, through the command line, on both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from medbay.bay import Bay
from medbay.env import Ids
from medbay.store.tasks import TaskFilter
from tests.cli.calling import Cli
from tests.cli.test_run import started
from tests.guardians import kill_with_guardian
from tests.postgres_server import Server
from tests.waiting import wait_for

CATEGORIES = ("transient", "code_error", "test_failure", "dependency_missing", "timeout", "unknown")
QUICK = "\n".join(f'[policy.ladder.{name}]\ndelays = ["10ms", "20ms", "30ms"]' for name in CATEGORIES)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def everyday(request: pytest.FixtureRequest, bare: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A project with short delays, on each kind of database."""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        monkeypatch.setenv("MEDBAY_STORE", server.url(request.getfixturevalue("own_database")))
    bare.good("init")
    # A copy of the template has its name: engines of other tests would take our processes for leftovers of theirs.
    with bare.bay() as bay, bay.store.write() as tx:
        tx.execute("UPDATE meta SET value = ? WHERE key = 'store_id'", (Ids().store(),))
    configure(bare, "")
    return bare


def configure(cli: Cli, more: str) -> None:
    """Set the configuration."""
    (cli.folder / "medbay.toml").write_text(f"{more}\n{QUICK}\n", encoding="utf-8")


def kinds(cli: Cli, task: str) -> list[str]:
    """The diagnoses of its attempts."""
    return [each["diagnosis"]["category"] for each in shown(cli, task)["attempts"] if each["diagnosis"]]


def shown(cli: Cli, task: str) -> Any:
    """What is known of a task."""
    return cli.good("show", task, "--json").json


@pytest.mark.parametrize("prints", ['echo "$MEDBAY_GUIDANCE"', "env", "set -x; : $MEDBAY_GUIDANCE"])
def test_a_job_that_prints_its_guidance_is_judged_by_its_own_words(everyday: Cli, prints: str) -> None:
    """The network failure of attempt 1 is not found again in what attempt 2 was handed."""
    first = 'echo "connect ECONNREFUSED 10.0.0.7:5432"'
    task = everyday.add(
        "sum", "--run", f'{prints}; [ $MEDBAY_ATTEMPT = 1 ] && {first} || echo "the totals differ"; exit 3'
    )

    assert everyday("up", "--until-idle").code == 75

    found = shown(everyday, task)
    assert [each["diagnosis"]["category"] for each in found["attempts"][:3]] == ["transient", "unknown", "unknown"]
    assert "ECONNREFUSED" not in json.dumps(found["attempts"][2]["diagnosis"])


def test_a_failed_part_of_a_pipeline_is_a_failure(everyday: Cli) -> None:
    """`--run` is bash with pipefail where bash is there; the task keeps its shell, and its checks use it."""
    task = everyday.add("dump", "--run", "no-such-dump --all-databases | gzip > a.gz")
    checked = everyday.add("checked", "--run", "true", "--check", "no-such-check | cat")

    assert everyday("up", "--until-idle").code == 75

    found = shown(everyday, task)
    assert (found["shell"], found["status"], found["attempts"][0]["exit_code"]) == ("bash", "blocked", 127)
    assert "no-such-dump" in found["summary"]
    assert [each["status"] for each in shown(everyday, checked)["attempts"][0]["checks"]] == ["ERROR"]


def test_a_success_whose_log_names_a_failure_says_so_and_can_be_listed(everyday: Cli) -> None:
    """With sh, or behind `|| true`: completed, counted, filterable, in the words of the log."""
    said = "its log says: mysqldump: not found"
    piped = everyday.add("dump", "--shell", "sh", "--run", "/nope/mysqldump 2>&1 | sed 's/.*/mysqldump: not found/'")
    everyday.add("fine", "--run", "echo all of it")

    up = everyday("up", "--until-idle")

    assert up.code == 0 and f"completed · {said}" in up.out + up.err
    assert f"completed · {said}" in everyday.screen("show", piped).out
    assert [each["id"] for each in everyday.good("list", "--warned", "--json").json] == [piped]
    assert everyday.good("list", "--warned", "--json").json[0]["warning"] == "mysqldump: not found"
    listed = everyday.screen("list")
    assert said in listed.out and "1 succeeded with a failure in the log" in listed.out
    assert "its log says: no-such: command not found" in everyday("run", "--run", "no-such; true").err


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ("yes | head -1", 0),
        ("cd / && yes | head -1 | cat", 0),
        ("yes | head -1 && echo never", 141),  # what was to follow did not run
        ("set -e; yes | head -1; echo never", 141),
        ("yes | (head -1; exit 141)", 141),
        ("true | cat; exit 141", 141),
        ("false | yes | head -1", 141),
        ("exit 141", 141),
    ],
)
def test_a_part_that_is_ended_by_a_closed_pipe_is_no_failure(cli: Cli, run: str, code: int) -> None:
    """Where it is not the last, and nothing was to follow."""
    assert cli("run", "--attempts", "1", "--run", run).code == code


def test_the_shell_is_configured_named_and_kept(everyday: Cli) -> None:
    """By the file, by the option, and for tasks of before; `add --help` and `doctor` say which it is."""
    configure(everyday, '[runner]\nshell = "bash -u -c"')
    by_file = everyday.add("file", "--run", "echo $NO_SUCH_NAME")
    by_option = everyday.add("option", "--shell", "sh", "--run", "echo $NO_SUCH_NAME; readlink /proc/$$/exe")
    with everyday.bay().store.write() as tx:
        tx.execute("UPDATE task SET shell = '' WHERE id = ?", (by_option,))

    everyday("up", "--until-idle")

    assert "unbound variable" in everyday.good("log", by_file).out
    assert shown(everyday, by_option)["status"] == "completed"
    assert "bash" not in everyday.good("log", by_option).out
    assert "bash with pipefail" in everyday.good("add", "--help").out.replace("\n", " ").replace("  ", "")
    assert "bash -u -c" in everyday("doctor").out
    assert everyday("add", "x", "--run", "true", "--shell", "'").code == 2


SAME = "echo 'src/app.ts(45,12): error TS2304: Cannot find name \"foo\".'; exit 1"


OTHER = "echo FAILED tests/test_a.py::test_$(echo abcdef | cut -c$MEDBAY_ATTEMPT); exit 1"


def test_a_command_that_takes_no_advice_asks_after_its_one_repetition(everyday: Cli) -> None:
    """The second failure with the same fingerprint is a person's; one that differs, or that hears, goes on."""
    deaf = everyday.add("deaf", "--run", SAME)
    (everyday.folder / "hears.sh").write_text(f"# MEDBAY_GUIDANCE\n{SAME}\n", encoding="utf-8")
    hears = everyday.add("hears", "--", "sh", "hears.sh")
    named = everyday.add("named", "--takes-advice", "--run", SAME)
    refused = everyday.add("refused", "--no-advice", "--", "sh", "hears.sh")
    differs = everyday.add("differs", "--run", OTHER)

    assert everyday("up", "--until-idle").code in (1, 75)

    tried = {name: len(shown(everyday, task)["attempts"]) for name, task in (("deaf", deaf), ("refused", refused))}
    assert tried == {"deaf": 2, "refused": 2}
    assert all(len(shown(everyday, task)["attempts"]) > 2 for task in (hears, named, differs))
    found = shown(everyday, deaf)
    assert found["block_kind"] == "human"
    assert "takes no advice" in found["reason"] and "Cannot find name" in found["reason"]
    assert "takes no advice" in everyday.good("inbox").out


def test_run_says_how_long_it_may_take_and_gives_up_when_asked(everyday: Cli) -> None:
    """Its first line; `--attempts` and `--max-wait` end it with the command's own code."""
    (everyday.folder / "medbay.toml").write_text(QUICK.replace('"20ms"', '"30s"'), encoding="utf-8")
    twice = everyday("run", "--attempts", "2", "--run", "echo odd; exit 3")
    (everyday.folder / "medbay.toml").write_text(QUICK.replace('"10ms"', '"30s"'), encoding="utf-8")
    waits = everyday("run", "--max-wait", "5s", "--run", "echo odd; exit 4")
    plain = everyday("run", "--", "true")

    assert "at most 2 attempts" in twice.err.splitlines()[0]
    assert (twice.code, twice.out) == (3, "odd\nodd\n")
    assert "gives up after 2 attempts" in twice.err
    assert (waits.code, waits.out) == (4, "odd\n") and "gives up: it would have waited" in waits.err
    assert "at most 4 attempts" in plain.err.splitlines()[0] and "--max-wait" in plain.err.splitlines()[0]


def test_an_attempt_that_stands_still_is_ended_and_the_next_one_knows_why(everyday: Cli) -> None:
    """No output, no file, no CPU, no child for as long as `--stall` says; a function likewise."""
    (everyday.folder / "jobs.py").write_text("import time\n\ndef wait():\n    time.sleep(1000)\n", encoding="utf-8")
    task = everyday.add(
        "stands",
        "--stall",
        "1s",
        "--run",
        '[ $MEDBAY_ATTEMPT = 1 ] && { echo asking; exec sleep 999; }; env | grep -c "asking"',
    )
    wait = ("--stall", "1s", "--python", "jobs.py:wait", "--isolated")
    called = everyday.good("add", "called", *wait).out.strip()

    assert everyday("up", "--until-idle").code in (1, 75)

    first, second = shown(everyday, task)["attempts"]
    assert (first["outcome"], first["diagnosis"]["category"], first["diagnosis"]["subcategory"]) == (
        "stalled",
        "timeout",
        "stalled",
    )
    assert 'no sign of progress for 1s; last output: "asking"; last started: sleep 999' in second["guidance"]
    assert shown(everyday, task)["status"] == "completed"
    assert shown(everyday, called)["attempts"][0]["outcome"] == "stalled"


def test_one_token_is_asked_about_once(everyday: Cli) -> None:
    """Whatever it was used for, and however its absence is worded; another host is another question."""
    bad = "HTTP 401: Bad credentials (https://api.github.com/repos/x/r{0})"
    tasks = [everyday.add(f"sync {n}", "--run", f"echo '{bad.format(n)}'; exit 1") for n in "abc"]
    tasks.append(everyday.add("unset", "--run", "echo 'GITHUB_TOKEN is not set'; exit 1"))
    hosts = [f"echo 'HTTP 401 Unauthorized: https://{host}/v1/{n}'; exit 1" for host in ("a.x", "b.x") for n in "12"]
    for run in hosts:
        everyday.add("host", "--run", run.replace("a.x", "api.one.example").replace("b.x", "api.two.example"))

    assert everyday("up", "--until-idle").code == 75

    asked = everyday.good("inbox", "--json").json
    assert sorted(len(each["tasks"]) for each in asked) == [2, 2, 4]
    assert any(set(each["tasks"]) == set(tasks) for each in asked)


def test_a_named_time_holds_every_task_of_the_command(everyday: Cli) -> None:
    """Without a provider's name: few start, no canary goes before the time, and nobody is asked."""
    limited = "echo 'You have hit your usage limit. Try again in 2 hours'; echo x >> started; exit 1"
    for n in range(20):
        everyday.add(f"agent {n}", "--run", limited)
    with everyday.bay() as bay:
        daemon = bay.daemon(workers=4)
        daemon.run(until=lambda: bay.count(TaskFilter(only_open=True)) == 20 and not _startable(bay))

    assert len((everyday.folder / "started").read_text(encoding="utf-8").split()) <= 8
    assert everyday.good("inbox", "--json").json == []
    assert "held by provider:command-" in everyday.good("list").out


def _startable(bay: Bay) -> bool:
    tasks = bay.select(TaskFilter(only_open=True))
    return any(task.live is not None or (task.ready and task.hold is None) for task in tasks)


def test_free_retries_slow_down_by_themselves(everyday: Cli) -> None:
    """Whatever delay is configured: quick failures in a row are not tried hundreds of times a minute."""
    task = everyday.add("down", "--run", "echo 'connect ECONNREFUSED 10.0.0.7:5432'; exit 1")
    with everyday.bay() as bay:
        daemon = bay.daemon(workers=1)
        daemon.run(until=lambda: bay.get(task).uncharged >= 12)

    waits = [each["delay_s"] for each in shown(everyday, task)["retries"]]
    assert max(waits[:10]) < 1 <= waits[10] < waits[11]


def test_resume_answers_retry_grants_once_and_behind_a_question_is_said_so(everyday: Cli) -> None:
    """What a person did is not asked again, and what waits for a person says for whom and how."""
    first = everyday.add("first", "--run", "echo odd; exit 3", "--no-advice")
    after = everyday.add("after", "--after", first)
    everyday("up", "--until-idle")
    everyday.good("retry", first)
    granted = everyday.bay().get(first).granted
    everyday.good("retry", first)

    assert granted == everyday.bay().get(first).granted == 2
    everyday("up", "--until-idle")
    found = everyday.good("explain", after, "--json").json
    assert found["waits_for_person"] == first
    assert f"medbay answer {first}" in found["changes"]
    assert f"medbay answer {first}" in everyday.good("explain", after).out


def test_an_exception_says_when_it_may_be_tried_again(everyday: Cli) -> None:
    """By its own attribute, or by the response that it carries."""
    (everyday.folder / "jobs.py").write_text(
        "class RateLimited(Exception):\n    retry_after = 7200\n\n"
        "class Response:\n    headers = {'Retry-After': '7200'}\n\n"
        "class HTTPError(Exception):\n    response = Response()\n\n"
        "def own():\n    raise RateLimited('slow down')\n\n"
        "def carried():\n    raise HTTPError('429 Too Many Requests')\n",
        encoding="utf-8",
    )
    tasks = [everyday.good("add", each, "--python", f"jobs.py:{each}").out.strip() for each in ("own", "carried")]
    with everyday.bay() as bay:
        daemon = bay.daemon(workers=2)
        daemon.run(until=lambda: all(bay.get(task).streak > 0 for task in tasks))

    for task in tasks:
        (attempt,) = shown(everyday, task)["attempts"]
        assert attempt["diagnosis"]["category"] == "transient"
        assert attempt["diagnosis"]["retry_after"] is not None


def test_a_question_about_a_lost_worker_is_what_up_exits_with(everyday: Cli) -> None:
    """Its task had no attempt in this run, and still somebody is needed."""
    configure(everyday, "[engine]\ncrash_budget = 1\n")
    task = everyday.add("dies", "--run", "echo up > up; sleep 1000")
    with started(everyday, "up") as process:
        wait_for((everyday.folder / "up").exists)
        kill_with_guardian(process)

    again = everyday("up", "--until-idle")

    assert shown(everyday, task)["block_kind"] == "human"
    assert again.code == 75


def test_one_cause_has_one_diagnosis_in_any_order(everyday: Cli) -> None:
    """A named cause beats its consequence, and a broken pipe of a local process is no network."""
    said = ["tar (child): /no/dir/x.tgz: Cannot open: No such file or directory", "tar: x: Cannot write: Broken pipe"]
    tasks = [everyday.add("tar", "--run", f"echo '{a}'; echo '{b}'; exit 2") for a, b in (said, said[::-1])]
    piped = everyday.add("pipe", "--run", "echo 'write: Broken pipe'; exit 2")

    everyday("up", "--until-idle")

    assert {kinds(everyday, task)[0] for task in tasks} == {"dependency_missing"}
    assert kinds(everyday, piped)[0] != "transient"


def test_an_agent_that_stands_still_is_ended_without_being_asked_for(everyday: Cli) -> None:
    """By the setting for agents; a command goes on for as long as it likes."""
    agent = f'[agents.slow]\ncommand = ["sh", "{everyday.folder}/wait.sh", "{{prompt_file}}"]\n'
    configure(everyday, f'{agent}[runner]\nagent_stall = "1s"\n')
    (everyday.folder / "wait.sh").write_text("echo thinking\nexec sleep 999\n", encoding="utf-8")
    task = everyday.good("add", "think", "--agent", "slow", "--cwd", str(everyday.folder)).out.strip()
    with everyday.bay() as bay:
        bay.daemon(workers=1).run(until=lambda: bay.get(task).streak > 0)

    (first, *_) = shown(everyday, task)["attempts"]
    assert first["outcome"] == "stalled", (first["diagnosis"], everyday("log", task).out)


def test_jobs_that_fail_for_one_cause_ask_once_and_the_first_success_withdraws_it(everyday: Cli) -> None:
    """A question for all of them; when the host is back nobody has to answer, and none of them waits any more."""
    configure(everyday, '[recurring]\nask_after = "1s"\ntransient_max_delay = "1s"\n')
    away = everyday.folder / "away"
    away.touch()
    run = f"[ ! -e {away} ] || {{ echo 'connect ECONNREFUSED 10.0.0.7:5432'; exit 7; }}"
    tasks = [everyday.add(name, "--every", "1s", "--run", run) for name in ("pull", "push")]
    with everyday.bay() as bay:
        daemon = bay.daemon(workers=2)
        daemon.run(until=lambda: any(len(each.task_ids) == 2 for each in bay.inbox()))
        (asked,) = bay.inbox()
        away.unlink()
        bay.daemon(workers=2).run(until=lambda: not bay.inbox())

        assert set(asked.task_ids) == set(tasks)
        assert [bay.detail(task).question for task in tasks] == [None, None]
        assert {each.status for each in bay.detail(tasks[0]).questions} == {"withdrawn"}


def test_a_held_budget_says_what_is_left_what_is_needed_and_until_when(everyday: Cli) -> None:
    """In `list`, `explain` and the JSON of both."""
    (everyday.folder / "agent.sh").write_text('echo \'{"usage": {"cost": 0.15}}\' > $MEDBAY_RESULT\n', encoding="utf-8")
    agent = f'[agents.pay]\ncommand = ["sh", "{everyday.folder}/agent.sh", "{{prompt_file}}"]\nevidence = false\n'
    configure(everyday, f"{agent}[budget]\ndaily_cost = 0.20\n")
    costs = ("--agent", "pay", "--max-cost", "0.15", "--cwd", str(everyday.folder))
    first, second = (everyday.good("add", name, *costs).out.strip() for name in ("first", "second"))
    with everyday.bay() as bay:
        bay.daemon(workers=1).run(until=lambda: bay.get(first).finished and bay.get(second).hold is not None)

    said = "0.05 of 0.20 left today, this needs 0.15; waits until 00:00 UTC (in "
    assert said in everyday.good("list").out and said in everyday.good("explain", second).out
    (reason, *_) = everyday.good("explain", second, "--json").json["reasons"]
    assert (reason["code"], reason["what"]) == ("budget", "0.05 of 0.20 left today, this needs 0.15")
    listed = {each["id"]: each for each in everyday.good("list", "--json").json}
    assert listed[second]["held_back"]["what"] == reason["what"]


def test_evidence_is_the_whole_line_with_its_number_in_a_long_log(everyday: Cli) -> None:
    """In the question and in `show`, as `medbay log` counts its lines."""
    line = "worker 3: error: GITHUB_TOKEN is not set, and page 4 needs it"
    task = everyday.add("long", "--run", f"seq 20000; echo '{line}'; exit 1")

    everyday("up", "--until-idle")

    (asked,) = everyday.good("inbox", "--json").json
    assert asked["evidence"] == f"line 20001: {line}"
    assert shown(everyday, task)["attempts"][0]["diagnosis"]["evidence"] == {"line": 20_001, "text": line}
    assert everyday.good("log", task).out.splitlines()[20_000] == line


def test_run_begins_no_more_attempts_than_it_was_asked_for(everyday: Cli) -> None:
    """Also where the next one is due before anybody could look."""
    (everyday.folder / "medbay.toml").write_text(QUICK.replace('"10ms"', '"1ms"'), encoding="utf-8")
    count = 'echo x >> runs; echo "row $(wc -l < runs) looks odd"; exit 3'

    called = everyday("run", "--attempts", "2", "--run", count)

    assert called.code == 3 and "gives up after 2 attempts" in called.err
    assert (everyday.folder / "runs").read_text(encoding="utf-8") == "x\nx\n"


@pytest.mark.parametrize("prompt", ["Do you want to proceed? (y/n) ", "Password: ", "Enter your name: "])
def test_a_prompt_without_a_line_break_is_a_question_at_once(everyday: Cli, prompt: str) -> None:
    """What the runner adds to the log stands on a line of its own."""
    task = everyday.add("asks", "--timeout", "1s", "--run", f"printf '{prompt}'; sleep 100")

    assert everyday("up", "--until-idle").code == 75

    (attempt,) = shown(everyday, task)["attempts"]
    assert attempt["diagnosis"]["subcategory"] == "input" and prompt.strip() in attempt["diagnosis"]["summary"]


def test_a_variable_that_the_daemon_does_not_have_is_asked_for(everyday: Cli) -> None:
    """No retry brings it; the question names it."""
    task = everyday.add("deploy", "--env-from", "NO_SUCH_VARIABLE", "--run", "true")

    assert everyday("up", "--until-idle").code == 75

    found = shown(everyday, task)
    assert (found["block_kind"], len(found["attempts"])) == ("human", 1)
    assert "NO_SUCH_VARIABLE is not set" in found["reason"]


def test_a_person_who_is_asked_last_is_told_what_failed(everyday: Cli) -> None:
    """`everything was tried` alone says nothing."""
    everyday.add("odd", "--takes-advice", "--run", "echo row 77 looks odd; exit 3")

    assert everyday("up", "--until-idle").code == 75

    (asked,) = everyday.good("inbox", "--json").json
    assert "row 77 looks odd" in asked["why"]


def test_a_store_that_was_cut_to_nothing_is_not_made_again(bare: Cli) -> None:
    """By no command but one that makes a store where none was used yet."""
    bare.good("init")
    bare.add("kept")
    bare("up", "--until-idle")
    store = bare.folder / ".medbay" / "medbay.db"
    for each in store.parent.glob("medbay.db-*"):
        each.unlink()
    store.write_bytes(b"")

    for command in (("list",), ("add", "x", "--run", "true"), ("up", "--until-idle"), ("run", "--", "true"), ("init",)):
        called = bare(*command)
        assert called.code == 1 and "is empty: it has 0 bytes" in called.err, (command, called)
    assert store.stat().st_size == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("serve", "--host", ""), "the host is empty"),
        (("list", "--limit", "9" * 30), "--limit"),
        (("log", "{task}", "--attempt", "9" * 30), ""),
        (("retry", "{task}", "--attempts", "9" * 30), "--attempts"),
    ],
)
def test_empty_and_huge_values_are_refused_in_a_sentence(cli: Cli, words: tuple[str, ...], said: str) -> None:
    """None of them is an internal error."""
    task = cli.add("x")

    called = cli(*(word.format(task=task) for word in words))

    assert called.code in (2, 3) and said in called.err and "internal" not in called.err
