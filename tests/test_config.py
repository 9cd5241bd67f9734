"""The configuration: what is accepted, what is refused on which line, what wins, where it came from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay import app
from medbay.bay import Bay
from medbay.config import lines as toml_lines
from medbay.config.fields import Config
from medbay.config.keys import commented_file, key_at, paths, reference_tables, under
from medbay.config.kinds import shown, without_password
from medbay.config.load import check_text, load
from medbay.config.rows import SECTIONS
from medbay.core.delivery import Channel
from medbay.core.policy.presets import LADDER, MAX_RETRIES_TOTAL
from medbay.errors import ConfigError

KEYS = [key_at(path) for path in paths()]
ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference" / "configuration.md"

GOOD = """\
[store]
url = "postgresql://db.example/medbay"

[engine]
workers = 8
lease = "1m"
grace = "5s"
crash_budget = 2
blocked_timeout = "2h"
slots_for_recovery = 1

[policy]
preset = "ladder"
max_retries_total = 9

[policy.ladder.transient]
delays = [
  "1s",  # quick
  "1h30m",
]
max_retries = 2

[runner]
secrets = ["AWS_*", "TOKEN"]
"""


def defaults() -> Config:
    """The configuration of somebody who configured nothing."""
    return load(None, {}, {})


def of_text(tmp_path: Path, text: str) -> Config:
    """The configuration of a file with this text."""
    path = tmp_path / "medbay.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, {}, {})


# What is accepted


def test_without_a_file_every_default_holds() -> None:
    """The documented defaults, and the ladder of the presets."""
    config = defaults()

    assert config.store.url == "sqlite:///.medbay/medbay.db"
    assert config.engine.workers == 4
    assert config.engine.lease_ms is None
    assert config.engine.grace_ms == 10_000
    assert config.engine.crash_budget == 3
    assert config.engine.blocked_timeout_ms == 24 * 3_600_000
    assert config.engine.slots_for_recovery == 0.5
    assert config.policy.preset == "ladder"
    assert config.policy.ladder == LADDER
    assert config.policy.max_retries_total == MAX_RETRIES_TOTAL
    assert config.runner.secrets == ()


def test_a_full_file_is_read(tmp_path: Path) -> None:
    """Every kind of value, a list over several lines among them."""
    config = of_text(tmp_path, GOOD)

    assert config.store.url == "postgresql://db.example/medbay"
    assert (config.engine.workers, config.engine.lease_ms, config.engine.grace_ms) == (8, 60_000, 5_000)
    assert (config.engine.crash_budget, config.engine.slots_for_recovery) == (2, 1.0)
    assert config.policy.max_retries_total == 9
    assert config.policy.ladder["transient"].delays_ms == (1_000, 5_400_000)
    assert config.policy.ladder["transient"].max_retries == 2
    assert config.policy.ladder["unknown"] == LADDER["unknown"]
    assert config.runner.secrets == ("AWS_*", "TOKEN")


@pytest.mark.parametrize(
    "text",
    [
        "engine.workers = 8",
        "engine = { workers = 8 }",
        '"engine"."workers" = 8',
        "\ufeff[engine]\r\nworkers = 8\r\n",
        "[engine]\nworkers = 0x8",
    ],
)
def test_every_way_to_write_a_key_in_toml_is_read(tmp_path: Path, text: str) -> None:
    """Dotted, inline, quoted, with another editor's line ends."""
    assert of_text(tmp_path, text).engine.workers == 8


def test_the_lease_follows_the_kind_of_store_unless_set() -> None:
    """30 s where one machine works, 120 s where many do."""
    by_default = defaults().engine
    as_set = load(None, {}, {"engine.lease": "5s"}).engine

    assert by_default.lease_for("sqlite:///x.db") == 30_000
    assert by_default.lease_for("postgresql://host/x") == 120_000
    assert as_set.lease_for("postgresql://host/x") == 5_000


def test_a_table_with_a_name_of_its_own_makes_one_of_each(tmp_path: Path) -> None:
    """Agents and channels, by name, dots and all; what is not said is the default."""
    config = of_text(
        tmp_path, '[notify.desk]\ncommand = ["./hook.sh"]\ntimeout = "5s"\n[notify."on.call"]\ncommand = ["x"]'
    )

    assert config.notify == {
        "desk": Channel(name="desk", kind="command", target=("./hook.sh",), timeout_ms=5_000),
        "on.call": Channel(name="on.call", kind="command", target=("x",)),
    }
    assert config.source("notify.on.call.command").endswith("medbay.toml:5")
    assert config.folder == tmp_path


