"""Where ids and tokens come from."""

from __future__ import annotations

import os

from medbay.env import ID_LETTERS, Ids, SystemBits


def test_bits_are_as_many_as_asked_for_and_never_the_same() -> None:
    """However many are drawn from what the system gave at once."""
    bits = SystemBits()

    drawn = [bits.getrandbits(128) for _ in range(1_000)]

    assert len(set(drawn)) == len(drawn)
    assert max(drawn).bit_length() > 120
    assert all(each < 2**128 for each in drawn)


def test_a_process_draws_other_bits_than_the_one_it_was_forked_from() -> None:
    """What was drawn ahead is not for both."""
    bits = SystemBits()
    bits.getrandbits(128)  # from here on there are some in store
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, bits.getrandbits(128).to_bytes(16, "little"))
        os._exit(0)
    os.waitpid(child, 0)

    assert int.from_bytes(os.read(reading, 16), "little") != bits.getrandbits(128)
    os.close(reading)
    os.close(writing)


def test_ids_grow_with_the_number_of_tasks() -> None:
    """Short as long as that is safe, and never beginning with a digit."""
    ids = Ids()

    lengths = [len(ids.task(existing)) for existing in (0, 9_999, 10_000, 300_000, 10_000_000)]

    assert lengths == [4, 4, 5, 6, 8]
    assert all(ids.task(0)[0] in ID_LETTERS for _ in range(100))
