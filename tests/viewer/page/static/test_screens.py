"""The page of `karat view` in Chromium: every screen, its figures, filters, keys and what attacks it."""

import base64
import json
import os
import subprocess
import sys
from urllib.parse import parse_qsl

import pytest

pytestmark = pytest.mark.browser

IDLE = "document.querySelector('h1') && !document.querySelector('[aria-busy]')"
SCREENS = ["compare", "rows", "agreement", "provenance", "label"]


def start(browser, served, screen="runs", **state):
    """Open the page by the address that `karat view` printed, then a screen of it."""
    browser.open(served.address)
    browser.until(f"location.hash == '#/runs' && {IDLE}")
    if screen != "runs":
        visit(browser, screen, **state)


def visit(browser, screen, **state):
    """Go to a screen by the fragment of the address."""
    if names := state.pop("names", ["first", "second"]):
        state["runs"] = ",".join(ids(browser)[name] for name in names)
    query = "&".join(f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in state.items())
    browser.run("shown = document.querySelector('h1'); location.hash = arguments[0]", f"#/{screen}?{query}")
    browser.until(f"document.querySelector('h1') !== window.shown && {IDLE}")


def ids(browser):
    """The id of each run, by its name, from the links of the first screen; kept in the page."""
    return browser.run(
        "return window.ids ??= Object.fromEntries([...document.querySelectorAll('tbody th a')]"
        ".map(link => [link.innerText, new URLSearchParams(link.hash.split('?')[1]).get('runs')]))"
    )


def state_of(browser):
    """The parameters of the address."""
    return dict(parse_qsl(browser.run("return location.hash").partition("?")[2]))


def count(browser):
    """How many rows the filter keeps, as the heading of the list says."""
    return browser.text("#rows-title")