# Mistakes


MISTAKES = [
    ("[engine]\n\nworkes = 3", 3, 'unknown key "workes" in [engine]; did you mean "workers"?'),
    (
        '[policy.ladder.transient]\ndelay = ["1s"]',
        2,
        'unknown key "delay" in [policy.ladder.transient]; did you mean "delays"?',
    ),
    ("[enginee]\nworkers = 3", 1, 'unknown section "enginee"; did you mean "engine"?'),
    (
        "\n[policy.ladder.transint]",
        2,
        'unknown section "transint" in [policy.ladder]; did you mean "transient"?',
    ),
    ("[store]\nworkers = 3", 2, 'unknown key "workers" in [store]; it belongs in [engine]'),
    ("zzz = 3", 1, 'unknown key "zzz"'),
    ('"engine.workers" = 3', 1, 'unknown key "engine.workers"'),
    ("[engine]\nworkers = 0", 2, "engine.workers must be a whole number from 1 to 1000, not 0"),
    ("[engine]\nworkers = 1001", 2, "engine.workers must be a whole number from 1 to 1000, not 1001"),
    ("[engine]\nworkers = true", 2, "engine.workers must be a whole number from 1 to 1000, not true"),
    ("[engine]\nworkers = 4.0", 2, "engine.workers must be a whole number from 1 to 1000, not 4.0"),
    ('[engine]\nworkers = "4"', 2, 'engine.workers must be a whole number from 1 to 1000, not "4"'),
    ("engine = {\tworkers = {} }", 1, "engine.workers must be a whole number from 1 to 1000, not a table"),
    ("[engine]\nworkers = 1979-05-27", 2, "from 1 to 1000, not a date or time"),
    ("[engine]\nworkers = [[1]]", 2, "from 1 to 1000, not a nested list"),
    ("[engine]\nworkers = 0x" + "f" * 5000, 2, "from 1 to 1000, not a number that large"),
    ("[engine]\nslots_for_recovery = 0", 2, "must be a number above 0 and at most 1, not 0"),
    ("[engine]\nslots_for_recovery = 1.01", 2, "must be a number above 0 and at most 1, not 1.01"),
    ("[engine]\nslots_for_recovery = nan", 2, "must be a number above 0 and at most 1, not nan"),
    ('[engine]\nlease = "999ms"', 2, 'a duration like "30s" or "1h30m", from 1s to 3650d, not "999ms"'),
    ('[engine]\nlease = "soon"', 2, 'a duration like "30s" or "1h30m", from 1s to 3650d, not "soon"'),
    ("[engine]\ngrace = 10", 2, 'a duration like "30s" or "1h30m", from 0s to 3650d, not 10'),
    ('[engine]\nblocked_timeout = "3651d"', 2, 'from 1s to 3650d, not "3651d"'),
    ("[policy]\nmax_retries_total = -1", 2, "must be a whole number from 0 to 1000, not -1"),
    ('[policy]\npreset = "magic"', 2, 'policy.preset must be "ladder", not "magic"'),
    ('[policy]\npreset = "tiers"', 2, 'not "tiers"; "tiers" is not available in this version'),
    ("[policy]\nadaptive = 1", 2, "policy.adaptive must be true or false, not 1"),
    ("[policy.ladder.timeout]\ndelays = []", 2, 'a list of one or more durations like ["30s", "2m"], not []'),
    ('[policy.ladder.timeout]\ndelays = "1s"', 2, 'a list of one or more durations like ["30s", "2m"], not'),
    (
        '[policy.ladder.timeout]\ndelays = [\n  "1s",\n\n  # slower\n  "2x",\n]',
        6,
        'entry 2 of policy.ladder.timeout.delays must be a duration like "30s" or "1h30m", from 0s to 3650d, not "2x"',
    ),
    ("[policy.ladder.timeout]\nmax_retries = 1001", 2, "must be a whole number from 0 to 1000, not 1001"),
    ("[policy]\nladder = 3", 2, "policy.ladder must be a table: [policy.ladder]"),
    ("\n[[engine]]", 2, "engine must be a table: [engine]"),
    ("[runner]\nsecrets = 3", 2, 'runner.secrets must be a list of texts like ["A", "B_*"], not 3'),
    (
        '[runner]\nsecrets = ["A", ""]',
        2,
        'entry 2 of runner.secrets must be a text that is not empty, not ""',
    ),
    ('[store]\nurl = "mysql://u:hush@h/x"', 2, 'not "mysql://u:***@h/x"'),
    ("[store]\nurl = 3", 2, "store.url must be an address like"),
    ("[notify.desk]\ncommand = []", 2, 'a list of one or more words like ["./notify.sh", "urgent"], not []'),
    ('[notify.desk]\ncommand = "./hook.sh loud"', 2, 'write ["./hook.sh", "loud"]'),
    ('[notify.desk]\non = ["task:failed"]', 1, "notify.desk has no command or url or url_env; write how"),
    (
        '[notify.desk]\ncommand = ["x"]\non = [\n"question:asked",\n"question:ask"]',
        5,
        'entry 2 of notify.desk.on must be the name of an event, not "question:ask"; did you mean "question:asked"?',
    ),
    ('[notify."a b"]\ncommand = ["x"]', 1, '"a b" is no name for a channel; letters, digits, dots, dashes'),
    ("[engine]\nworkers =", 2, "is not valid TOML: Invalid value"),
    ("[engine]\nworkers = 1\nworkers = 2\n", 3, "is not valid TOML: Cannot overwrite a value"),
    ('[engine]\n\nlease = """', 3, "is not valid TOML"),
    ("a = " + "[" * 5000, 1, "nested too deep"),
    ("a = " + "9" * 5000, 1, "a number is too long"),
    ("#" * 1_000_001, 1, "is too large"),
    ('[engine]\n"\\u001b[2J" = 1', 2, 'unknown key "\\u001b[2J" in [engine]'),
]


