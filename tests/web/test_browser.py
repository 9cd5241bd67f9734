"""The page in a real browser over a real daemon: what a person sees without reloading, and what their hands do."""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import Browser, expect

from tests.waiting import wait_for
from tests.web.browsing import SIZES, VIEWS, House, Opened, needs_chromium, shown, signed_in
from tests.web.conftest import TOKEN as SITE_TOKEN
from tests.web.conftest import Site
from tests.web.test_process import pages_of
from tests.worlds import failed, quick_policy

EVIL = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>'
pytestmark = needs_chromium


def test_a_task_fails_counts_down_and_heals_without_a_reload(house: House, opened: Opened) -> None:
    """The row changes in place, the countdown ticks and is never negative, and it ends healed."""
    mark = house.folder / "healed"
    task = house.bay.add(
        "pull rates",
        run=f"test -e {mark} || {{ touch {mark}; echo connect ECONNREFUSED 10.0.0.1:443; exit 1; }}",
        at="+1h",
    )
    page = opened(f"/tasks/{task.id}")
    page.evaluate(
        """() => { window.said = new Set(); setInterval(() => document.querySelectorAll('.status time')
            .forEach(each => window.said.add(each.textContent)), 50); }"""
    )
    house.bay.retry(task.id)

    expect(page.locator("main")).to_contain_text("completed · healed", timeout=40_000)

    said = page.evaluate("[...window.said]")
    assert len(said) >= 2 and not any("-" in each for each in said), said
    assert page.locator(".lanes rect.f-fail").count() == 1 and page.locator(".lanes rect.f-done").count() >= 1
    page.get_by_text("as table").first.click()
    expect(page.locator(".twin")).to_contain_text("attempt 1 exit 1")


def test_a_question_is_answered_with_two_keys(house: House, opened: Opened) -> None:
    """`a`, `1`; the store says who it was."""
    task = house.bay.add("deploy docs", run="true", at="+1h")
    house.bay.block(task.id, 'the token lacks the scope "workflow"', kind="human")
    page = opened("/inbox")
    expect(page.locator(".ask")).to_have_count(1)

    page.keyboard.press("a")
    page.keyboard.press("1")

    wait_for(lambda: not house.bay.inbox())
    question = house.bay.detail(task.id).questions[-1]
    assert question.status == "answered" and question.answered_by.startswith("person:")
    expect(page.locator("table")).to_contain_text("the token lacks the scope")
    expect(page.locator(".badge")).to_have_count(0)


def test_a_live_log_is_followed_until_one_scrolls_up(house: House, opened: Opened) -> None:
    """Then it stands still and says how much is new; search counts what grep counts."""
    script = "i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo line $i of it; [ $i -gt 400 ] && sleep 0.02; done"
    task = house.bay.add("chatty", run=script)
    wait_for(lambda: house.bay.get(task.id).live)
    page = opened(f"/tasks/{task.id}/attempts/1/log")
    expect(page.locator(".log")).to_contain_text(re.compile(r"line ([4-9]\d\d|\d{4}) of it"), timeout=15_000)

    page.locator(".log").hover()
    page.mouse.wheel(0, -3000)
    expect(page.locator(".logpill")).to_contain_text("new line", timeout=10_000)
    at, said = page.evaluate("document.querySelector('.log').scrollTop"), page.locator(".logpill").inner_text()
    expect(page.locator(".logpill")).not_to_have_text(said, timeout=10_000)
    assert page.evaluate("document.querySelector('.log').scrollTop") == at
    page.locator("[data-filter]").fill("line 1")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".logbar [role=status]")).to_contain_text("lines")
    page.get_by_role("link", name="11", exact=True).first.click()
    assert page.url.endswith("#L11")
    house.bay.cancel(task.id)


def test_many_are_chosen_by_filter_and_acted_on_after_a_dry_run(house: House, opened: Opened) -> None:
    """The address is the filter; pages come from the server; cancelling many asks for their number."""
    house.bay.add_many([{"title": f"old {n}", "run": "true", "tag": "old", "at": "+1h"} for n in range(60)])
    page = opened("/tasks?tag=old")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="50 more").click()
    expect(page.locator("tbody tr")).to_have_count(60)

    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("button", name="select all 60 that match").click()
    page.get_by_role("button", name="Pause…", exact=True).click()
    page.get_by_role("button", name="Pause 60").click()
    wait_for(lambda: all(each.paused for each in house.bay.select() if "old" in each.tags))

    page.reload()
    page.get_by_label("select this page").click()
    page.get_by_role("button", name="Cancel…", exact=True).click()
    confirm = page.get_by_role("button", name="Cancel 50")
    expect(confirm).to_be_disabled()
    page.locator("dialog input[name=typed]").fill("50")
    confirm.click()
    wait_for(lambda: sum(each.status == "cancelled" for each in house.bay.select() if "old" in each.tags) == 50)
    page.goto(house.url + "/tasks?tag=old&status=cancelled")
    expect(page.locator(".chips")).to_contain_text("50 match")


def test_the_filter_survives_a_visit_and_a_second_window(house: House, opened: Opened) -> None:
    """Open, go back: the same list; two windows agree."""
    task = house.bay.add("findme", run="true", tag="kept", at="+1h")
    page, other = opened("/tasks?tag=kept"), opened("/tasks?tag=kept")

    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile(f"/tasks/{task.id}$"))
    page.go_back()
    expect(page.locator("[data-filter]")).to_have_value("tag:kept")
    page.keyboard.press("j")
    page.keyboard.press("p")

    expect(other.locator("tbody tr").first).to_contain_text("paused")


