"""What is taken out of a text that leaves a log, what is not, and that it is fast and harmless on anything."""

from __future__ import annotations

import json
import re
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medbay.core import redaction
from medbay.core.redaction import (
    MARK,
    PATTERN_MAX,
    RULES,
    Redaction,
    Redactor,
    compiled,
    is_secret_name,
    own_pattern,
    redact,
    secrets_of,
)
from tests.properties import examples

# Put together from parts, so that no tool takes these examples for real ones.
RANDOM = "Zx9Qw7Er5Ty3Ui1Op0As" + "8Df6Gh4Jk2Lz0Xc9Vb7Nm5"
GITHUB = "ghp_" + RANDOM[:36]
JWT = "eyJ" + RANDOM[:30] + ".eyJ" + RANDOM[5:35] + "." + RANDOM[:20]

# What is printed, the secret in it, and what is left.
SECRETS = [
    (f"pushed with {GITHUB} to main", GITHUB, f"pushed with {MARK} to main"),
    ("gho_" + RANDOM[:36], RANDOM[:36], MARK),
    ("github_pat_" + RANDOM, RANDOM, MARK),
    ("glpat-" + RANDOM[:20], RANDOM[:20], MARK),
    ("key AKIA" + "IOSFODNN7EXAMPLE used", "IOSFODNN7EXAMPLE", f"key {MARK} used"),
    ("ASIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE", MARK),
    ("sk-ant-api03-" + RANDOM, RANDOM, MARK),
    ("sk-proj-" + RANDOM, RANDOM, MARK),
    ("sk_live_" + RANDOM[:24], RANDOM[:24], MARK),
    ("rk_live_" + RANDOM[:24], RANDOM[:24], MARK),
    ("xoxb-" + "1234567890-abcdefghij", "1234567890", MARK),
    ("https://hooks.slack.com/services/T000/B000/" + RANDOM[:24], RANDOM[:24], None),
    ("https://api.telegram.org/bot123456789:" + RANDOM[:35] + "/send", RANDOM[:35], None),
    ("AIza" + RANDOM[:35], RANDOM[:35], MARK),
    ("npm_" + RANDOM[:36], RANDOM[:36], MARK),
    ("pypi-" + RANDOM + RANDOM[:10], RANDOM, MARK),
    ("hf_" + RANDOM[:34], RANDOM[:34], MARK),
    (f"session {JWT} expired", JWT, f"session {MARK} expired"),
    (f"Authorization: Bearer {RANDOM}", RANDOM, f"Authorization: Bearer {MARK}"),
    ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", f"authorization: Basic {MARK}"),
    ("Set-Cookie: session=abcdefgh; Path=/", "abcdefgh", f"Set-Cookie: {MARK}"),
    (f"curl -H 'x: bearer {RANDOM}'", RANDOM, f"curl -H 'x: bearer {MARK}'"),
    (f"X-Api-Key: {RANDOM}", RANDOM, f"X-Api-Key: {MARK}"),
    ("postgres://app:hunter2@db:5432/x", "hunter2", f"postgres://app:{MARK}@db:5432/x"),
    ("mysql -u root -psesame9 shop", "sesame9", f"mysql -u root -p{MARK} shop"),
    ("+ mysqldump --all-databases -p'sesame9' | gzip", "sesame9", f"+ mysqldump --all-databases -p'{MARK}' | gzip"),
    ("mariadb -psesame9", "sesame9", f"mariadb -p{MARK}"),
    ("sshpass -psesame9 ssh host", "sesame9", f"sshpass -p{MARK} ssh host"),
    ("key AKIA\x1b[1mIOSFODNN7" + "EXAMPLE\x1b[0m rejected", "IOSFODNN7", f"key {MARK} rejected"),
    ("key AKIA\x9b1mIOSFODNN7" + "EXAMPLE", "IOSFODNN7", f"key {MARK}"),
    ("pass\u200bword=hunter2hunter", "hunter2hunter", f"password={MARK}"),
    ("\x1b]0;title\x07ghp_\x1b[K" + RANDOM[:36], RANDOM[:36], MARK),
    ("https://:pw@host/", ":pw@", f"https://:{MARK}@host/"),
    ("DB_PASSWORD=hunter", "hunter", f"DB_PASSWORD={MARK}"),
    ("password: hunter2x", "hunter2x", f"password: {MARK}"),
    ("  password: correcthorse\n", "correcthorse", f"  password: {MARK}\n"),
    ('{"password": "correct horse"}', "correct horse", f'{{"password": "{MARK}"}}'),
    ('{"api_key": "ab\\"cd"}', 'ab\\"cd', f'{{"api_key": "{MARK}"}}'),
    ('"{\\"clientSecret\\": \\"abcdefg\\"}"', "abcdefg", None),
    ("MY_TOKEN='abcd efgh'", "abcd efgh", f"MY_TOKEN='{MARK}'"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI", "wJalrXUtnFEMI", f"AWS_SECRET_ACCESS_KEY={MARK}"),
    ("token = abc123def", "abc123def", f"token = {MARK}"),
    ("https://x/?access_token=abcdefgh&a=1", "abcdefgh", f"https://x/?access_token={MARK}&a=1"),
    ("deploy --password letmein now", "letmein", f"deploy --password {MARK} now"),
    ("deploy --api-key=abcdefgh", "abcdefgh", f"deploy --api-key={MARK}"),
    (r"line\n" + GITHUB, GITHUB, rf"line\n{MARK}"),
    ("İ password=hunter2", "hunter2", f"İ password={MARK}"),  # one character that lower case makes two of
]

PLAIN = [
    "",
    "all 14 tests passed",
    "SyntaxError: Unexpected token '}'",
    "Unexpected token: }",
    "max_tokens=200000 total_tokens: 1234567",
    '{"usage": {"prompt_tokens": 123456, "completion_tokens": 99}}',
    "token_count=1234567",
    "token: 1234567",
    "KeyError: 'api_key'",
    "password: incorrect",
    "bad credentials: invalid",
    "secretName: database",
    "password_file=/run/secrets/db",
    "token = get_token()",
    "api_key=settings.API_KEY",
    "password=$DB_PASSWORD",
    "password=${DB_PASSWORD}",
    "api_key=os.environ['X']",
    "password=get_password_from_vault(name)",
    "Authorization: required",
    "https://example.org/a:b@c",
    "git clone git@github.com:org/repo.git",
    "http://localhost:8080/path",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "task-sk-1 risk-averse-people-like-this-one-here",
    "AKIA is the beginning of a key",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "the key: value pairs of a dictionary",
]


@pytest.mark.parametrize(("text", "secret", "left"), SECRETS)
def test_what_looks_like_a_secret_is_taken_out(text: str, secret: str, left: str | None) -> None:
    """And what is not secret stays."""
    found = redact(text)
    assert secret not in found and MARK in found
    assert left is None or found == left
    assert secret not in redact(f"before\n{text}\nafter") and redact(found) == found


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_none_stays_as_it_is(text: str) -> None:
    """A log has to stay readable, by people and by the diagnosis."""
    assert redact(text) == text


@pytest.mark.parametrize("ended", [True, False])
def test_a_private_key_goes_and_its_lines_stay_lines(ended: bool) -> None:
    """Also when a log was cut before its end."""
    body = "\n".join([RANDOM * 2] * 5)
    end = "\n-----END RSA PRIVATE KEY-----" if ended else ""
    text = f"reading\n-----BEGIN RSA PRIVATE KEY-----\n{body}{end}\nthen it failed, at last"

    found = redact(text)

    assert RANDOM not in found and found.count("\n") == text.count("\n")
    assert found.startswith("reading\n-----BEGIN RSA PRIVATE KEY-----\n") and found.endswith("then it failed, at last")
    assert redact(found) == found


def test_a_key_inside_of_a_text_that_names_another_one_is_taken_out_once() -> None:
    """Armour that begins twice before it ends is one block."""
    begin = "-----BEGIN PRIVATE KEY-----"
    text = f"{begin}\n{RANDOM}\n{begin}\n{RANDOM}\n-----END PRIVATE KEY-----\nok"
    assert RANDOM not in redact(text) and redact(text).endswith("\n-----END PRIVATE KEY-----\nok")


PIECES = [
    *(text for text, _, _ in SECRETS),
    *PLAIN,
    "password",
    "token",
    ":",
    "=",
    '"',
    "'",
    "\\",
    "\n",
    " ",
    MARK,
    "@",
]
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=12).map("".join)