@pytest.mark.parametrize(("text", "line", "said"), MISTAKES)
def test_a_mistake_is_named_with_its_line(text: str, line: int, said: str) -> None:
    """One line that says what is wrong, where, and what was perhaps meant."""
    (mistake,) = check_text(text, "medbay.toml")

    assert str(mistake).startswith(f"medbay.toml:{line}: ")
    assert said in str(mistake)
    assert (mistake.file, mistake.line) == ("medbay.toml", line)
    assert str(mistake).isprintable()
    assert len(str(mistake)) < 300


def test_all_mistakes_are_found_in_one_pass_and_in_order() -> None:
    """A person mends a file once, not once per mistake."""
    text = "[policy]\npreset = 1\n[engine]\nworkers = 0\nlaese = '1s'\n[store]\nurl = 1\n[policy.ladder]\nx = 1"

    mistakes = check_text(text, "f")

    assert [mistake.line for mistake in mistakes] == [2, 4, 5, 7, 9]


def test_a_good_file_has_no_mistakes() -> None:
    """What `medbay policy check` answers for it."""
    assert check_text(GOOD, "f") == ()
    assert check_text("", "f") == ()


def test_loading_a_file_with_mistakes_raises_the_first(tmp_path: Path) -> None:
    """By line, with the file as it is found from here."""
    with pytest.raises(ConfigError, match=r"medbay\.toml:2: engine\.workers") as caught:
        of_text(tmp_path, "[engine]\nworkers = 0\n[store]\nurl = 1")

    assert caught.value.exit_code == 2


def test_a_file_that_cannot_be_read_is_a_configuration_error(tmp_path: Path) -> None:
    """Missing, a directory, or not text."""
    (tmp_path / "latin.toml").write_bytes(b"[engine]\n# caf\xe9\n")

    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(tmp_path / "none.toml", {}, {})
    with pytest.raises(ConfigError, match="is not a regular file"):
        load(tmp_path, {}, {})
    with pytest.raises(ConfigError, match=r"latin\.toml:2: is not UTF-8 text"):
        load(tmp_path / "latin.toml", {}, {})


