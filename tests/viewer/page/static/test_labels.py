"""People's labels on the page of `karat view`: by keyboard alone, in two tabs, and through a power failure."""

import json

import pytest

pytestmark = pytest.mark.browser

READY = "document.querySelector('.cell, .standfirst') && !document.querySelector('[aria-busy]')"


@pytest.fixture
def label(browser, labelling):
    """Open the screen of labels for a run; the server that runs."""

    def open_screen(address, name="first"):
        browser.open(address)
        browser.until("document.querySelector('tbody th a')")
        link = "[...document.querySelectorAll('tbody th a')].find(each => each.innerText === arguments[0])"
        browser.run(f"location.hash = {link}.hash.replace('compare', 'label')", name)
        browser.until(READY)

    return open_screen


def kept(labelling):
    """What was kept, in its order: the action, or the label."""
    if not labelling.file.exists():
        return []
    lines = [json.loads(line) for line in labelling.file.read_text("utf-8").splitlines()]
    return [line.get("label", line["action"]) for line in lines]


def done(browser, number):
    """Wait until so many rows are done."""
    browser.until("document.querySelector('.progress .count')?.innerText.startsWith(arguments[0] + ' of')", str(number))


def question(browser):
    return browser.text(".cell .text")


def test_rows_are_labelled_by_keyboard_alone(browser, label, labelling):
    label(labelling().address)
    first = question(browser)
    assert not {"first", "0.0", "100.0", "q00"} & set(browser.text("main").split())  # blind
    browser.press("1")
    done(browser, 1)
    assert question(browser) != first
    browser.press("n", "too long", "\ue007", "2")
    done(browser, 2)
    browser.press("s")
    done(browser, 3)
    browser.press("u")
    done(browser, 2)
    assert kept(labelling) == ["right", "wrong", "skip", "undo"]
    notes = [json.loads(line).get("note") for line in labelling.file.read_text("utf-8").splitlines()]
    assert notes == [None, "too long", None, None]
    shown = question(browser)
    browser.press("k", "k")
    browser.until("document.querySelector('.note')?.innerText === 'You labelled this row right.'")
    assert question(browser) == first
    browser.press("2")  # another label for it: the first one is taken back
    browser.until("document.querySelector('.cell .text').innerText === arguments[0]", shown)
    assert kept(labelling)[4:] == ["undo", "wrong"]
    ring = "(({outlineStyle, outlineWidth}) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))"
    assert browser.run("return document.activeElement.className") == "cell"
    assert browser.run(f"return {ring}") == ["solid", "3px"]
    browser.press("\ue004")  # Tab: on to the first choice
    assert browser.run("return document.activeElement.dataset.key") == "choice 0"
    assert browser.run(f"return {ring}") == ["solid", "3px"]
    browser.press(" ")
    done(browser, 3)
    assert kept(labelling)[-1] == "right"


def test_labels_say_how_far_scores_agree_with_people(browser, label, labelling):
    label(labelling().address)
    for number, key in enumerate("12121212", 1):
        browser.press(key)
        done(browser, number)
    browser.run("location.hash = location.hash.replace('label', 'agreement')")
    browser.until("document.querySelector('table.coefficients') && !document.querySelector('[aria-busy]')")
    assert "of 8 rows" in browser.text(".sentences")
    commands = [command.split()[:3] for command in browser.texts(".command code")]
    assert [" ".join(words[: 2 + (words[1] == "runs")]) for words in commands] == ["karat runs show", "karat agreement"]
    assert browser.run("return Number(document.querySelector('section data').value)") == pytest.approx(1 / 3)
    assert browser.violations() == []


def test_two_tabs_lose_no_label(browser, label, labelling):
    served = labelling()
    label(served.address)
    one = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    two = browser.driver.current_window_handle
    label(served.address)
    shown = question(browser)
    browser.driver.switch_to.window(one)
    assert question(browser) == shown
    browser.press("1")
    done(browser, 1)
    browser.driver.switch_to.window(two)
    browser.press("2")  # for the row that the other tab has just labelled: it is not kept for the next one
    browser.until("!document.querySelector('[role=alert]').hidden")
    assert question(browser) != shown
    assert kept(labelling) == ["right"]
    browser.press("2")
    done(browser, 2)
    assert kept(labelling) == ["right", "wrong"]
    assert [line for line in browser.log() if "409" not in line] == []


def test_a_server_that_is_killed_loses_no_label(browser, label, labelling):
    served = labelling()
    label(served.address)
    browser.press("1")
    done(browser, 1)
    browser.press("2")
    done(browser, 2)
    shown = question(browser)
    served.stop(9)
    browser.press("1")
    browser.until("document.querySelector('[role=alert]').innerText.startsWith('Not kept')")
    assert question(browser) == shown
    assert kept(labelling) == ["right", "wrong"]
    label(labelling().address)
    assert question(browser) == shown
    browser.press("1")
    done(browser, 3)
    assert kept(labelling) == ["right", "wrong", "right"]
    assert [line for line in browser.log() if "ERR_CONNECTION" not in line] == []


def test_an_answer_that_is_no_json_leaves_the_keys_alive(browser, label, labelling):
    label(labelling().address)
    shown = question(browser)
    browser.press("1")
    done(browser, 1)
    assert browser.run("return document.querySelector('input').maxLength") == 4000
    browser.run("window.whole = fetch; window.fetch = async () => new Response('<', {status: 200})")
    browser.press("2")
    browser.until("document.querySelector('[role=alert]').innerText.startsWith('Not kept')")
    browser.run("window.fetch = window.whole")
    browser.press("k")
    browser.until("document.querySelector('.cell .text').innerText === arguments[0]", shown)
    browser.press("2")
    browser.until("document.querySelector('.cell .text').innerText !== arguments[0]", shown)
    assert kept(labelling) == ["right", "undo", "wrong"]
    assert [line for line in browser.log() if "SyntaxError" not in line] == []