def test_a_killed_page_comes_back_and_nothing_is_missed(house: House, opened: Opened) -> None:
    """The window says so meanwhile, stays readable, and reads on from where it was."""
    page = opened("/events")
    expect(page.locator("tbody tr").first).to_be_visible()

    os.kill(pages_of(house.process.pid)[0], 9)
    missed = [house.bay.add(f"missed {n}", run="true", at="+1h").id for n in range(3)]

    expect(page.locator(".chip[role=status]")).to_contain_text(re.compile("reconnecting|not reachable"))
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.locator(".chip.done")).to_have_text("● live", timeout=30_000)
    expect(page.locator(".pill")).to_contain_text("new", timeout=20_000)
    page.keyboard.press(".")
    for each in missed:
        expect(page.locator("tbody")).to_contain_text(each)
    numbers = [int(text) for text in page.locator("tbody tr td:first-child").all_inner_texts()]
    assert len(numbers) == len(set(numbers))


def test_hostile_texts_stay_texts(house: House, opened: Opened) -> None:
    """In titles, tags, reasons and logs."""
    task = house.bay.add(EVIL, run=f"printf '%s\\n' '{EVIL}' '\x1b[31mred\x1b[0m'; exit 7", tag=EVIL[:60])
    wait_for(lambda: house.bay.get(task.id).status == "failed")

    for path in ("/", f"/tasks/{task.id}", f"/tasks/{task.id}/attempts/1/log", "/tasks?since=7d", "/events", "/fleet"):
        page = opened(path)
        expect(page.locator("main")).to_contain_text("<img src=x", timeout=10_000)
        assert page.evaluate("window.evil") is None
        assert page.locator("main img, main script").count() == 0
    house.bay.cancel(task.id)


@pytest.mark.parametrize("how", ["light", "dark", "phone", "zoomed"])
def test_every_view_opens_fits_and_names_its_controls(house: House, opened: Opened, how: str) -> None:
    """No error, nothing wider than the window, no control without a name."""
    size = SIZES.get(how, {"width": 1280, "height": 800})
    page = opened(viewport=size, color_scheme="dark" if how == "dark" else "light")
    unnamed = """[...document.querySelectorAll('button, a[href], input, select, textarea')].filter(each =>
        !(each.textContent.trim() || each.getAttribute('aria-label') || each.title || each.placeholder ||
          (each.labels && each.labels.length) || each.closest('label'))).map(each => each.outerHTML)"""
    for path in VIEWS:
        page.goto(house.url + path)
        shown(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], path
        assert page.evaluate(unnamed) == [], path
    theme = page.evaluate("document.documentElement.dataset.theme")
    assert theme == ("dark" if how == "dark" else "light")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") != theme


def test_the_zone_changes_everywhere_at_once(house: House, opened: Opened) -> None:
    """Lists and header, by one key, and it is remembered."""
    page = opened("/events", timezone_id="Asia/Tokyo")
    expect(page.locator(".head")).to_contain_text("Asia/Tokyo UTC+9")
    before = page.locator("tbody time").first.inner_text()

    page.keyboard.press("z")

    expect(page.locator(".head")).to_contain_text("UTC")
    expect(page.locator("tbody time").first).not_to_have_text(before)
    page.reload()
    expect(page.locator(".head .right")).not_to_contain_text("Tokyo")


@pytest.mark.parametrize("utc", [False, True])
def test_days_begin_at_midnight_across_a_change_of_clocks(house: House, opened: Opened, utc: bool) -> None:
    """Of the chosen zone: the axes of timelines and plots, and what a day counts."""
    page = opened("/events", timezone_id="Europe/Berlin")
    if utc:
        page.keyboard.press("z")
        expect(page.locator(".head")).not_to_contain_text("Berlin")
    found = page.evaluate(
        """async () => {
            const { ticks } = await import('/static/timeline.js');
            const { dayStart, hourWords } = await import('/static/time.js');
            const from = Date.parse('2026-10-23T12:00:00Z'), to = Date.parse('2026-10-28T12:00:00Z');
            const { marks, words } = ticks(from, to, 6);
            const starts = [from, to].map(dayStart).map(hourWords);
            return { days: marks.map(words), hours: marks.map(hourWords), starts };
        }"""
    )

    assert found["days"] == ["24 Oct", "25 Oct", "26 Oct", "27 Oct", "28 Oct"]
    assert set(found["hours"]) == {"00:00"} == set(found["starts"])


def test_what_is_late_says_so_and_why(site: Site, browser: Browser) -> None:
    """Never a negative number: due, then late, because every slot is taken."""
    site.world.policy = quick_policy()
    engine = site.engine(slots=1)
    site.world.add("fails", failed("connect ECONNREFUSED 10.0.0.1:443"))
    engine.tick()
    site.world.add("goes on", None)
    for _ in range(3):
        engine.tick()
    page = signed_in(browser.new_context(), site.url, SITE_TOKEN)

    expect(page.locator("[aria-label=waiting]")).to_contain_text("no free slot (1 of 1 busy)", timeout=20_000)
    assert "-" not in page.locator("[aria-label=waiting] time").first.inner_text()
    page.context.close()


def test_what_is_not_there_says_so(house: House, opened: Opened) -> None:
    """An unknown task has near matches, an unknown path leads on, a wrong token asks for one."""
    task = house.bay.add("near", run="true", at="+1h")
    page = opened(f"/tasks/{task.id[:2]}zzzz")
    expect(page.locator("main")).to_contain_text("there is no task")
    expect(page.locator("main")).to_contain_text(task.id)
    page.goto(house.url + "/nowhere")
    expect(page.locator("main")).to_contain_text("There is no such page")
    page.context.clear_cookies()
    page.goto(house.url + "/#token=wrong")
    page.reload()
    expect(page.locator("main")).to_contain_text("needs your token")
