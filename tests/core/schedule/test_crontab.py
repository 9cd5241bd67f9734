"""Crontabs: every line is read as cron reads it, becomes a task, or is named with why not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.schedule import crontab
from medbay.core.schedule.crontab import CronLine, CronMachine, Taken
from medbay.service import requests
from tests.core.builders import NOW
from tests.properties import examples

HERE = CronMachine(user="ada", home="/home/ada", zone="Europe/Berlin")
ROOT = CronMachine(user="root", home="/r", zone="UTC", is_root=True, homes={"www-data": "/var/www"})
EXAMPLE = Path(__file__).parents[3] / "examples" / "crontab"


def taken(text: str, machine: CronMachine = HERE, *, system: bool = False) -> tuple[Taken, ...]:
    """What becomes of the lines of a crontab."""
    return crontab.tasks(crontab.read(text, system=system), machine, source="user ada", now=NOW)


def one(text: str, machine: CronMachine = HERE, *, system: bool = False) -> Taken:
    """What becomes of the one job of a crontab."""
    (found,) = taken(text, machine, system=system)
    return found


def job(text: str) -> CronLine:
    """The one line, which is a job."""
    (line,) = crontab.read(text)
    assert line.kind == "job", line
    return line


def test_a_plain_line_becomes_a_task_in_the_home_of_its_user() -> None:
    """By the zone of the machine, as cron would have run it."""
    given = one("15 2 * * *  ./pull.sh --all\n").given

    assert given["run"] == ["/bin/sh", "-c", "./pull.sh --all"]
    assert given["title"] == "./pull.sh --all"
    assert (given["cron"], given["zone"], given["cwd"]) == ("15 2 * * *", "Europe/Berlin", "/home/ada")
    assert given["tag"] == ["crontab"]
    assert "env" not in given


def test_variables_hold_for_the_lines_below_them() -> None:
    """A later one replaces an earlier one."""
    first, second = taken("PATH=/a\n0 1 * * * x\nPATH = \"/b c\"\nEMPTY=\n'ODD'='q'\n0 2 * * * x\n")

    assert first.given["env"] == {"PATH": "/a"}
    assert second.given["env"] == {"PATH": "/b c", "EMPTY": "", "ODD": "q"}


def test_a_shell_is_kept_as_the_words_that_start_it() -> None:
    """And is a variable of the job, as in cron."""
    given = one("SHELL=/bin/bash\n0 1 * * * a | b\n").given

    assert given["run"][:4] == ["/bin/bash", "-o", "pipefail", "-c"] and given["run"][4].endswith("a | b")
    assert given["env"] == {"SHELL": "/bin/bash"}


def test_home_is_where_a_job_runs() -> None:
    """Where the crontab says another one."""
    assert one("HOME=/srv/app\n@daily x\n").given["cwd"] == "/srv/app"


@pytest.mark.parametrize(
    ("text", "command", "data"),
    [
        ("date +\\%F", "date +%F", None),
        ("cat%one%two", "cat", "one\ntwo\n"),
        ("cat%", "cat", ""),
        ("cat%one%", "cat", "one\n"),
        ("cat%100\\% sure", "cat", "100% sure\n"),
        ("echo a\\\\%b", "echo a\\\\", "b\n"),
        ("echo \\n", "echo \\n", None),
    ],
)
def test_a_percent_sign_ends_the_command(text: str, command: str, data: str | None) -> None:
    """The rest is its input, line by line; with a backslash it is a percent sign."""
    line = job(f"* * * * * {text}")

    assert (line.command, line.input) == (command, data)


def test_a_job_gets_its_input() -> None:
    """Whatever is in it, through the shell of the job."""
    words = one('SHELL=/bin/sh\n* * * * * cat; printf "$SHELL" >&2; exit 3%it\'s $HOME \\\\ "so"%100\\%\n').given["run"]

    ran = subprocess.run(words, capture_output=True, text=True, env={"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"})

    assert (ran.stdout, ran.stderr, ran.returncode) == ('it\'s $HOME \\\\ "so"\n100%\n', "/bin/sh", 3)


@pytest.mark.parametrize(
    "word", ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually", "@reboot"]
)
def test_the_words_of_cron_are_schedules(word: str) -> None:
    """As they stand."""
    assert one(f"{word} x").given["cron"] == word


@pytest.mark.parametrize(
    "fields", ["*/15 0-6,22 * jan-mar mon-fri", "5 4 * * sun", "0-30/10 1 1,15 * 7", "1 2 3 DEC *"]
)
def test_names_steps_and_ranges_are_taken_over(fields: str) -> None:
    """The same words as in `medbay add --cron`."""
    assert one(f"{fields} x").given["cron"] == fields


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("61 * * * * x", "bad minute"),
        ("0 1 31 2 * x", "bad day-of-month"),
        ("0~30 1 * * * x", "bad minute"),
        ("@sometimes x", "number of fields"),
        ("* * * * *", "does not have a schedule and a command"),
        ("* * * * * %only input", "its command is empty"),
        ("@daily", "does not have a schedule and a command"),
        ("just words", "does not have a schedule and a command"),
        ('PATH="/a', "quotes"),
        ("NUL=a\0b", "NUL"),
        ('""=x', "a variable needs a name"),
    ],
)
def test_what_cannot_be_taken_over_is_named(line: str, why: str) -> None:
    """With its line and why; the lines around it are taken."""
    before, odd, behind = taken(f"0 1 * * * a\n{line}\n0 2 * * * b\n")

    assert before.given and behind.given
    assert not odd.given and odd.line.number == 2
    assert why in odd.why


def test_variables_of_cron_itself_are_named() -> None:
    """They are not for the job."""
    delay, mine, only = taken("RANDOM_DELAY=5\nMEDBAY_X=1\nMAILTO=a\n@daily x")

    assert "RANDOM_DELAY is not taken over" in delay.why
    assert "MEDBAY_X is set by Medbay itself" in mine.why
    assert "env" not in only.given


def test_cron_tz_is_the_zone_of_the_schedule_and_tz_one_of_the_job() -> None:
    """As in cron."""
    first, second, third = taken(
        "TZ=Asia/Tokyo\n@daily a\nCRON_TZ=America/New_York\n@daily b\nCRON_TZ=Nowhere/Else\n@daily c"
    )

    assert (first.given["zone"], first.given["env"]) == ("Europe/Berlin", {"TZ": "Asia/Tokyo"})
    assert (second.given["zone"], second.given["env"]) == ("America/New_York", {"TZ": "Asia/Tokyo"})
    assert 'no time zone "Nowhere/Else"' in third.why


def test_a_job_of_the_system_runs_as_its_user() -> None:
    """As root with that user's name and home; another user's job is named."""
    text = "17 * * * * www-data cd / && run-parts x"

    given = one(text, ROOT, system=True).given
    assert given["run"] == ["runuser", "-u", "www-data", "--", "/bin/sh", "-c", "cd / && run-parts x"]
    assert given["env"] == {"HOME": "/var/www", "LOGNAME": "www-data", "USER": "www-data"}
    assert given["cwd"] == "/var/www"
    assert one("17 * * * * root x", ROOT, system=True).given["run"] == ["/bin/sh", "-c", "x"]
    assert "it runs as www-data" in one(text, HERE, system=True).why
    assert "there is no user nobody-here" in one("@daily nobody-here x", ROOT, system=True).why


def test_the_comment_above_a_job_describes_it() -> None:
    """Of all the lines right above it; a blank line ends them."""
    first, second = taken("# about others\n\n# dump\n# of the shop\n@daily a\n@daily b")

    assert first.given["description"] == "dump of the shop"
    assert "description" not in second.given


def test_the_same_line_has_the_same_key_wherever_it_stands() -> None:
    """Two equal lines are two tasks; another file has other keys."""
    first = [each.given["key"] for each in taken("@daily a b c d e f g\n@daily a b c d e f h\n@daily a b c d e f g")]
    moved = [each.given["key"] for each in taken("# new\n@daily   a b c d e f h\n\n@daily a b c d e f g\n")]

    assert len(set(first)) == 3
    assert moved == [first[1], first[0]]
    lines = crontab.read("@daily a b c d e f g")
    (other,) = crontab.tasks(lines, HERE, source="/x/" + "y" * 300, now=NOW)
    assert other.given["key"] not in first and len(other.given["key"]) <= requests.NAME_MAX


def test_a_mail_address_becomes_a_channel() -> None:
    """One for each, with a name of its own; none for an empty one."""
    lines = crontab.read('MAILTO=ops@a.org, Ops@b.org\n@daily x\nMAILTO=""\n@daily y\nMAILTO=ops@a.org')

    addresses = crontab.mail_addresses(lines)
    channels = crontab.mail_channels(addresses, "/usr/sbin/sendmail")

    assert addresses == {"ops@a.org": 1, "Ops@b.org": 1}
    assert list(channels) == ["mail-ops", "mail-ops-2"]
    assert channels["mail-ops"][-2:] == ("/usr/sbin/sendmail", "ops@a.org")


def test_the_command_of_a_channel_sends_a_mail(tmp_path: Path) -> None:
    """With a subject, and the event as its text."""
    sendmail = tmp_path / "sendmail"
    sendmail.write_text('#!/bin/sh\necho "$@" > mail; cat >> mail\n', encoding="utf-8")
    sendmail.chmod(0o755)
    words = crontab.mail_channels({"ops@a.org": 1}, str(sendmail))["mail-ops"]

    environ = {"PATH": "/usr/bin:/bin", "MEDBAY_EVENT": "question:asked"}
    subprocess.run(words, input='{"event": 1}\n', text=True, cwd=tmp_path, env=environ, check=True)

    mail = (tmp_path / "mail").read_text(encoding="utf-8")
    assert mail == '-i -- ops@a.org\nTo: ops@a.org\nSubject: medbay: question:asked\n\n{"event": 1}\n'


def test_the_example_is_taken_over_whole() -> None:
    """Twenty lines of a real crontab: each job is a task that can be added."""
    found = taken(EXAMPLE.read_text(encoding="utf-8"))

    assert [each.why for each in found if not each.given] == []
    assert len(found) == 12
    for each in found:
        assert requests.new_task(each.given, now=NOW).cron


FIELD = st.sampled_from(["*", "*/5", "1", "1-5", "1,2", "sun", "jan", "60", "5-1", "x", "*/0", "0-59/7"])
COMMAND = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20)
JOB = st.builds(
    lambda fields, command: f"{' '.join(fields)} {command}", st.lists(FIELD, min_size=5, max_size=5), COMMAND
)
LINE = st.one_of(
    JOB,
    st.builds(lambda name, value: f"{name}={value}", st.sampled_from(["PATH", "SHELL", "MAILTO", "A B", ""]), COMMAND),
    st.builds("@{} {}".format, st.sampled_from(["daily", "reboot", "never"]), COMMAND),
    st.builds("#{}".format, COMMAND),
    COMMAND,
)


@examples(400)
@given(st.lists(LINE, max_size=12), st.booleans())
def test_every_line_is_read_or_named(lines: list[str], system: bool) -> None:
    """A job becomes a task that can be added, or it and its line are named with why; nothing is lost or raised."""
    text = "\n".join(lines) + "\n"
    read = crontab.read(text, system=system)
    found = crontab.tasks(read, ROOT, source="x", now=NOW)

    assert [line.number for line in read] == list(range(1, text.count("\n") + 1))
    jobs = {line.number for line in read if line.kind in ("job", "unread")}
    assert jobs <= {each.line.number for each in found}
    assert len({each.line.number for each in found}) == len(found)
    keys = [each.given["key"] for each in found if each.given]
    assert len(set(keys)) == len(keys)
    for each in found:
        assert bool(each.given) != bool(each.why)
        if each.given:
            assert requests.new_task(each.given, now=NOW).title


def test_a_comment_with_a_nul_byte_still_describes_its_job() -> None:
    """What no database takes is left out of the description."""
    read = crontab.read("# nightly\0 pull\n0 3 * * * ./pull.sh\n", system=False)

    (found,) = crontab.tasks(read, ROOT, source="x", now=NOW)

    assert found.given["description"] == "nightly pull"


@examples(200)
@given(COMMAND)
def test_what_is_escaped_reaches_the_command(text: str) -> None:
    """A text without backslashes, its percent signs escaped, is the command itself."""
    command = f"x{text}x".replace("\\", "/").replace("\0", "")

    assert job("* * * * * " + command.replace("%", "\\%")).command == command


def test_a_shell_that_cannot_be_executed_leaves_the_line_out() -> None:
    """Cron would fail at night; the import says so at once."""
    machine = CronMachine(user="ada", home="/home/ada", zone="UTC", is_command=lambda path: path == "/bin/sh")
    text = "0 1 * * * a\nSHELL=/bin/fsh\n0 2 * * * b\n"

    kept, left = crontab.tasks(crontab.read(text), machine, source="s", now=NOW)

    assert kept.given and left.why == "its SHELL /bin/fsh is no command on this machine"


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("1 * * * * root a\n@daily mail b\n", True),
        ("1 * * * * mail b\n", False),
        ("1 * * * * root a\n2 * * * * b\n", False),
        ("# nothing\n", False),
    ],
)
def test_a_crontab_whose_jobs_all_name_users_is_a_systems(text: str, copied: bool) -> None:
    """With root among them: `mail` is a command too."""
    assert crontab.names_users(crontab.read(text), {"root", "mail"}) == copied