def test_no_screen_has_an_error_or_keeps_anybody_out(browser, served):
    start(browser, served)
    found = {"runs": browser.violations()}
    for screen in SCREENS:
        visit(browser, screen, by="topic")
        found[screen] = browser.violations()
    visit(browser, "row", row="q03", at="3")
    found["row"] = browser.violations()
    browser.show(scheme="dark")
    found["row, dark"] = browser.violations()
    for screen in ("rows", "compare"):
        visit(browser, screen, by="topic")
        found[f"{screen}, dark"] = browser.violations()
    assert {screen: wrong for screen, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(("width", "zoom"), [(1280, 2), (360, 1)])
def test_no_screen_scrolls_sideways_where_it_is_narrow_or_zoomed(browser, served, width, zoom):
    start(browser, served)
    browser.show(width=width, zoom=zoom)
    wide = [] if not browser.scrolls_sideways() else ["runs"]
    for screen in [*SCREENS, "row"]:
        visit(browser, screen, by="topic", row="q03", at="3")
        wide += [screen] if browser.scrolls_sideways() else []
    assert wide == []


def test_the_token_is_erased_and_a_reload_keeps_the_state(browser, served):
    start(browser, served, "rows", metric="token_f1")
    browser.click("[data-key*=topic][data-key$=place]")
    browser.until("document.getElementById('rows-title').innerText.includes(' of ')")
    before = browser.run("return location.href"), count(browser), browser.texts("tbody th")
    assert before[1] == "40 of 120 rows"
    token = served.address.partition("token=")[2]
    assert token not in browser.run("return location.href + JSON.stringify(history.state)")
    browser.driver.refresh()
    browser.until(IDLE)
    assert (browser.run("return location.href"), count(browser), browser.texts("tbody th")) == before
    assert browser.run("return localStorage.length") == 0


def test_a_second_tab_asks_the_first_for_the_token_and_a_stranger_is_told_what_to_do(browser, served):
    start(browser, served)
    plain = served.address.partition("#")[0]
    browser.driver.switch_to.new_window("tab")
    browser.open(plain)
    browser.until(IDLE)
    assert browser.text("h1") == "Runs"
    browser.driver.close()
    browser.driver.switch_to.window(browser.driver.window_handles[-1])
    browser.run("sessionStorage.clear()")
    browser.open("about:blank")
    browser.open(plain)
    browser.until(IDLE)
    assert browser.text("h1") == "This tab has no key"
    assert [line for line in browser.log() if "401" not in line] == []


def test_the_figures_are_those_of_compare_json(browser, served, runs_folder):
    start(browser, served, "compare", by="topic")
    command = browser.text(".command code").split()
    assert command[0] == "karat"
    environment = {**os.environ, "KARAT_RUNS": str(runs_folder)}
    printed = subprocess.check_output([sys.executable, "-m", *command], env=environment)
    found = json.loads(printed)["findings"]
    shown = browser.run(
        "return [...document.querySelectorAll('table.differences tbody tr')]"
        ".map(row => [row.querySelector('th').innerText, "
        "...[...row.querySelectorAll('data')].map(each => Number(each.value))])"
    )
    figures = ("a", "b", "difference", "p_adjusted")
    assert shown == [[each["slice"] or "all rows", *(each[name] for name in figures)] for each in found]
    sentences = browser.texts(".verdict-line, .sentences li")
    assert [text.replace("\xa0", " ") for text in sentences] == [
        f"{each['metric']}: {each['sentence']}." for each in found if each["slice"] is None
    ]


def test_rows_are_filtered_sorted_and_turned(browser, served):
    start(browser, served, "rows", metric="token_f1")
    assert count(browser) == "120 rows"
    assert len(browser.texts("tbody tr")) == 50
    browser.click("[data-key=next]")
    browser.until("document.querySelector('.count ~ [data-key=next], nav .count').innerText.includes('51 to 100')")
    browser.click("[data-key='head difference 1']")
    browser.until("document.querySelector('th[aria-sort=descending]')")
    largest = browser.run("return Number(document.querySelector('tbody td:last-child data').value)")
    browser.click("[data-key='head difference 1']")
    browser.until("document.querySelector('th[aria-sort=ascending]')")
    smallest = browser.run("return Number(document.querySelector('tbody td:last-child data').value)")
    assert largest > 0 > smallest
    browser.click("[data-key*=outcome][data-key$=better]")
    browser.until("document.getElementById('rows-title').innerText === '80 of 120 rows'")
    assert browser.run("return document.activeElement.dataset.key").endswith("better")
    assert json.loads(state_of(browser)["filter"])[0]["values"] == ["better"]
    browser.click(".chips [data-key='chip 0']")
    browser.until("document.getElementById('rows-title').innerText === '120 rows'")
    browser.click("input[type=search]")
    browser.press("is 11")
    browser.until("document.getElementById('rows-title').innerText === '11 of 120 rows'")  # 11 and 110 to 119
    assert json.loads(state_of(browser)["filter"])[0]["op"] == "contains"


def test_histograms_filter_when_brushed_and_by_their_fields(browser, served):
    start(browser, served, "rows", metric="token_f1")
    box = browser.driver.find_element("css selector", ".histogram")
    from selenium.webdriver import ActionChains

    width = box.rect["width"]
    drag = ActionChains(browser.driver).move_to_element_with_offset(box, int(width * 0.4), 0)
    drag.click_and_hold().move_by_offset(int(width * 0.05), 0).release().perform()
    browser.until("document.getElementById('rows-title').innerText.includes(' of ')")
    condition = json.loads(state_of(browser)["filter"])[0]
    assert condition["op"] == "range"
    assert condition["field"] == {"kind": "score", "metric": "token_f1", "system": 0}
    kept = int(count(browser).split()[0])
    shown = browser.run("return [...document.querySelectorAll('tbody td:nth-child(2) data')].map(each => +each.value)")
    assert len(shown) == min(kept, 50)
    assert all(condition["values"][0] <= score for score in shown)
    browser.click(".histogram ~ .ends [data-key$=all]")
    browser.until("document.getElementById('rows-title').innerText === '120 rows'")
    field = browser.driver.find_element("css selector", ".ends input")
    field.send_keys("50\t")
    browser.until("document.getElementById('rows-title').innerText.includes(' of ')")
    assert json.loads(state_of(browser)["filter"])[0]["values"] == [0.5, None]


def test_runs_are_sorted_by_a_head(browser, served):
    start(browser, served)
    browser.click("[data-key='sort name']")
    browser.until("document.querySelector('th[aria-sort=ascending]')")
    assert browser.texts("tbody th") == ["first", "hostile-a", "hostile-b", "second"]


def test_saved_views_show_regressions_and_fixes(browser, served):
    start(browser, served, "rows")
    for view, outcome in (("Regressions", "worse"), ("Fixes", "better")):
        browser.click(f"[data-key='view {view}']")
        chosen = f"[data-key='view {view}'][aria-pressed=true]"
        browser.until(f'document.querySelector("{chosen}") && {IDLE}')
        assert json.loads(state_of(browser)["filter"])[0]["values"] == [outcome]
        assert set(browser.run("return [...document.querySelectorAll('td.num .verdict')].map(each => each.title)")) == {
            outcome
        }


def test_scores_are_drawn_by_the_length_of_answers_when_asked(browser, served):
    start(browser, served, "compare", metric="token_f1")
    browser.click("details.section summary")
    browser.until(f"document.querySelectorAll('.curves').length === 2 && {IDLE}")
    assert browser.texts("[data-key=plot] option")[0] == "length of the answer"
    titles = browser.run("return [...document.querySelectorAll('.curves title')].map(each => each.textContent)")
    assert any(title.startswith("first: token_f1 ") and title.endswith(" rows") for title in titles)
    assert browser.violations() == []


def test_rows_are_read_by_keyboard(browser, served):
    start(browser, served, "rows", sort=None)
    browser.press("j", "j", "\ue007")  # Enter
    browser.until(f"document.querySelector('h1').innerText === 'Row q01' && {IDLE}")
    assert browser.text(".answer .text") == "north"
    browser.press("j")
    browser.until("document.querySelector('h1').innerText === 'Row q02'")
    browser.press("k", "k")
    browser.until("document.querySelector('h1').innerText === 'Row q00'")
    assert "It names the north." in browser.text(".judge")
    links = "[...document.querySelectorAll('a')]"
    browser.open(browser.run(f"return {links}.find(each => each.innerText === 'Link to this row').href"))
    browser.driver.refresh()
    browser.until(f"document.querySelector('h1')?.innerText === 'Row q00' && {IDLE}")
    browser.press("?")
    assert browser.run("return document.getElementById('keys').open")
    browser.press("\ue00c", "g")  # Escape
    browser.until("location.hash.startsWith('#/runs')")


def test_words_are_marked_against_the_gold_and_the_other_answer(browser, served):
    start(browser, served, "row", row="q00")
    assert browser.texts(".answer mark") == ["south"]
    browser.run("const marks = document.querySelector('[data-key=marks]'); marks.value = 'other';"
                "marks.dispatchEvent(new Event('change'))")  # fmt: skip
    browser.until("document.querySelector('ins')")
    assert (browser.texts(".answer del"), browser.texts(".answer ins")) == (["south"], ["north"])


def test_hostile_answers_are_shown_as_text(browser, served):
    start(browser, served, "rows", names=["hostile-a", "hostile-b"])
    shown = browser.texts("tbody td:nth-child(2)")
    assert "</script><img src=x onerror=alert(1)>" in shown[0]
    assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert browser.texts("tbody tr:nth-child(2) td:nth-child(2) .control") == ["RLO", "PDF", "LRI", "PDI"]
    assert browser.texts("tbody tr:nth-child(3) td:nth-child(2) .control") == ["U+0000"]
    assert "cut here" in shown[4]
    assert "empty" in shown[5]
    visit(browser, "row", names=["hostile-a", "hostile-b"], row="q04")
    short = browser.run("return document.querySelector('.answer .text').textContent.length")
    browser.click(".answer .chip")
    browser.until("document.querySelector('.answer .text').textContent.length > 999_999", seconds=60)
    assert short < 10_000
    assert not browser.scrolls_sideways()


def test_characters_that_hide_are_shown_by_name(browser, served):
    start(browser, served)
    shown = browser.driver.execute_async_script(
        "const [text, done] = arguments; import('./text.js').then(({ plain }) => {"
        "const box = document.createElement('p'); box.append(...plain(text)); done(box.textContent) })",
        "a\u200bb\x1b[0m\r\nc\u2067d\u2069",
    )
    assert shown == "aZWSPbU+001B[0m\ncRLIdPDI"
    lone = "const [done] = arguments; import('./text.js').then(({ plain }) => done(plain('x\\ud800y')[1].textContent))"
    assert browser.driver.execute_async_script(lone) == "U+D800"


def test_the_page_is_printed(browser, served):
    start(browser, served, "compare", by="topic")
    printed = base64.b64decode(browser.driver.print_page())
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") <= 4


def test_back_undoes_conditions_one_by_one(browser, served):
    start(browser, served, "rows")
    browser.click("[data-key*=topic][data-key$=place]")
    browser.until("document.getElementById('rows-title').innerText == '40 of 120 rows'")
    browser.click("[data-key*=topic][data-key$=time]")
    browser.until("document.getElementById('rows-title').innerText == '80 of 120 rows'")
    for shown in ("40 of 120 rows", "120 rows"):
        browser.run("history.back()")
        browser.until("document.getElementById('rows-title')?.innerText == arguments[0]", shown)


@pytest.mark.parametrize(
    "condition",
    [{}, 1, None, {"op": "in"}, {"op": "in", "values": [1]}, {"op": "range", "values": ["a", 1]}, {"op": "toString"}],
)
def test_conditions_that_are_none_are_as_if_they_were_not_there(browser, served, condition):
    whole = {"field": {"kind": "column", "name": "topic"}} | condition if isinstance(condition, dict) else condition
    start(browser, served, "rows", filter=[whole, {"op": "in", "values": []}])
    assert count(browser) == "120 rows"
    assert browser.text("#unread").startswith("The address says what cannot be read, and is shown without it: filter=")


@pytest.mark.parametrize(
    "state",
    [
        *({"filter": each} for each in ("notjson", "[", "7", "null", '{"a":1}', '[{"field":1}]')),
        *({"sort": each} for each in ("notjson", "7", "{}", '{"field":{}}', "[]")),
        *({name: value} for name, value in (("from", "-1"), ("from", "x"), ("marks", "bold"), ("metric", "absent"))),
        *({name: "1"} for name in ("filters", "column", "__proto__", "toString", "screen")),
    ],
)
def test_what_of_an_address_cannot_be_read_is_said_and_again_after_a_reload(browser, served, state):
    start(browser, served, "rows")
    ((name, value),) = state.items()
    browser.run("location.hash += `&${arguments[0]}=${arguments[1]}`", name, value)
    browser.until("!document.getElementById('unread').hidden")
    browser.until(IDLE)
    assert f"{name}={value}" in browser.text("#unread")
    assert count(browser) == "120 rows"
    browser.driver.refresh()
    browser.until(IDLE)
    assert f"{name}={value}" in browser.text("#unread")
    browser.run("location.hash = location.hash.replace(/&.*/, '')")
    browser.until("document.getElementById('unread').hidden")


def test_of_a_filter_the_conditions_that_can_be_read_hold_and_the_others_are_said(browser, served):
    good = {"field": {"kind": "column", "name": "topic"}, "op": "in", "values": ["time"]}
    start(browser, served, "rows", filter=[good, {"op": "nothing"}])
    assert count(browser) == "40 of 120 rows"
    assert 'filter=[{"op":"nothing"}]' in browser.text("#unread")
    browser.run("location.hash = '#/rowz?runs=xyz'")
    browser.until("document.getElementById('unread').innerText.endsWith('rowz, runs=xyz')")


def test_places_that_no_row_has_are_refused_in_words(browser, served):
    start(browser, served)
    for place, words in (("", "names no row"), ("abc", "names no row"), ("999999", "120 rows, none at this place")):
        visit(browser, "row", at=place)
        assert words in browser.text("[role=alert]")
    visit(browser, "row", at="3")
    assert "4 of 120" in browser.text("nav.tools")
    visit(browser, "row", names=["first"], row="q05", at="abc")
    assert browser.text("h1") == "Row q05"
