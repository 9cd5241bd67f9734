"""Every button of the page that changes something, pressed in a real browser; the store says what it did."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from medbay.core.people.question import ask_for_agent
from medbay.service import links
from medbay.web import page as shipped
from tests.waiting import wait_for
from tests.web.browsing import House, Opened, needs_chromium, signed_in
from tests.web.conftest import TOKEN as SITE_TOKEN
from tests.web.conftest import Site

pytestmark = needs_chromium
STATIC: Final = Path(shipped.__file__).parent / "static"
# What every act of a person is pressed by: the functions of actions.js, and what views send by themselves.
PRESSED: Final = {
    "retry": "test_a_failed_task_is_retried_told_something_and_reclassified",
    "reclassify": "test_a_failed_task_is_retried_told_something_and_reclassified",
    "triage": "test_a_failed_task_is_looked_at_now",
    "pause": "test_a_waiting_task_is_paused_guided_and_cancelled",
    "resume": "test_a_waiting_task_is_paused_guided_and_cancelled",
    "guide": "test_a_waiting_task_is_paused_guided_and_cancelled",
    "cancel": "test_a_waiting_task_is_paused_guided_and_cancelled",
    "unblock": "test_a_blocked_task_is_released",
    "answer": "test_a_question_is_answered_from_its_page",
    "tell": "test_an_agent_is_answered_in_words",
    "openBreaker": "test_an_account_is_held_and_released",
    "closeBreaker": "test_an_account_is_held_and_released",
    "bulk": "test_many_are_retried_paused_resumed_released_and_cancelled",
    "bulkTag": "test_many_are_tagged_and_reclassified",
    "bulkReclassify": "test_many_are_tagged_and_reclassified",
    "capture": "test_thoughts_are_noted_changed_and_discarded",
    "editCapture": "test_thoughts_are_noted_changed_and_discarded",
    "retryCapture": "test_thoughts_are_noted_changed_and_discarded",
    "discardCapture": "test_thoughts_are_noted_changed_and_discarded",
    "promoteToStory": "test_candidates_are_edited_promoted_and_discarded",
    "promote": "test_candidates_are_edited_promoted_and_discarded",
    "editCandidate": "test_candidates_are_edited_promoted_and_discarded",
    "discardCandidate": "test_candidates_are_edited_promoted_and_discarded",
    "views/fingerprints.js": "test_a_fingerprint_is_forgotten",
    "views/board.js": "test_a_story_is_moved",
    "views/candidates.js": "test_candidates_are_edited_promoted_and_discarded",
    "app.js": "test_the_link_of_a_message_answers_its_one_question",
}
SENDS: Final = re.compile(r"\b(?:post|patch)\(")


def press(page: Page, name: str) -> None:
    """Press a button by its whole name."""
    page.get_by_role("button", name=name, exact=True).first.click()


def test_every_act_of_a_person_has_a_test() -> None:
    """What is exported to act, and every file that sends something itself."""
    acts = re.findall(r"^export (?:async function|const) (\w+)", (STATIC / "actions.js").read_text(), re.MULTILINE)
    files = [path for path in STATIC.rglob("*.js") if path.name not in ("actions.js", "api.js")]
    senders = {path.relative_to(STATIC).as_posix() for path in files if SENDS.search(path.read_text())}

    assert {*acts, *senders} - {"wantsWords"} - {path for path in senders if "vendor" in path} == set(PRESSED)
    assert {name for name in PRESSED.values() if name not in globals()} == set()


def test_a_failed_task_is_retried_told_something_and_reclassified(house: House, opened: Opened) -> None:
    """The same again is asked about first; what is said reaches the next attempt."""
    task = house.bay.add("odd job", run="echo something odd happened; exit 7", at="+1h")
    page = opened(f"/tasks/{task.id}")
    press(page, "Retry")
    wait_for(lambda: house.bay.get(task.id).attempts == 1 and house.bay.get(task.id).live is None)
    with house.bay.store.write() as tx:  # as if nothing had been learnt for the next one
        tx.execute("UPDATE task SET guidance = '[]' WHERE id = ?", (task.id,))
    page.reload()

    press(page, "Retry")
    expect(page.locator("dialog")).to_contain_text("would be the same")
    page.locator("dialog textarea").fill("pin the seed")
    page.locator("dialog button[type=submit]").click()
    wait_for(lambda: house.bay.get(task.id).attempts >= 2)
    wait_for(lambda: house.bay.get(task.id).live is None)

    assert any(each.text == "pin the seed" for each in house.bay.get(task.id).guidance)
    page.get_by_role("button", name=re.compile("reclassify", re.IGNORECASE)).first.click()
    page.locator("dialog select").select_option("resource_exhaustion")
    press(page, "Reclassify")
    wait_for(lambda: house.bay.get(task.id).last_category == "resource_exhaustion")
    house.bay.cancel(task.id)


def test_a_failed_task_is_looked_at_now(house: House, opened: Opened) -> None:
    """A triage is started, and its verdict is recorded."""
    task = house.bay.add("odd again", run="echo something else happened; exit 9")
    wait_for(lambda: house.bay.get(task.id).status == "failed" and house.bay.get(task.id).live is None)
    page = opened(f"/tasks/{task.id}")

    press(page, "Triage now")

    wait_for(lambda: house.bay.detail(task.id).triages, 40)
    house.bay.cancel(task.id)


def test_a_waiting_task_is_paused_guided_and_cancelled(house: House, opened: Opened) -> None:
    """Pause with undo, resume, guidance, cancel after a question."""
    task = house.bay.add("long ago", run="true", at="+1h")
    page = opened(f"/tasks/{task.id}")

    press(page, "Pause")
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()  # a key acts on what is shown
    press(page, "Undo")
    wait_for(lambda: not house.bay.get(task.id).paused)
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    page.keyboard.press("p")
    wait_for(lambda: house.bay.get(task.id).paused)
    press(page, "Resume")
    wait_for(lambda: not house.bay.get(task.id).paused)
    press(page, "Guidance…")
    page.locator("dialog textarea").fill("pin the seed")
    press(page, "Save")
    wait_for(lambda: house.bay.get(task.id).guidance)
    press(page, "Cancel…")
    press(page, "Keep things as they are")
    assert house.bay.get(task.id).status == "pending"
    press(page, "Cancel…")
    press(page, "Cancel the task")
    wait_for(lambda: house.bay.get(task.id).status == "cancelled")


def test_a_blocked_task_is_released(house: House, opened: Opened) -> None:
    """And says who did it."""
    task = house.bay.add("stuck", run="true", at="+1h")
    house.bay.block(task.id, "the disk is full", kind="human")
    page = opened(f"/tasks/{task.id}")

    press(page, "Unblock")

    wait_for(lambda: house.bay.get(task.id).status != "blocked")
    assert house.bay.detail(task.id).history[-1].actor.startswith(("person:", "worker:", "engine"))


def test_a_question_is_answered_from_its_page(house: House, opened: Opened) -> None:
    """By the button of an option, with a note."""
    task = house.bay.add("rotate keys", run="true", at="+1h")
    house.bay.block(task.id, "a person has to look", kind="human")
    page = opened(f"/inbox/{task.id}")

    expect(page.locator(".need")).to_contain_text("a person has to look")
    assert any(task.id in each.task_ids for each in house.bay.inbox())
    page.get_by_label("A note for the record").fill("looked at it")
    page.locator(".opt").first.click()

    wait_for(lambda: house.bay.detail(task.id).questions[-1].status == "answered")
    assert house.bay.detail(task.id).questions[-1].answered_by.startswith("person:")


def test_an_agent_is_answered_in_words(house: House, opened: Opened) -> None:
    """Not by the number of a button: only words are an answer."""
    task = house.bay.add("refactor", run="true", at="+1h")
    house.bay.block(task.id, "asks", kind="human")
    (asked,) = (each for each in house.bay.inbox() if task.id in each.task_ids)
    words = ask_for_agent(house.bay.get(task.id), "Which branch shall I take?", asked.asked_at, agent="claude")
    options = json.dumps([[each.label, each.effect, each.consequence] for each in words.options])
    with house.bay.store.write() as tx:
        tx.execute("UPDATE question SET options = ?, free_text = 1 WHERE id = ?", (options, asked.id))
    page = opened(f"/inbox/{asked.id}")

    page.get_by_label("Your answer").fill("take the second")
    press(page, "Answer")

    wait_for(lambda: house.bay.detail(task.id).questions[-1].status == "answered")
    assert house.bay.detail(task.id).questions[-1].answer == "answer: take the second"
    assert house.bay.get(task.id).guidance[-1].answer == "take the second"


def test_a_story_is_moved(house: House, opened: Opened) -> None:
    """From its own page, to a status its lifecycle allows, with why."""
    house.bay.stories.new("S-1", title="Pay by invoice", criteria=["An invoice is sent"])
    page = opened("/board/S-1")
    press(page, "Move…")
    page.locator("dialog select[name=to]").select_option("cancelled")
    page.locator("dialog input[name=why]").fill("not now")
    press(page, "Move")

    wait_for(lambda: house.bay.stories.get("S-1").status == "cancelled")


def test_a_card_is_dragged_to_another_column(house: House, opened: Opened) -> None:
    """To one that its status leads to; dropped elsewhere it says why not."""
    house.bay.stories.new("S-2", title="Pay by <b>card</b>", criteria=["A card is charged"])
    page = opened("/board", viewport={"width": 2200, "height": 900})
    card = page.locator("article.card", has_text="S-2")
    card.drag_to(page.get_by_label("UAT", exact=True))
    expect(page.locator("dialog")).to_contain_text("does not lead to UAT")
    press(page, "Close")
    card.drag_to(page.get_by_label("blocked", exact=True))
    page.locator("dialog input[name=why]").fill("wait for the bank")
    press(page, "Move")

    wait_for(lambda: house.bay.stories.get("S-2").status == "blocked")
    expect(page.get_by_label("blocked", exact=True)).to_contain_text("wait for the bank")


def test_an_account_is_held_and_released(house: House, opened: Opened) -> None:
    """Held from the page of incidents, closed from the first one and from its own."""
    page = opened("/incidents")
    press(page, "Hold an account…")
    page.locator("dialog input[name=key]").fill("openai")
    page.locator("dialog input[name=reason]").fill("credits are used up")
    press(page, "Hold it")
    wait_for(house.bay.breakers)
    (held, _) = house.bay.breakers()[0]
    assert "openai" in held.key and "credits" in held.why

    page.goto(f"{house.url}/")
    row = page.locator("[aria-label='incidents and breakers'] .item")
    row.get_by_role("button", name="close…").click()
    press(page, "Close it")
    wait_for(lambda: not house.bay.breakers())


def test_many_are_retried_paused_resumed_released_and_cancelled(house: House, opened: Opened) -> None:
    """Each after a dry run that says what would be done; pausing can be undone at once."""
    made = house.bay.add_many([{"title": f"many {n}", "run": "true", "tag": "many", "at": "+1h"} for n in range(4)])
    ids = [each.id for each in made]
    page = opened("/tasks?tag=many")
    expect(page.locator("tbody tr")).to_have_count(4)

    def all_of(action: str, dialog: str) -> None:
        page.reload()  # the order is what it is now
        page.get_by_label("select this page").click()
        press(page, f"{action}…")
        page.locator("dialog button[type=submit]", has_text=dialog).click()
        expect(page.locator(".bulk")).to_have_count(0)

    all_of("Pause", "Pause 4")
    wait_for(lambda: all(house.bay.get(each).paused for each in ids))
    press(page, "Undo")
    wait_for(lambda: not any(house.bay.get(each).paused for each in ids))
    house.bay.pause(ids[0])
    all_of("Resume", "Resume 1")
    wait_for(lambda: not house.bay.get(ids[0]).paused)
    house.bay.block(ids[1], "no", kind="external")
    all_of("Unblock", "Unblock 1")
    wait_for(lambda: house.bay.get(ids[1]).finished)
    all_of("Cancel", "Cancel 3")
    wait_for(lambda: all(house.bay.get(each).status == "cancelled" for each in ids if each != ids[1]))


def test_many_are_tagged_and_reclassified(house: House, opened: Opened) -> None:
    """Tags are added and taken away; each fingerprint is taught once."""
    made = [house.bay.add(f"alike {n}", run="echo the widget is bent; exit 5", tag="alike") for n in range(2)]
    wait_for(lambda: all(house.bay.get(each.id).status == "failed" for each in made))
    page = opened("/tasks?tag=alike")
    expect(page.locator("tbody tr")).to_have_count(2)

    page.get_by_label("select this page").click()
    press(page, "Tag…")
    page.locator("dialog input[name=add]").fill("bent, widget")
    press(page, "Look first")
    press(page, "Tag 2")
    wait_for(lambda: all({"bent", "widget"} <= set(house.bay.get(each.id).tags) for each in made))
    expect(page.locator(".bulk")).to_have_count(0)
    page.get_by_label("select this page").click()
    press(page, "Reclassify…")
    page.locator("dialog select").select_option("dependency_missing")
    press(page, "Look first")
    press(page, "Reclassify 2")
    wait_for(lambda: any(house.bay.get(each.id).last_category == "dependency_missing" for each in made))
    for each in made:
        house.bay.cancel(each.id)


def test_a_fingerprint_is_forgotten(house: House, opened: Opened) -> None:
    """After a question: it is gone for good."""
    task = house.bay.add("unheard of", run="echo a comet struck the rack; exit 3")
    wait_for(lambda: house.bay.get(task.id).last_fingerprint)
    known = house.bay.get(task.id).last_fingerprint
    page = opened(f"/fingerprints/{known}")

    press(page, "Forget…")
    press(page, "Forget it")

    wait_for(lambda: known not in {each.fingerprint for each in house.bay.patterns()})
    house.bay.cancel(task.id)


def test_thoughts_are_noted_changed_and_discarded(site: Site, browser: Browser) -> None:
    """From the page of captures, where no intake runs."""
    page = signed_in(browser.new_context(), site.url, SITE_TOKEN, "/captures")

    press(page, "Capture…")
    page.locator("dialog textarea").fill("the login is slow")
    press(page, "Capture")
    expect(page.locator("tbody tr")).to_have_count(1)
    name = page.locator("tbody .id").first.inner_text()
    press(page, f"edit {name}")
    page.locator("dialog textarea").fill("the login is very slow")
    press(page, "Save")
    wait_for(lambda: site.bay.intake.show_capture(name)["text"] == "the login is very slow")
    press(page, f"look at {name} now")
    expect(page.locator(".toast")).to_contain_text("looked at next")
    press(page, f"discard {name}")
    press(page, "Discard")
    wait_for(lambda: site.bay.intake.show_capture(name)["status"] == "DISCARDED")
    page.context.close()


def test_candidates_are_edited_promoted_and_discarded(site: Site, browser: Browser) -> None:
    """One by one and many at once; a promoted one names its task, or has become a story."""
    thoughts = ("login is flaky on Safari", "export the report as CSV", "paint the shed", "water the plants")
    for each in (*thoughts, "a page for the opening hours"):
        site.bay.intake.capture(each)
    site.bay.intake.once()
    page = signed_in(browser.new_context(), site.url, SITE_TOKEN, "/candidates")
    expect(page.locator(".ask")).to_have_count(5)
    names = page.locator(".ask .top .id").all_inner_texts()

    press(page, f"edit {names[0]}")
    page.locator("dialog input[name=title]").fill("Fix the login")
    press(page, "Save")
    wait_for(lambda: site.bay.intake.candidate(names[0]).title == "Fix the login")
    expect(page.locator("main")).to_contain_text("Fix the login")
    press(page, f"promote {names[0]}")
    page.locator("dialog input[name=run]").fill("true")
    press(page, "Promote")
    wait_for(lambda: site.bay.intake.candidate(names[0]).status == "PROMOTED")
    assert site.bay.get(site.bay.intake.candidate(names[0]).task_id).title == "Fix the login"
    press(page, f"discard {names[1]}")
    press(page, "Discard")
    wait_for(lambda: site.bay.intake.candidate(names[1]).status == "DISCARDED")
    press(page, f"make a story of {names[4]}")
    press(page, "Make a story")
    wait_for(lambda: site.bay.intake.candidate(names[4]).status == "PROMOTED")
    expect(page.locator("main")).to_contain_text(f"story {names[4]}")
    assert site.bay.stories.get(names[4]).criteria == site.bay.intake.candidate(names[4]).acceptance_criteria
    for each in names[2:4]:
        page.get_by_label(f"select {each}").click()
    press(page, "Discard them…")
    press(page, "Discard 2")
    wait_for(lambda: all(site.bay.intake.candidate(each).status == "DISCARDED" for each in names[2:4]))
    page.context.close()


@pytest.mark.parametrize("how", ["phone", "dark"])
def test_the_link_of_a_message_answers_its_one_question(house: House, opened: Opened, how: str) -> None:
    """Without a token: reading changes nothing, the button answers, and then the link is used up."""
    task = house.bay.add("publish", run="true", at="+1h")
    house.bay.block(task.id, "the token lacks the scope", kind="human")
    (asked,) = (each for each in house.bay.inbox() if task.id in each.task_ids)
    with house.bay.store.write() as tx:
        links.keep_key(tx, "a-key-of-the-tests")
        link = links.signed(tx, asked.id, "phone")
    page = opened(viewport={"width": 390, "height": 844}) if how == "phone" else opened(color_scheme="dark")
    page.context.clear_cookies()
    address = f"{house.url}/inbox/{task.id}#answer={link}"

    for _ in range(2):
        page.goto("about:blank")
        page.goto(address)
        expect(page.locator(".need")).to_contain_text("the token lacks the scope")
    assert house.bay.detail(task.id).questions[-1].status == "open"
    assert page.locator("a[href^='/tasks']").count() == 0
    page.locator(".opt").first.click()
    expect(page.locator("main")).to_contain_text("Recorded")
    wait_for(lambda: house.bay.detail(task.id).questions[-1].status == "answered")
    assert "link" in house.bay.detail(task.id).questions[-1].answered_by
    page.reload()
    expect(page.locator("main")).to_contain_text("this link was used")
