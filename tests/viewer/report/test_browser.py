"""The report in headless Chromium, opened from the disk: tools, keyboard, axe-core, narrow screens, print."""

import base64
import json
import re
import zlib
from urllib.parse import quote

import numpy as np
import pytest

import karat
from karat.text.hidden import HIDDEN

pytestmark = pytest.mark.browser
HOSTILE = '</script><img src=x onerror="window.broken = 1"> \u202eevil\u2069'
IDLE = "document.querySelector('table.rows tbody') && !document.querySelector('[aria-busy]')"


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
        results.append(karat.score({**rows, "prediction": answers}, ["exact_match", "token_f1"], keep=True))
    compared = karat.compare(*results, by="topic")
    path = karat.report(*results, by="topic", title="Two systems", output=folder / "report.html")
    return path.as_uri(), compared


def choose(browser, key, value):
    """Choose a value of a field by its key."""
    script = """
        const field = document.querySelector(`[data-key="${arguments[0]}"]`);
        field.value = arguments[1];
        field.dispatchEvent(new Event("change", {bubbles: true}));
        field.dispatchEvent(new Event("input", {bubbles: true}));"""
    browser.run(script, key, value)


def narrow(browser, *conditions):
    """Filter the rows by the address; what the count says."""
    browser.run("location.hash = arguments[0]", f"#/rows?filter={json.dumps(conditions)}")
    browser.until(IDLE)
    return browser.text("#rows-title")


def test_it_opens_quickly_and_shows_hostile_texts_as_text(browser, report):
    browser.open(report[0])
    browser.until(IDLE)
    assert browser.text("#rows-title") == "500 rows"
    assert len(browser.texts("table.rows tbody tr")) == 50
    assert browser.run("return performance.now()") < 5_000  # bench/report.py measures it on a quiet machine
    assert narrow(browser, {"field": {"kind": "text"}, "op": "contains", "values": ["ONERROR"]}) != "500 rows"
    assert browser.run("return window.broken === undefined && !document.querySelector('img')")
    assert "RLO" in browser.text("table.rows")


def test_filters_keep_the_rows_that_the_figures_say(browser, report):
    address, compared = report
    browser.open(address)
    browser.until(IDLE)
    held = json.loads(browser.run("return document.getElementById('data').textContent"))
    rows = json.loads(zlib.decompress(base64.b64decode(held["deflated"])))["rows"]
    gained = np.array([np.nan if (each := row["answers"][1]["differences"][0]) is None else each for row in rows])
    field = {"kind": "outcome", "metric": "exact_match", "system": 1}
    kinds = {"better": gained > 0, "worse": gained < 0, "same": gained == 0, "unscored": np.isnan(gained)}
    for outcome, here in kinds.items():
        shown = narrow(browser, {"field": field, "op": "in", "values": [outcome]})
        assert shown == f"{here.sum()} of 500 rows"
    north = {"field": {"kind": "column", "name": "topic"}, "op": "in", "values": ["north"]}
    assert narrow(browser, north) == f"{sum(row['groups']['topic'] == 'north' for row in rows)} of 500 rows"
    sample = {"field": {"kind": "column", "name": "random sample"}, "op": "in", "values": ["yes"]}
    assert narrow(browser, sample) == f"{sum(row['groups']['random sample'] == 'yes' for row in rows)} of 500 rows"
    size = {"field": {"kind": "size", "metric": "token_f1", "system": 1}, "op": "between", "values": [0.6, None]}
    sizes = [row["answers"][1]["differences"][1] for row in rows]
    assert narrow(browser, size) == f"{sum(each is not None and abs(each) >= 0.6 for each in sizes)} of 500 rows"
    assert narrow(browser) == "500 rows"
    assert abs(gained[[row["id"] for row in rows].index(first_id(browser))]) == 1  # the largest difference first
    choose(browser, "order", "1")  # the size of the difference
    browser.until("location.hash.includes('size')")
    assert compared.findings[0].sentence in browser.text("#compare").replace("\xa0", " ")
    counts = browser.run("return [...document.querySelectorAll('.facets .num')].map(each => each.textContent)")
    assert f"{np.sum(gained > 0)} of {np.sum(gained > 0)}" in counts