@given(hostile)
@example('token="[redacted]')
@examples(300)
def test_redacting_twice_changes_nothing_more_and_lines_stay_lines(text: str) -> None:
    """Whatever comes: it never raises, and a reader can still count the lines."""
    found = redact(text)
    assert redact(found) == found
    assert found.count("\n") == text.count("\n") and len(found.splitlines()) == len(text.splitlines())


@given(st.dictionaries(st.sampled_from(["why", "log", "detail"]), hostile))
@examples(200)
def test_json_stays_json(said: dict[str, str]) -> None:
    """What an agent answers is redacted as it came, and has to be read afterwards."""
    json.loads(redact(json.dumps(said)))


@given(hostile, st.lists(st.integers(0, 200), max_size=4))
@examples(200)
def test_a_log_that_comes_in_pieces_is_shown_as_it_would_be_at_once(text: str, cuts: list[int]) -> None:
    """Secrets are not seen because they were cut in half; nothing is lost, and lines come when they are whole."""
    shown, places = Redactor(), sorted({min(cut, len(text)) for cut in cuts})
    parts = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    out = "".join(shown.feed(part) for part in parts) + shown.feed("", final=True)
    secrets = [secret for _, secret, _ in SECRETS if secret in text and secret not in redact(text)]
    assert out.count("\n") == text.count("\n")
    assert not [secret for secret in secrets if secret in out and "\r" not in text]


