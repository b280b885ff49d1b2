"""The counts beside the rows in Chromium: they come after the rows, which stay where they are."""

import pytest

pytestmark = pytest.mark.browser

IDLE = "document.querySelector('h1') && !document.querySelector('[aria-busy]')"
DRAWN = "document.querySelector('.list tbody') && !document.querySelector('main[aria-busy], .list[aria-busy]')"
PLACE = "const { x, y, width } = document.querySelector('.list tbody').getBoundingClientRect(); return [x, y, width]"
HOLD = """
    const call = window.fetch, held = [];
    window.fetch = (path, ...rest) => !path.endsWith('facets') ? call(path, ...rest) :
        new Promise(resolve => held.push(() => resolve(window.refusal ?? call(path, ...rest))));
    window.release = () => { held.forEach(answer => answer()); window.fetch = call; };
"""


@pytest.fixture(params=[1280])
def held(browser, served, request):
    """The rows of two runs in a window of some width, whose counts the server gives only after `release()`."""
    browser.show(width=request.param)
    browser.open(served.address)
    browser.until(f"location.hash == '#/runs' && {IDLE}")
    browser.run(HOLD)
    link = "[...document.querySelectorAll('tbody th a')].find(link => link.innerText === arguments[0]).hash"
    ids = [browser.run(f"return new URLSearchParams({link}.split('?')[1]).get('runs')", name)
           for name in ("first", "second")]  # fmt: skip
    browser.run("location.hash = arguments[0]", f"#/rows?runs={','.join(ids)}")
    browser.until(DRAWN)
    return browser


@pytest.mark.parametrize("held", [1280, 700], indirect=True)
def test_rows_do_not_wait_for_counts_and_stay_where_they_are(held):
    place = held.run(PLACE)
    assert (held.text("#rows-title"), held.texts(".facets legend")) == ("120 rows", [])
    assert held.run("return document.querySelector('.where').ariaBusy") == "true"
    held.run("release()")
    held.until(IDLE)
    assert (held.run("return document.querySelectorAll('.facets fieldset').length"), held.run(PLACE)) == (2, place)


def test_a_filter_takes_the_place_of_counts_that_have_not_come(held):
    held.run("location.hash += '&filter=' + JSON.stringify("
             "[{field: {kind: 'column', name: 'topic'}, op: 'in', values: ['time']}])")  # fmt: skip
    held.until("document.querySelector('#rows-title').innerText === '40 of 120 rows'")
    held.run("release()")
    held.until(IDLE)
    assert "40 of 40" in held.run("return document.querySelector('.facets fieldset').textContent")
    assert held.log() == []


def test_counts_that_do_not_come_are_said_beside_the_rows(held):
    held.run("""window.refusal = new Response('{"error": "the counts are lost"}', { status: 500 }); release()""")
    held.until(IDLE)
    assert held.text(".where [role=alert]") == "the counts are lost."
    assert held.violations() == []
    assert held.text("#rows-title") == "120 rows"
    held.click("[data-key=next]")
    held.until(f"document.querySelectorAll('.facets fieldset').length && {IDLE}")
    assert held.text(".where [role=alert]") == ""
