"""The numbered rows of the list of tests that triage of issues comes from, and what shows each of them here.

A row that asks for a test names it; the row after it ("make it pass") is shown by the same test. The last row of a task
(tidy up) is the house's own rules. A departure says in which way this differs on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

RECORD: Final = "tests/core/tracker/test_record.py"
TIERS: Final = "tests/core/tracker/test_tiers.py"
TRIAGE: Final = "tests/trackers/test_beads_triage.py"
MANY: Final = "tests/trackers/test_many_issues.py"
CYCLE: Final = "tests/core/triage/test_cycle.py"
TIDY: Final = "tests/test_tidy.py"


@dataclass(frozen=True)
class Shown:
    """A row, the test that shows it, and in which way it departs, if it does."""

    file: str
    test: str
    departure: str = ""


_TIER: Final = Shown(TIERS, "test_2_a_record_has_its_tier")
_COOLDOWN: Final = Shown(TIERS, "test_3_a_cooldown_is_over_at_its_time")
_CLEARED: Final = Shown(TRIAGE, "test_7_1_and_16_1_tier_1_is_cleared_when_its_cooldown_is_over")
_PENDING: Final = Shown(TRIAGE, "test_7_3_and_16_3_a_cooldown_that_is_not_over_is_waited_for")
_CLEAR_FAILS: Final = Shown(TRIAGE, "test_7_5_a_clear_that_fails_is_tried_again_and_then_a_persons")
_ADJUSTED: Final = Shown(TRIAGE, "test_8_1_and_16_5_an_adjustment_clears_the_record")
_SPLIT: Final = Shown(TRIAGE, "test_8_3_and_16_7_a_split_makes_issues_that_carry_the_tag_and_run")
_TO_A_PERSON: Final = Shown(
    TRIAGE, "test_8_5_to_10_9_what_triage_cannot_help_with_is_a_persons_in_the_same_cycle", "the verdict's own word"
)
_UNKNOWN: Final = Shown(TRIAGE, "test_9_1_and_16_9_an_unknown_class_is_a_persons_at_once")
_UNMARKED: Final = Shown(TRIAGE, "test_9_3_an_escalation_that_fails_is_said_and_comes_again")
_MIXED: Final = Shown(TRIAGE, "test_11_7_and_16_11_a_mixed_cycle_counts_each")
_BLANK: Final = Shown(TRIAGE, "test_no_hostile_id_reaches_a_tracker")
_UNLISTED: Final = Shown(TRIAGE, "test_6_5_and_11_3_a_tracker_that_cannot_be_listed_is_the_one_error")
_EMPTY: Final = Shown(TRIAGE, "test_6_3_and_11_9_no_failed_issue_is_an_empty_cycle")
_NO_FILES: Final = Shown(TRIAGE, "test_15_and_16_13_the_cycle_opens_no_file_of_the_project")
_LOOP: Final = Shown(TRIAGE, "test_12_a_loop_never_sleeps_after_its_last_cycle")
_WORKFLOW: Final = Shown(TRIAGE, "test_14_1_triage_is_a_workflow_that_no_tag_starts")

ROWS: Final[dict[str, Shown]] = {
    "1.1": Shown(RECORD, "test_1_1_a_whole_record_is_read"),
    "1.3": Shown(RECORD, "test_1_3_and_1_5_notes_without_a_record_have_none"),
    "1.5": Shown(RECORD, "test_1_3_and_1_5_notes_without_a_record_have_none"),
    "1.7": Shown(
        RECORD, "test_1_7_a_record_that_misses_fields_is_unreadable", "it is unreadable and reported, not no record"
    ),
    "1.9": Shown(RECORD, "test_1_9_an_escaped_pipe_is_part_of_its_value"),
    "1.11": Shown(RECORD, "test_1_11_needs_human_is_no_record"),
    **{f"2.{number}": _TIER for number in range(1, 16, 2)},
    **{f"3.{number}": _COOLDOWN for number in range(1, 14, 2)},
    "3.15": Shown(RECORD, "test_a_bad_value_makes_a_record_unreadable", "a bad time makes the record unreadable"),
    "4.1": Shown(_CLEARED.file, _CLEARED.test, "only our line goes; notes are never emptied"),
    "4.3": _CLEAR_FAILS,
    "4.5": _BLANK,
    "4.7": Shown(TRIAGE, "test_4_7_and_12_5_a_loop_goes_on_after_a_cycle_that_could_not_run"),
    "5.1": Shown(_UNKNOWN.file, _UNKNOWN.test, "a person's notes stay beside the mark"),
    "5.3": _UNMARKED,
    "5.5": _BLANK,
    "6.1": Shown(TRIAGE, "test_6_1_only_failed_issues_are_found"),
    "6.3": _EMPTY,
    "6.5": _UNLISTED,
    "6.7": Shown(
        MANY,
        "test_an_entry_that_is_no_issue_is_counted_and_the_rest_is_worked_on",
        "notes come with the list; an entry that cannot be read is counted",
    ),
    "6.9": Shown(TRIAGE, "test_6_1_only_failed_issues_are_found"),
    "7.1": _CLEARED,
    "7.3": _PENDING,
    "7.5": _CLEAR_FAILS,
    "8.1": _ADJUSTED,
    "8.3": _SPLIT,
    "8.5": _TO_A_PERSON,
    "8.7": _TO_A_PERSON,
    "8.9": _TO_A_PERSON,
    "8.11": Shown(
        TRIAGE,
        "test_8_11_a_split_that_cannot_be_made_is_finished_by_the_next_cycle",
        "the split is stored, and finished by the next cycle",
    ),
    "9.1": _UNKNOWN,
    "9.3": _UNMARKED,
    "10.1": _CLEARED,
    "10.3": _ADJUSTED,
    "10.5": _UNKNOWN,
    "10.7": _TO_A_PERSON,
    "10.9": _TO_A_PERSON,
    "11.1": _MIXED,
    "11.3": _UNLISTED,
    "11.5": Shown(MANY, "test_two_hundred_failed_issues_of_which_some_are_broken"),
    "11.7": _MIXED,
    "11.9": _EMPTY,
    "12.1": _LOOP,
    "12.3": _LOOP,
    "12.5": Shown(TRIAGE, "test_4_7_and_12_5_a_loop_goes_on_after_a_cycle_that_could_not_run"),
    "13.1": Shown(CYCLE, "test_one_line_says_all_of_it"),
    "13.3": Shown(CYCLE, "test_an_error_is_counted_once"),
    "13.5": Shown(TRIAGE, "test_13_5_what_is_still_refused_stands_beside_the_rows"),
    "14.1": _WORKFLOW,
    "14.3": _WORKFLOW,
    "15.1": _NO_FILES,
    "15.3": _NO_FILES,
    "16.1": _CLEARED,
    "16.3": _PENDING,
    "16.5": _ADJUSTED,
    "16.7": _SPLIT,
    "16.9": _UNKNOWN,
    "16.11": _MIXED,
    "16.13": _NO_FILES,
    # What a review of the source found.
    "review 1": Shown(CYCLE, "test_an_error_is_counted_once"),
    "review 2": Shown(TIDY, "test_the_package_keeps_the_rule", "no package lists names of its modules again"),
    "review 3": Shown(_CLEAR_FAILS.file, _CLEAR_FAILS.test, "three tries in the next cycles, then a person"),
    "review 4": Shown(TIDY, "test_no_feature_is_without_a_caller"),
}
TIDY_UP: Final = {1: 13, 2: 17, 3: 17, 4: 9, 5: 7, 6: 11, 7: 7, 8: 13, 9: 5, 10: 11, 11: 11, 12: 7, 13: 7, 14: 5, 15: 5}
"""The last row of each task. Of the last task, 16, the rows end with 16.13."""