def test_a_key_that_comes_in_pieces_is_held_until_it_is_whole() -> None:
    """But a log that never ends its line is not kept back for ever."""
    shown = Redactor()
    assert shown.feed("a\n-----BEGIN PRIVATE KEY-----\n") == "a\n"
    assert shown.feed(RANDOM + "\n") == ""
    assert RANDOM not in shown.feed("-----END PRIVATE KEY-----\n")
    assert shown.feed("x" * 100_000) == "x" * 100_000


HOSTILE = [
    "secret",
    "secret:",
    "token key password: ",
    "token\n",
    "eyJ",
    "eyJaaaaaaaa.",
    "://",
    "://a:b@",
    "://a:",
    "password=",
    'token="',
    "token='\"",
    'token=\\"',
    "authorization: ",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "-----BEGIN RSA PRIVATE KEY-----\n-----END ",
    "a",
    " ",
    "\\",
    "0",
    "sk-",
    "password: aaaa ",
    "--token ",
    "[redacted]",
    "passphrase: a:",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_time_it_takes_grows_with_the_length_alone(unit: str) -> None:
    """Four times as much text may take four times as long; something quadratic would take sixteen times."""
    short, long = (unit * (size // len(unit)) for size in (40_000, 160_000))
    assert _seconds(long) < 10 * _seconds(short) + 0.005


def _seconds(text: str) -> float:
    taken = []
    for _ in range(3):
        begun = time.process_time()
        redact(text)
        taken.append(time.process_time() - begun)
    return min(taken)


def test_every_rule_has_an_example() -> None:
    """A rule that matches nothing would not be noticed otherwise."""
    for rule in RULES:
        pattern = compiled(rule.pattern)
        found = [text for text, _, _ in SECRETS if pattern.search(text.lower() if rule.any_case else text)]
        assert found or "passphrase" in rule.pattern or "credential" in rule.pattern or "ASIA" in rule.pattern
        assert all(rule.letters in text.lower() for text in found), rule
        assert rule.letters, rule
    assert redact("passphrase=abcdefg credentials=abcdefg") == f"passphrase={MARK} credentials={MARK}"


def test_only_one_character_grows_in_lower_case() -> None:
    """What is found in the lower case of a text is taken out of the text at the same place."""
    assert [code for code in range(sys.maxunicode + 1) if len(chr(code).lower()) != 1] == [0x130]


def test_values_of_secret_variables_go_wherever_they_stand() -> None:
    """Whatever they look like; but not short ones, which could be words."""
    env = {"DB_PASSWORD": "just words", "API_KEY": "longer than that", "HOME": "/home/somebody", "MY_TOKEN": "short"}
    secrets = secrets_of(env)
    assert secrets == ("longer than that", "just words")
    assert (
        Redaction().knowing(env).text("said just words at /home/somebody, short")
        == f"said {MARK} at /home/somebody, short"
    )
    assert is_secret_name("privateKey") and not is_secret_name("PATH")


def test_data_is_redacted_text_by_text() -> None:
    """A value under the name of a secret goes as a whole."""
    said = {"summary": f"used {GITHUB}", "n": 3, "causes": [f"{JWT}", None], "password": "x", "count": {"token": 7}}
    left = {"summary": f"used {MARK}", "n": 3, "causes": [MARK, None], "password": MARK, "count": {"token": 7}}
    assert Redaction().data(said) == left


def test_what_was_cut_where_a_log_was_dropped_may_be_half_of_a_secret() -> None:
    """The end of the head and the beginning of the tail; of a log that is whole nothing is taken."""
    head, tail = Redaction().ends(f"start {GITHUB[:22]}", f"{RANDOM[:20]} end password=hunter2")
    assert (head, tail) == (f"start {MARK}", f"{MARK} end password={MARK}")
    assert Redaction().ends("x" * 30, "=" * 30) == ("x" * 30, "=" * 30)
    assert Redaction().ends("", f"{RANDOM[:20]} end") == ("", f"{RANDOM[:20]} end")


def test_a_persons_own_pattern_is_used_as_any_other() -> None:
    """It goes with the line breaks in it kept."""
    own = Redaction(patterns=(own_pattern(r"ACME-[0-9]{4}"), own_pattern(r"begin[^!]+!")))
    assert own.text("id ACME-1234, begin\nx\ny!") == f"id {MARK}, {MARK}\n{MARK}\n{MARK}"


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("(", "no regular"),
        ("a*", "matches nothing"),
        ("(a+)+b", "for ever"),
        ("((a|b)c)*d", "for ever"),
        ("a" * 201, "longer"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(written: str, why: str) -> None:
    """A pattern that matches everywhere, or can take for ever, is a mistake."""
    with pytest.raises(ValueError, match=re.escape(why)):
        own_pattern(written)
    assert own_pattern("a" * PATTERN_MAX).pattern


def test_what_never_comes_to_rest_is_left_after_some_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text keeps anybody waiting."""
    monkeypatch.setattr(redaction, "_once", lambda text: text + "x")

    assert redaction.redact("") == "x" * redaction._PASSES_MAX


@pytest.mark.parametrize("cut", ["\n", "\r\n"])
@pytest.mark.parametrize("secret", [GITHUB, "AKIA" + "IOSFODNN7EXAMPLE", JWT])
def test_a_secret_that_a_terminal_wrapped_goes_from_both_lines(secret: str, cut: str) -> None:
    """Wherever inside of it the line ends; the lines stay lines."""
    for at in range(5, len(secret) - 2):
        text = f"{'x' * 60} {secret[:at]}{cut}{secret[at:]} was refused"

        left = redact(text)

        assert (left.count(cut), left.endswith(" was refused")) == (1, True)
        assert secret[at:] not in left, (at, left)
        assert secret[4:at] not in left or at < 9, (at, left)


def test_a_known_secret_that_a_terminal_wrapped_goes_too() -> None:
    """Also one that looks like nothing."""
    known = Redaction().knowing({"MY_TOKEN": "just_a_word_or_two"})

    assert known.text(f"{'x' * 60} just_a_wo\nrd_or_two.") == f"{'x' * 60} {MARK}\n{MARK}."


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m and \u200binvisible",
        f"{'x' * 60} password\nreset by its owner",
        f"{'x' * 60} token=\nabc",
        f"{'A' * 76}\n{'A' * 76}\n",
        "mysql -P3306 -h db\nmysql -p",
    ],
)
def test_colours_and_long_lines_without_secrets_stay_as_they_are(text: str) -> None:
    """Nothing is bare or joined without need."""
    assert redact(text) == text


def test_wrapped_lines_of_any_length_take_little_time() -> None:
    """A dump of base64, or colours without end."""
    for text in (f"{'A' * 76}\n" * 5_000, f"{'token ' * 13}a\n" * 2_000, "\x1b[" * 50_000, "mysql -x" * 20_000):
        begun = time.perf_counter()
        redact(text)
        assert time.perf_counter() - begun < 2