def test_the_file_is_named_as_short_as_possible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its own directory it is just its name."""
    monkeypatch.chdir(tmp_path)

    assert of_text(tmp_path, "[engine]\nworkers = 5").source("engine.workers") == "medbay.toml:2"


# Precedence and provenance


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    """File < environment < flags, each with its source."""
    path = tmp_path / "medbay.toml"
    path.write_text("[engine]\nworkers = 5\ngrace = '1s'\ncrash_budget = 7\n", encoding="utf-8")
    environ = {"MEDBAY_ENGINE_WORKERS": "6", "MEDBAY_ENGINE_GRACE": "2s", "PATH": "/bin"}

    config = load(path, environ, {"engine.workers": 7, "engine.lease": None})

    assert (config.engine.workers, config.engine.grace_ms, config.engine.crash_budget) == (7, 2_000, 7)
    assert config.source("engine.workers") == "flag"
    assert config.source("engine.grace") == "environment MEDBAY_ENGINE_GRACE"
    assert config.source("engine.crash_budget").endswith("medbay.toml:4")
    assert config.source("engine.lease") == "default"


def test_the_source_of_a_list_is_the_line_where_it_starts(tmp_path: Path) -> None:
    """What `medbay policy show` prints beside each value."""
    config = of_text(tmp_path, GOOD)

    assert config.source("policy.ladder.transient.delays").endswith(":17")
    assert config.source("policy.ladder.transient.max_retries").endswith(":21")
    assert config.source("policy.ladder.timeout.delays") == "default"


def test_the_settings_of_a_section_can_be_listed_as_text(tmp_path: Path) -> None:
    """With the values as they would stand in the file."""
    config = of_text(tmp_path, GOOD)

    texts = {setting.key.path: setting.text for setting in under(config, "policy")}

    assert texts["policy.max_retries_total"] == "9"
    assert texts["policy.ladder.transient.delays"] == '["1s", "1h30m"]'
    assert texts["policy.ladder.timeout.delays"] == '["5m", "15m", "30m"]'
    assert not [path for path in texts if not path.startswith("policy.")]
    assert under(defaults(), "engine.lease")[0].text == '"30s" on SQLite, "2m" on PostgreSQL'


def test_the_short_variable_of_the_store_wins_over_the_long_one() -> None:
    """Both are accepted; an empty one is not set."""
    both = {"MEDBAY_STORE_URL": "sqlite:///long.db", "MEDBAY_STORE": "sqlite:///short.db"}

    assert load(None, both, {}).store.url == "sqlite:///short.db"
    assert load(None, {**both, "MEDBAY_STORE": ""}, {}).store.url == "sqlite:///long.db"
    assert load(None, both, {}).source("store.url") == "environment MEDBAY_STORE"


@pytest.mark.parametrize("key", [key for key in KEYS if key.variable], ids=lambda key: key.path)
def test_every_scalar_has_a_variable_that_is_checked(key: object) -> None:
    """A wrong value names the variable."""
    variable = getattr(key, "variable", "")

    with pytest.raises(ConfigError, match=f"^environment {variable}: .* must be .*, not "):
        load(None, {variable: "\x1b nonsense"}, {})


def test_numbers_are_read_from_the_environment() -> None:
    """Text becomes the kind that the key has."""
    config = load(None, {"MEDBAY_ENGINE_SLOTS_FOR_RECOVERY": "0.25", "MEDBAY_POLICY_MAX_RETRIES_TOTAL": "0"}, {})

    assert config.engine.slots_for_recovery == 0.25
    assert config.policy.max_retries_total == 0


def test_an_unknown_variable_of_a_section_is_a_mistake() -> None:
    """A typing mistake in a variable is not ignored; variables of other kinds are."""
    children = {"MEDBAY_ATTEMPT": "2", "MEDBAY_STORE_ID": "abc", "MEDBAY_TASK": "k7f2"}

    assert load(None, children, {}) == defaults()
    with pytest.raises(ConfigError, match="did you mean MEDBAY_ENGINE_WORKERS?"):
        load(None, {"MEDBAY_ENGINE_WORKES": "3"}, {})


def test_a_flag_is_checked_like_a_line_of_the_file() -> None:
    """Text from the command line or a value from the library."""
    assert load(None, {}, {"engine.workers": "12"}).engine.workers == 12
    assert load(None, {}, {"runner.secrets": ["A"]}).runner.secrets == ("A",)
    with pytest.raises(ConfigError, match=r"^engine\.workers must be a whole number"):
        load(None, {}, {"engine.workers": "many"})
    with pytest.raises(ConfigError, match="^entry 1 of policy.ladder.timeout.delays must be"):
        load(None, {}, {"policy.ladder.timeout.delays": [3]})
    with pytest.raises(ConfigError, match="^runner.secrets must be a list of texts"):
        load(None, {}, {"runner.secrets": "A"})


def test_a_password_is_never_shown() -> None:
    """Neither in the listing nor in an error."""
    config = load(None, {"MEDBAY_STORE": "postgresql://me:hu:sh@host/db?password=hush"}, {})

    assert "hu" not in under(config, "store")[0].text
    assert without_password("postgresql://me@host/db") == "postgresql://me@host/db"
    assert config.store.url == "postgresql://me:hu:sh@host/db?password=hush"


# The table of keys


def test_the_file_of_init_is_the_defaults_commented_out() -> None:
    """As written it sets nothing; uncommented it sets what it says."""
    written = commented_file()
    uncommented = re.sub(r"(?m)^# ([a-z_]+ = |\[)", r"\1", written)

    assert check_text(written, "f") == ()
    assert tomllib.loads(written) == {}
    assert check_text(uncommented, "f") == ()
    document = tomllib.loads(uncommented)
    for key in KEYS:
        if key.hidden:
            own = written.partition(f"# [{key.section}]\n")[2].partition("\n# [")[0]
            assert own and f"# {key.name} = " not in own
            continue
        value: object = document
        for part in key.parts:
            assert isinstance(value, dict)
            value = value[part]
        assert value in (key.default, key.example)


def test_every_key_is_documented_once_and_its_default_is_valid() -> None:
    """One row per setting, in a section that is described."""
    for key in KEYS:
        assert key.section in SECTIONS
        assert key.doc.endswith(".")
        assert key.default is not None or key.default_is
        assert "|" not in key.doc + key.kind.says


def test_the_reference_page_is_made_from_the_table() -> None:
    """Replace the part between the markers by the output of `python -m medbay.config.keys`."""
    page = REFERENCE.read_text(encoding="utf-8")

    between = page.partition("<!-- keys -->\n")[2].partition("<!-- /keys -->")[0]

    assert between.strip() == reference_tables().strip()


def test_a_value_is_shown_short_and_on_one_line() -> None:
    """Whatever stands in a file, the error stays readable."""
    assert shown("x" * 100) == '"' + "x" * 59 + '…"'
    assert shown("a\nb\x9b") == '"a\\nb\\u009b"'
    assert shown([1, "a", True]) == '[1, "a", true]'
    assert shown(["x" * 59] * 9) == "a list that long"


# Lines


def test_lines_are_found_for_every_way_to_write_a_key() -> None:
    """Headers, dotted and quoted keys, inline tables, strings with brackets and line breaks in them."""
    text = '\n'.join(
        [
            "a.b = 1  # [not] = a key",
            "c = '''",
            "[not.a.table]",
            "'''",
            "d = [ { e = 1, f = [2,",
            "  3] }, '#', ]",
            '[ "q.r" . s ]',
            't = {u = {v = "}"}, w = 2}',
            "x = 1",
            "[[list]]",
            "y = 1",
        ]
    )  # fmt: skip

    lines = toml_lines.locate(text)

    assert lines["a",] == lines["a", "b"] == 1
    assert lines["c",] == 2
    assert ("not",) not in lines
    assert lines["d", "e"] == lines["d", "f"] == 5
    assert lines["d", "f", "1"] == lines["d", "1"] == 6
    assert lines["q.r", "s"] == 7
    assert lines["q.r", "s", "t", "u", "v"] == lines["q.r", "s", "t", "w"] == 8
    assert lines["q.r", "s", "x"] == 9
    assert lines["list", "y"] == 11
    assert toml_lines.nearest(lines, ("list", "z", "0")) == 10
    assert toml_lines.nearest(lines, ("nowhere",)) == 1


TOML_PIECES = st.sampled_from(
    [*"[]{}=,.\n #\"'\\a1\té\x00", '"""', "'''", "true", "\r\n", '"30s"']
    + "engine workers lease policy ladder transient delays".split()
)