def test_a_table_rounds_as_the_sentence_above_it(browser, tmp_path):
    rows = {"id": range(80), "gold": ["x"] * 80}
    answers = (["x"] * right + ["y"] * (80 - right) for right in (50, 59))
    results = [karat.score({**rows, "prediction": each}, "exact_match") for each in answers]
    browser.open(karat.report(*results, output=tmp_path / "report.html").as_uri())
    browser.until(IDLE)
    assert "by 11.2 points" in browser.text(".verdict-line")  # 11.25
    assert "+11.2" in browser.text(".differences tbody")


SHOWN = """
    const texts = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.nodeType === Node.TEXT_NODE && !node.parentElement.closest("script, style")) texts.push(node.data);
      for (const name of ["title", "aria-label", "placeholder", "data-label", "data-name"]) {
        if (node.getAttribute?.(name)) texts.push(node.getAttribute(name));
      }
    }
    return texts.join("\\n");"""


def test_no_character_is_hidden_wherever_a_stranger_put_it(browser, tmp_path):
    evil = "x\u202e\x1b\u200b"
    rows = {f"id{evil}": [f"q{at}{evil}" for at in range(12)], "question": [evil] * 12, "gold": [evil] * 12,
            f"topic{evil}": [f"north{evil}", "south"] * 6}  # fmt: skip
    paths = [tmp_path / f"{name}\u202e.parquet" for name in "ab"]
    for at, path in enumerate(paths):
        answers = [evil if (row + at) % 3 else f"{evil} {row}" for row in range(12)]
        karat.score({**rows, "prediction": answers}, ["exact_match", "token_f1"], output=path)
    options = {"on": f"id{evil}", "by": f"topic{evil}", "title": evil, "output": tmp_path / "report.html"}
    browser.open(karat.report(*paths, **options).as_uri())
    browser.until(IDLE)
    for screen in ("", "#/row?row=" + quote(f"q3{evil}") + "&at=3"):
        if screen:
            browser.run("location.hash = arguments[0]", screen)
            browser.until("document.querySelector('article.answer')")
        shown = browser.run(SHOWN)
        assert "RLO" in shown
        assert "U+202E" in shown
        assert not HIDDEN.search(shown), repr(shown[max(HIDDEN.search(shown).start() - 80, 0) :][:160])


def first_id(browser):
    """The id of the first row of the list."""
    return browser.run("return new URLSearchParams(document.querySelector('a.open').hash.split('?')[1]).get('row')")


def test_what_is_chosen_stands_in_the_address(browser, report):
    browser.open(report[0])
    browser.until(IDLE)
    choose(browser, "metric", "token_f1")
    browser.until("location.hash.includes('token_f1')")
    choose(browser, "contains", "question 1")
    browser.until("location.hash.includes('contains')")
    browser.until(IDLE)
    seen = "return document.querySelector('#rows').innerText"
    address, before = browser.run("return location.href"), browser.run(seen)
    assert browser.run("return localStorage.length + sessionStorage.length") == 0
    browser.driver.refresh()
    browser.until(IDLE)
    assert browser.run(seen) == before
    browser.open("about:blank")
    browser.open(address)  # the link, sent to somebody
    browser.until(IDLE)
    assert browser.run(seen) == before
    browser.run("location.hash = '#/rows?filter=7&other1=1&__proto__=1'")
    browser.until("document.getElementById('rows-title').innerText === '500 rows'")
    assert browser.text("#unread").endswith("filter=7, other1=1, __proto__=1")
    browser.run("location.hash = ''")
    browser.until("document.getElementById('unread').hidden")


def test_a_row_is_shown_whole_and_the_list_comes_back(browser, report):
    browser.open(report[0])
    browser.until(IDLE)
    row = first_id(browser)
    browser.click("a.open")
    browser.until("document.querySelector('.answers')")
    assert f"Row {row}" in browser.text("h2.part")
    assert browser.texts(".answer h3") == ["A A", "B B"]
    browser.run("[...document.querySelectorAll('button')].find(each => each.innerText.startsWith('Next')).click()")
    browser.until(f"document.querySelector('h2.part').innerText !== 'Row {row}'")
    browser.run("[...document.querySelectorAll('a.button')].find(each => each.innerText === 'All rows').click()")
    browser.until(IDLE)
    assert browser.text("#rows-title") == "500 rows"


