"""People's labels on the page of `karat view`: by keyboard alone, in two tabs, and through a power failure."""

import json
import re
import time

import pytest

import karat
from karat.runs.sampling.next_rows import label_next

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
    """Wait until so many rows are done, and the next one can be labelled."""
    browser.until("document.querySelector('.progress .count')?.innerText.startsWith(arguments[0] + ' of')", str(number))
    browser.until(READY)


def press(browser, *keys):
    """Press keys when the row has been on the screen for an instant."""
    browser.until(READY)
    browser.press(*keys)


def question(browser):
    return browser.text(".cell .text")


def test_rows_are_labelled_by_keyboard_alone(browser, label, labelling):
    label(labelling().address)
    first = question(browser)
    assert not {"first", "0.0", "100.0", "q00"} & set(browser.text("main").split())  # blind
    press(browser, "1")
    done(browser, 1)
    assert question(browser) != first
    press(browser, "n", "too long", "\ue007", "2")
    done(browser, 2)
    press(browser, "s")
    done(browser, 3)
    press(browser, "u")
    done(browser, 2)
    assert kept(labelling) == ["right", "wrong", "skip", "undo"]
    notes = [json.loads(line).get("note") for line in labelling.file.read_text("utf-8").splitlines()]
    assert notes == [None, "too long", None, None]
    shown = question(browser)
    press(browser, "k", "k")
    browser.until("document.querySelector('.note')?.innerText === 'You labelled this row right.'")
    assert question(browser) == first
    press(browser, "2")  # another label for it: the first one is taken back
    browser.until("document.querySelector('.cell .text').innerText === arguments[0]", shown)
    assert kept(labelling)[4:] == ["undo", "wrong"]
    ring = "(({outlineStyle, outlineWidth}) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))"
    assert browser.run("return document.activeElement.className") == "cell"
    assert browser.run(f"return {ring}") == ["solid", "3px"]
    press(browser, "\ue004")  # Tab: on to the first choice
    assert browser.run("return document.activeElement.dataset.key") == "choice 0"
    assert browser.run(f"return {ring}") == ["solid", "3px"]
    press(browser, " ")
    done(browser, 3)
    assert kept(labelling)[-1] == "right"


def test_labels_say_how_far_scores_agree_with_people(browser, label, labelling):
    label(labelling().address)
    for number, key in enumerate("12121212", 1):
        press(browser, key)
        done(browser, number)
    browser.run("location.hash = location.hash.replace('label', 'agreement')")
    browser.until("document.querySelector('table.coefficients') && !document.querySelector('[aria-busy]')")
    assert browser.text(".standfirst").endswith(", on 8 rows")
    assert "of 8 rows" in browser.run("return document.querySelector('.sentences').textContent")
    commands = [command.split()[:3] for command in browser.texts(".command code")]
    assert [" ".join(words[: 2 + (words[1] == "runs")]) for words in commands] == ["karat runs show", "karat judge"]
    assert browser.run("return Number(document.querySelector('section .scroll data').value)") == pytest.approx(1 / 3)
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
    press(browser, "1")
    done(browser, 1)
    browser.driver.switch_to.window(two)
    press(browser, "2")  # for the row that the other tab has just labelled: it is not kept for the next one
    browser.until("!document.querySelector('[role=alert]').hidden")
    assert question(browser) != shown
    assert kept(labelling) == ["right"]
    press(browser, "2")
    done(browser, 2)
    assert kept(labelling) == ["right", "wrong"]
    assert [line for line in browser.log() if "409" not in line] == []


def test_a_server_that_is_killed_loses_no_label(browser, label, labelling):
    served = labelling()
    label(served.address)
    press(browser, "1")
    done(browser, 1)
    press(browser, "2")
    done(browser, 2)
    shown = question(browser)
    served.stop(9)
    press(browser, "1")
    browser.until("document.querySelector('[role=alert]').innerText.startsWith('Not kept')")
    assert question(browser) == shown
    assert kept(labelling) == ["right", "wrong"]
    label(labelling().address)
    assert question(browser) == shown
    press(browser, "1")
    done(browser, 3)
    assert kept(labelling) == ["right", "wrong", "right"]
    assert [line for line in browser.log() if "ERR_CONNECTION" not in line] == []


def test_an_answer_that_is_no_json_leaves_the_keys_alive(browser, label, labelling):
    label(labelling().address)
    shown = question(browser)
    press(browser, "1")
    done(browser, 1)
    assert browser.run("return document.querySelector('input').maxLength") == 4000
    browser.run("window.whole = fetch; window.fetch = async () => new Response('<', {status: 200})")
    press(browser, "2")
    browser.until("document.querySelector('[role=alert]').innerText.startsWith('Not kept')")
    browser.run("window.fetch = window.whole")
    press(browser, "k")
    browser.until("document.querySelector('.cell .text').innerText === arguments[0]", shown)
    press(browser, "2")
    browser.until("document.querySelector('.cell .text').innerText !== arguments[0]", shown)
    assert kept(labelling) == ["right", "undo", "wrong"]
    assert [line for line in browser.log() if "SyntaxError" not in line] == []