@given(st.one_of(st.text(), st.lists(TOML_PIECES, max_size=40).map("".join)))
def test_hostile_text_never_breaks_the_check(text: str) -> None:
    """It is used or refused, with a line inside the file and a message fit for a terminal."""
    toml_lines.locate(text)
    for mistake in check_text(text, "f"):
        assert 1 <= (mistake.line or 0) <= text.count("\n") + 1
        assert str(mistake).isprintable()


NAMES = st.sampled_from(["a", "b-1", '"c.d"', "'e f'", '"\\u0041"'])
VALUES = st.sampled_from(["1", "'x # y'", '"]}"', "[1, 2]", "[\n1,\n2,\n]", "{ z = 1 }", '"""\n[q]\nr = 1"""', "1.5"])


@given(st.lists(st.tuples(st.booleans(), st.lists(NAMES, min_size=1, max_size=3), VALUES), max_size=12))
def test_every_key_of_a_valid_text_has_its_own_line(
    statements: list[tuple[bool, list[str], str]],
) -> None:
    """Each key is numbered so that it is unique; its line is the one it was written on."""
    text = ""
    table: tuple[str, ...] = ()
    expected: dict[tuple[str, ...], int] = {}
    for number, (is_table, names, value) in enumerate(statements):
        parts = tuple(str(tomllib.loads(f"x = {name}")["x"]) if name[0] in "\"'" else name for name in names)
        line = text.count("\n") + 1
        if is_table:
            table = (*parts, f"t{number}")
            text += f"[{'.'.join([*names, f't{number}'])}] # x\n"
            expected[table] = line
        else:
            text += f"k{number} = {value}\n"
            expected[(*table, f"k{number}")] = line
    tomllib.loads(text)

    lines = toml_lines.locate(text)

    assert {path: lines[path] for path in expected} == expected