def test_a_slice_leads_to_its_rows(browser, report):
    browser.open(report[0])
    browser.until(IDLE)
    assert "95 % interval (each alone)\t95 % interval (all together)" in browser.text(
        "table.differences thead"
    )  # p is corrected, intervals are not
    browser.run("[...document.querySelectorAll('.forest a')].find(each => each.innerText === 'north').click()")
    browser.until("document.getElementById('rows-title').innerText !== '500 rows'")
    assert browser.run("return scrollY > 0")


def test_many_systems_are_ranked_and_two_stand_side_by_side(browser, tmp_path):
    rows = {"id": [f"q{at}" for at in range(40)], "gold": ["x"] * 40}
    results = [karat.score(rows | {"prediction": ["x"] * at + ["y"] * (40 - at)}, "exact_match") for at in range(8, 36)]
    browser.open(karat.report(*results, output=tmp_path / "report.html").as_uri())
    browser.until(IDLE)
    assert browser.text(".standfirst").startswith("exact_match: AB has the best value")
    best = karat.rank(*results).rankings[0].systems[0]
    assert browser.texts("table.leaderboard tbody th")[0] == best.system == "AB"
    assert browser.run("return document.querySelectorAll('[aria-label^=Pairs] tbody tr').length") == 28 * 27 / 2
    assert browser.texts("table.rows thead th")[1:] == ["A A", "B B", "B − A"]
    choose(browser, "other", "27")
    browser.until("document.querySelectorAll('table.rows thead th')[2].innerText === 'AB AB'")
    assert not browser.scrolls_sideways()
    assert browser.violations() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser, report, scheme):
    browser.show(scheme=scheme)
    browser.open(report[0])
    browser.until(IDLE)
    assert browser.violations() == []


def test_axe_finds_no_violation_without_texts(browser, tmp_path):
    rows = {"id": ["a", "b"], "prediction": ["x", None], "gold": ["x", "y"]}
    path = karat.report(karat.score(rows, "exact_match", keep=True), output=tmp_path / "report.html", texts=False)
    browser.open(path.as_uri())
    browser.until(IDLE)
    assert browser.violations() == []


@pytest.mark.parametrize(("width", "zoom"), [(360, 1), (1280, 2)])
def test_it_never_scrolls_sideways(browser, report, width, zoom):
    browser.show(width=width, zoom=zoom)
    browser.open(report[0])
    browser.until(IDLE)
    assert not browser.scrolls_sideways()
    narrow(browser, {"field": {"kind": "text"}, "op": "contains", "values": ["long long"]})
    assert not browser.scrolls_sideways()


def test_it_prints(browser, report):
    browser.open(report[0])
    browser.until(IDLE)
    page = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert page.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", page)) <= 20


def test_the_verdict_and_the_first_table_are_there_without_javascript(browser, report):
    address, compared = report
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(address)
        answer = browser.driver.execute_cdp_cmd("DOM.getDocument", {"depth": 0})
        main = browser.driver.execute_cdp_cmd(
            "DOM.querySelector", {"nodeId": answer["root"]["nodeId"], "selector": "main"}
        )
        shown = browser.driver.execute_cdp_cmd("DOM.getOuterHTML", {"nodeId": main["nodeId"]})["outerHTML"]
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert compared.findings[0].sentence.replace("<", "&lt;") in shown
    assert all(f'data-value="{each.comparison.difference!r}"' in shown for each in compared.findings)


def test_it_shows_the_characters_that_python_calls_hidden(browser, report):
    browser.open(report[0])
    source = re.search(
        r"const HIDDEN =\s*/(.*)/gu;", browser.run("return document.querySelector('script:not([type])').text")
    )
    script = """
        const hidden = new RegExp(arguments[0], "u"), found = [];
        for (let code = 0; code < 0x110000; code++) if (hidden.test(String.fromCodePoint(code))) found.push(code);
        return found;"""
    expected = [code for code in range(0x110000) if HIDDEN.match(chr(code))]
    assert browser.run(script, source[1]) == expected