def hold(browser, key, times, *, repeated=True):
    """Hold a key, as a keyboard repeats it; or press it so often, as fast as that."""
    code = {"key": key, "text": key, "code": f"Digit{key}" if key.isdigit() else f"Key{key.upper()}"}
    for at in range(times):
        browser.driver.execute_cdp_cmd(
            "Input.dispatchKeyEvent", {"type": "keyDown", "autoRepeat": repeated and at > 0, **code}
        )
        if not repeated:
            browser.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", **code})
        time.sleep(0.03)
    browser.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", **code})


def test_a_key_that_is_held_acts_once(browser, label, labelling):
    label(labelling().address)
    browser.until(READY)
    hold(browser, "1", 40)
    done(browser, 1)
    assert kept(labelling) == ["right"]
    press(browser, "2")
    done(browser, 2)
    hold(browser, "u", 20)
    done(browser, 1)
    assert kept(labelling) == ["right", "wrong", "undo"]
    before = question(browser)
    hold(browser, "k", 3)  # moving is no label
    browser.until("document.querySelector('.cell .text').innerText !== arguments[0]", before)


def test_no_row_is_labelled_within_an_instant_of_its_showing(browser, label, labelling):
    label(labelling().address)
    browser.until(READY)
    start = time.monotonic()
    hold(browser, "1", 40, repeated=False)
    elapsed = time.monotonic() - start
    browser.until(READY)
    assert 1 <= len(kept(labelling)) <= 1 + elapsed / 0.3
    before = kept(labelling)
    clicks = "const id = setInterval(() => document.querySelector('button.choice').click(), 10)"
    browser.run(f"{clicks}; setTimeout(() => clearInterval(id), 250)")
    done(browser, len(before) + 1)
    assert kept(labelling) == [*before, "right"]


def test_the_name_of_the_system_is_nowhere_while_rows_are_labelled(browser, serve, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    for name in ("zebra", "quokka"):
        rows = {"id": ["a", "b"], "question": ["one?", "two?"], f"answer_{name}": ["1", "2"], "truth": ["1", "3"]}
        roles = {"prediction": f"answer_{name}", "reference": "truth"}
        karat.score(rows, "exact_match", map=roles, run=name)
    label_next(["zebra", "quokka"], 2, output=tmp_path / "next.csv")
    options = ["--labels", tmp_path / "labels.jsonl", "--label-map", "right=1,wrong=0", "--rows", tmp_path / "next.csv"]
    for more in ([], ["--show", "question", "--show", "answer"]):
        served = serve(tmp_path / "runs", *options, *more)
        run = served.post("/api/runs")[1]["runs"][0]["id"]
        assert not re.search("zebra|quokka", json.dumps(served.post("/api/label/next", runs=[run])[1]))
    served = serve(tmp_path / "runs", "--labels", tmp_path / "other.jsonl", "--label-map", "right=1,wrong=0")
    both = [run["id"] for run in served.post("/api/runs")[1]["runs"]]
    answer = served.post("/api/label/next", runs=both)[1]
    assert [cell["name"] for cell in answer["cells"]] == ["question", "gold", "answer"]
    assert not re.search("zebra|quokka", json.dumps(answer))
    browser.open(served.address)
    browser.until("document.querySelector('tbody th a')")
    browser.run("location.hash = '#/label?runs=' + arguments[0]", both)
    browser.until(READY)
    assert "truth" not in browser.text("body")
    assert not re.search("zebra|quokka", browser.run("return document.documentElement.outerHTML"))
    assert {title.lower() for title in browser.texts(".cell h2")} == {"question", "gold", "answer"}


def test_the_interval_narrows_until_it_is_enough(browser, label, labelling):
    label(labelling("--until-width", "0.9", "--until-cost", "0.6", "--price-label", "0.3").address)
    assert browser.text(".narrowing .count").startswith("Your mean over all rows: not known yet, 95 % interval 0 to 1")
    press(browser, "1")
    browser.until("document.querySelector('.narrowing .count').innerText.includes('$0.30 spent')")
    assert browser.run("return document.querySelectorAll('.narrowing line.interval').length") == 1
    press(browser, "1")
    browser.until("document.querySelector('.standfirst')?.innerText.startsWith('Enough: stopped at 2 of')")
    press(browser, "u")
    browser.until("document.querySelector('.cell')")
