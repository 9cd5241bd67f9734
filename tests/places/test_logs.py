"""Reading logs: ends, holes, following."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.places.log_cap import LogCap, punch_hole
from medbay.places.logs import append_note, dropped, lines_before_tail, pieces, read_ends, read_from


def test_a_short_log_is_all_tail(tmp_path: Path) -> None:
    """Nothing is told twice."""
    log = tmp_path / "1.log"
    log.write_text("one\ntwo\n")

    assert read_ends(log) == ("", "one\ntwo\n", 8)


def test_head_and_tail_do_not_overlap(tmp_path: Path) -> None:
    """Also when the log is only a little longer than the tail."""
    log = tmp_path / "1.log"
    log.write_text("0123456789ab")

    assert read_ends(log, head_bytes=4, tail_bytes=10) == ("01", "23456789ab", 12)
    assert read_ends(log, head_bytes=4, tail_bytes=5) == ("0123", "789ab", 12)


def test_a_character_cut_in_half_is_left_out(tmp_path: Path) -> None:
    """At the end of the head and at the beginning of the tail."""
    log = tmp_path / "1.log"
    log.write_text("aé" + "x" * 20 + "éb")

    assert read_ends(log, head_bytes=2, tail_bytes=2) == ("a", "b", 26)


def test_a_missing_log_or_a_fifo_reads_as_empty(tmp_path: Path) -> None:
    """And never hangs."""
    os.mkfifo(tmp_path / "fifo")

    assert read_ends(tmp_path / "nothing") == ("", "", 0)
    assert read_ends(tmp_path / "fifo") == ("", "", 0)


@given(content=st.binary(max_size=300), head=st.integers(0, 40), tail=st.integers(1, 40))
def test_any_bytes_are_read_as_text_any_database_takes(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, head: int, tail: int
) -> None:
    """No NUL, no lone surrogate, never more than asked for."""
    log = tmp_path_factory.mktemp("any") / "1.log"
    log.write_bytes(content)

    first, last, total = read_ends(log, head_bytes=head, tail_bytes=tail)
    whole = "".join(pieces(log))

    assert total == len(content)
    assert len(first) <= head
    assert len(last) <= tail
    assert "\0" not in (first + last + whole).encode().decode()
    assert whole == content.decode("utf-8", "replace").replace("\0", "\ufffd")


def test_a_long_log_shows_one_line_where_bytes_were_dropped(tmp_path: Path) -> None:
    """Head and tail are whole, the hole is named."""
    log = tmp_path / "1.log"
    log.write_bytes(b"h" * 8192 + b"m" * 81920 + b"t" * 8192)
    LogCap(log, 0.0, head_bytes=8000, tail_bytes=8000).close()

    hole = dropped(log)

    assert hole is not None
    assert (hole.begin, hole.end) == (8192, 90112 - 0)
    assert "".join(pieces(log)) == "h" * 8192 + "\n[... 81920 bytes dropped here ...]\n" + "t" * 8192
    assert read_ends(log, head_bytes=10, tail_bytes=10) == ("h" * 10, "t" * 10, 98304)


def test_ends_that_reach_into_the_hole_stop_at_it(tmp_path: Path) -> None:
    """Nobody sees zeros that were never written."""
    log = tmp_path / "1.log"
    log.write_bytes(b"h" * 4096 + b"m" * 40960 + b"t" * 4096)
    descriptor = os.open(log, os.O_WRONLY)
    assert punch_hole(descriptor, 4096, 40960) == 0
    os.close(descriptor)

    head, tail, _ = read_ends(log, head_bytes=10_000, tail_bytes=10_000)

    assert (head, tail) == ("h" * 4096, "t" * 4096)


def test_a_log_is_kept_to_its_limit_while_it_grows(tmp_path: Path) -> None:
    """Looked at more often the faster it grows, and punched in steps."""
    log = tmp_path / "1.log"
    cap = LogCap(log, 0.0, head_bytes=4096, tail_bytes=8192)
    with open(log, "ab", buffering=0) as handle:
        for step in range(50):
            handle.write(bytes([65 + step % 26]) * 10_000)
            assert cap.keep(float(step))
            assert log.stat().st_blocks * 512 <= 4096 + 8192 + 2048 + 10_000 + 3 * 4096

    cap.close()

    assert log.stat().st_size == 500_000
    assert log.stat().st_blocks * 512 <= 4096 + 8192 + 2 * 4096
    assert dropped(log) is not None


def test_a_quiet_log_is_looked_at_once_a_second(tmp_path: Path) -> None:
    """Thousands of silent commands cost next to nothing."""
    log = tmp_path / "1.log"
    log.touch()
    cap = LogCap(log, 0.0, head_bytes=10, tail_bytes=10)
    now = 0.0
    for _ in range(10):
        now = cap.next_s
        assert cap.keep(now)

    assert cap.next_s - now == 1.0


def test_a_log_that_its_command_truncated_goes_on(tmp_path: Path) -> None:
    """`echo x > /dev/stderr` does that."""
    log = tmp_path / "1.log"
    cap = LogCap(log, 0.0, head_bytes=4096, tail_bytes=4096)
    log.write_bytes(b"a" * 100_000)
    assert cap.keep(1.0)
    log.write_bytes(b"b" * 50_000)
    assert cap.keep(2.0)

    assert log.stat().st_blocks * 512 <= 4 * 4096
    assert read_from(log, 90_000).text.startswith("b")


def test_following_gives_what_was_added_and_whole_characters(tmp_path: Path) -> None:
    """Half a character waits for the rest."""
    log = tmp_path / "1.log"
    log.write_bytes(b"one\n\xc3")
    first = read_from(log, 0)
    waiting = read_from(log, first.offset)
    with open(log, "ab") as handle:
        handle.write(b"\xa9 two\n")
    second = read_from(log, waiting.offset)

    assert (first.text, waiting.text, second.text) == ("one\n", "", "é two\n")
    assert read_from(log, second.offset) == read_from(log, second.offset)
    assert read_from(log, second.offset).text == ""


def test_a_note_is_one_line_at_the_end(tmp_path: Path) -> None:
    """And no error where there is no log."""
    log = tmp_path / "1.log"
    log.write_text("x\n")

    append_note(log, "ended")
    append_note(tmp_path / "nothing", "ended")

    assert log.read_text() == "x\n[medbay] ended\n"
    assert not (tmp_path / "nothing").exists()


def test_the_lines_before_the_tail_are_counted(tmp_path: Path) -> None:
    """Also of a log of several pieces; not where a part was dropped, or where nothing can be read."""
    log = tmp_path / "1.log"
    log.write_text("".join(f"{number:06}\n" for number in range(40_000)))
    _, tail, total = read_ends(log)

    before = lines_before_tail(log, total)

    assert before is not None and tail.split("\n")[1] == f"{before + 1:06}"
    punch_hole_or_skip(log)
    assert lines_before_tail(log, total) is None
    assert lines_before_tail(tmp_path / "none.log", total) is None


def punch_hole_or_skip(log: Path) -> None:
    """Drop the middle of a log, where the file system can."""
    with log.open("r+b") as handle:
        if punch_hole(handle.fileno(), 65_536, 131_072):
            pytest.skip("this file system has no holes")