# What it costs

COUNTED = """
import sys
from pathlib import Path

HOME = str(Path(sys.argv[1]) / "medbay" / "config")
count = 0

def ours(frame):
    return frame is not None and frame.f_code.co_filename.startswith(HOME)

def look(frame, event, arg):
    global count  # generated code has no file: it counts for the code that calls it
    count += event == "call" and (ours(frame) or frame.f_code.co_filename == "<string>" and ours(frame.f_back))

sys.argv = ["medbay", "list", "--json"]
sys.setprofile(look)
from medbay.cli.main import main
code = main()
sys.setprofile(None)
print(code, count, file=sys.stderr)
"""
SMALL = '[engine]\nworkers = 8\ngrace = "5s"\n\n[policy.ladder.transient]\ndelays = ["1s", "1m"]\n'


@pytest.mark.parametrize("written", ["", SMALL], ids=["no file", "a small file"])
def test_a_listing_spends_few_calls_on_the_configuration(tmp_path: Path, written: str) -> None:
    """From the start of the process on, the import of its modules included."""
    here = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    Bay(app.find_place(tmp_path, store_url=f"sqlite:///{tmp_path}/.medbay/medbay.db", environ={})).close()
    if written:
        (tmp_path / "medbay.toml").write_text(written, encoding="utf-8")

    counted = subprocess.run(
        [sys.executable, "-c", COUNTED, str(ROOT)], cwd=tmp_path, env=here, check=True, capture_output=True, text=True
    )

    code, calls = counted.stderr.split()
    assert code == "0"
    assert int(calls) < 140  # of which 15 ask whose file it is and whether it needs a decision


def test_without_a_file_nothing_is_made_twice() -> None:
    """The defaults are one value, made when the table is loaded."""
    assert load(None, {}, {"store.url": None}) is load(None, {"PATH": "/bin"}, {})


def test_a_relative_store_of_the_file_is_beside_the_file_from_anywhere_below(tmp_path: Path) -> None:
    """However far below the project a person stands, the file means the same store."""
    (tmp_path / ".medbay").mkdir()
    (tmp_path / "medbay.toml").write_text('[store]\nurl = "sqlite:///other.db"\n', encoding="utf-8")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)

    environ = {"MEDBAY_TRUST": "1", "XDG_DATA_HOME": str(tmp_path / "data")}
    found = {app.find_place(start, store_url=None, environ=environ).url for start in (tmp_path, below)}

    assert found == {f"sqlite:///{tmp_path}/other.db"}


def test_a_file_that_is_no_file_neither_hangs_nor_fills_the_memory(tmp_path: Path) -> None:
    """A device, a pipe, or a link to one; a link to a file of settings is followed."""
    (tmp_path / "zero").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plain").write_text("[engine]\nworkers = 3\n")
    (tmp_path / "link").symlink_to(tmp_path / "plain")

    for name in ("zero", "pipe"):
        with pytest.raises(ConfigError, match="is not a regular file"):
            load(tmp_path / name, {}, {})
    assert load(tmp_path / "link", {}, {}).engine.workers == 3


@pytest.mark.parametrize("part", ["a", '"a b"', "'a'"])
def test_a_key_of_ten_thousand_parts_is_refused_at_once(part: str) -> None:
    """The standard parser would take seconds."""
    text = ".".join([part] * 10_000) + " = 1\n"

    begun = time.perf_counter()
    (mistake,) = check_text(text, "medbay.toml")

    assert time.perf_counter() - begun < 0.5
    assert "has a key of too many parts" in str(mistake)
    assert not check_text(f"# {'.' * 200}\n[runner]\nredact = ['x{'.' * 100}']\n", "medbay.toml")
