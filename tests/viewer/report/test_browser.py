"""The report in headless Chromium, opened from the disk: tools, keyboard, axe-core, narrow screens, print."""

import base64
import json
import re

import numpy as np
import pytest

import karat
from karat.text.hidden import HIDDEN

pytestmark = pytest.mark.browser
HOSTILE = '</script><img src=x onerror="window.broken = 1"> \u202eevil\u2069'
COUNT = "return document.getElementById('count').textContent"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report about two runs of 600 rows, with hostile answers, a very long one, and slices."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(1)
    n = 600
    rows = {"id": [f"q{i:04}" for i in range(n)], "question": [f"What is asked in question {i}?" for i in range(n)]}
    rows |= {"gold": [["Paris"]] * n, "topic": ["north", "south", HOSTILE] * (n // 3)}
    results = []
    for at in range(2):
        kinds = np.array(["Paris", "in the city of Paris", "Rome", HOSTILE, None], object)
        answers = rng.choice(kinds, n, p=[0.3 + 0.2 * at, 0.2, 0.4 - 0.2 * at, 0.05, 0.05]).tolist()
        answers[7] = "long " * 200_000
        results.append(karat.score({**rows, "prediction": answers}, ["em", "f1"], keep=True))
    compared = karat.compare(*results, by="topic")
    path = karat.report(*results, by="topic", title="Two systems", output=folder / "report.html")
    return path.as_uri(), compared


def choose(browser, name, value):
    script = """
        const field = document.getElementById(arguments[0]);
        field.value = arguments[1];
        field.dispatchEvent(new Event("input", {bubbles: true}));
        return document.getElementById("count").textContent;"""
    return browser.run(script, name, value)


def test_it_opens_quickly_and_shows_hostile_texts_as_text(browser, report):
    browser.open(report[0])
    assert browser.run(COUNT) == "500 of 500 rows, the first 25 of them below"
    assert browser.run("return performance.now()") < 3_000  # bench/report.py measures it on a quiet machine
    assert choose(browser, "search", "onerror").startswith(("4", "5", "6", "3"))
    assert browser.run("return window.broken === undefined && !document.querySelector('img')")
    assert "U+202E" in browser.run("return document.getElementById('list').textContent")


def test_tools_filter_sort_and_search_as_the_figures_say(browser, report):
    address, compared = report
    browser.open(address)
    data = json.loads(browser.run("return document.getElementById('row-data').textContent"))
    scores = [[np.nan if s is None else s for s in own] for own in data["scores"][0]]
    gained = np.array(scores[1]) - np.array(scores[0])
    for verdict, rows in (
        ("better", gained > 0),
        ("worse", gained < 0),
        ("equal", gained == 0),
        ("unscored", np.isnan(gained)),
    ):
        assert choose(browser, "verdict", verdict).split()[0] == str(rows.sum())
    assert choose(browser, "verdict", "").startswith("500 of 500 rows")
    north = data["slice"]["values"].index("north")
    assert choose(browser, "slice", north).split()[0] == str(data["slice"]["codes"].count(north))
    choose(browser, "slice", "")
    assert choose(browser, "part", "sample").split()[0] == str(len(data["sample"]))
    choose(browser, "part", "")
    choose(browser, "metric", 1)
    assert choose(browser, "least", 60).split()[0] == str(
        sum(
            abs((b or 0) - (a or 0)) >= 0.6 - 1e-9
            for a, b in zip(*data["scores"][1], strict=True)
            if None not in {a, b}
        )
    )
    choose(browser, "least", "")
    choose(browser, "order", "gain")
    first = browser.run("return document.querySelector('.row .row-head span').textContent")
    assert gained[data["id"].index(first)] > 0
    assert choose(browser, "search", "QUESTION 3?").startswith(("1 of", "0 of"))
    assert compared.findings[0].sentence in browser.run("return document.body.textContent")


def test_what_is_chosen_stands_in_the_address(browser, report):
    browser.open(report[0])
    chosen = {"search": "question 1", "verdict": "better", "order": "gain", "least": "60", "metric": "1"}
    for name, value in chosen.items():
        choose(browser, name, value)
    browser.click("[data-mark=other]")
    browser.until("location.hash.includes('unmarked')")
    seen = "return [document.getElementById('list').innerText, document.getElementById('count').textContent]"
    address, before = browser.run("return location.href"), browser.run(seen)
    assert browser.run("return localStorage.length + sessionStorage.length") == 0
    browser.driver.refresh()
    assert browser.run(seen) == before
    browser.open("about:blank")
    browser.open(address)  # the link, sent to somebody
    assert browser.run(seen) == before
    assert browser.run("return document.getElementById('list').className") == "no-other"
    assert browser.run("return scrollY > 0")
    browser.run("location.hash = '#verdict=none&slice=x&other=1&__proto__=1'")
    browser.until("document.getElementById('count').textContent.startsWith('500 of 500 rows')")
    assert browser.text("#unread").endswith("other=1, __proto__=1, verdict=none, slice=x")
    browser.run("location.hash = '#verdict=worse'")
    browser.until("!document.getElementById('unread')")
    browser.until("!document.getElementById('count').textContent.startsWith('500')")
    choose(browser, "verdict", "")
    browser.until("location.hash === ''")


def test_it_works_by_keyboard_and_without_its_tools(browser, report):
    browser.open(report[0])
    browser.run("document.getElementById('more').focus()")
    browser.driver.switch_to.active_element.send_keys("\ue007")
    assert browser.run("return document.querySelectorAll('.row').length") == 50
    assert browser.run("return [...document.querySelectorAll('.row')].indexOf(document.activeElement)") == 25
    chip = browser.driver.find_element("css selector", "[data-mark=gold]")
    chip.send_keys(" ")
    assert chip.get_attribute("aria-pressed") == "false"
    assert (
        browser.run("return getComputedStyle(document.querySelector('#list mark')).backgroundColor")
        == "rgba(0, 0, 0, 0)"
    )


def test_it_shows_the_characters_that_python_calls_hidden(browser, report):
    browser.open(report[0])
    source = re.search(
        r"const HIDDEN =\s*/(.*)/gu;", browser.run("return document.querySelector('script[type=module]').text")
    )
    script = """
        const hidden = new RegExp(arguments[0], "u"), found = [];
        for (let code = 0; code < 0x110000; code++) if (hidden.test(String.fromCodePoint(code))) found.push(code);
        return found;"""
    expected = [code for code in range(0x110000) if HIDDEN.match(chr(code))]
    assert browser.run(script, source[1]) == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser, report, scheme):
    browser.show(scheme=scheme)
    browser.open(report[0])
    assert browser.violations() == []


def test_axe_finds_no_violation_without_texts(browser, tmp_path):
    rows = {"id": ["a", "b"], "prediction": ["x", None], "gold": ["x", "y"]}
    path = karat.report(karat.score(rows, "em", keep=True), output=tmp_path / "report.html", texts=False)
    browser.open(path.as_uri())
    assert browser.violations() == []


@pytest.mark.parametrize(("width", "zoom"), [(360, 1), (1280, 2)])
def test_it_never_scrolls_sideways(browser, report, width, zoom):
    browser.show(width=width, zoom=zoom)
    browser.open(report[0])
    assert not browser.scrolls_sideways()
    choose(browser, "search", "long long")
    assert not browser.scrolls_sideways()


def test_it_prints(browser, report):
    browser.open(report[0])
    page = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert page.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", page)) <= 20


def test_some_rows_are_there_without_javascript(browser, report):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(report[0])
        answer = browser.driver.execute_cdp_cmd("DOM.getDocument", {"depth": 0})
        found = browser.driver.execute_cdp_cmd(
            "DOM.querySelectorAll", {"nodeId": answer["root"]["nodeId"], "selector": ".row ins, .row mark"}
        )
        assert found["nodeIds"]
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
