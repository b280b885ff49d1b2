"""Doubtful gold on the page: answers are chosen, another gold is typed, and no run is needed."""

import json

import pytest

pytestmark = pytest.mark.browser

READY = "document.querySelector('.cell, .standfirst') && !document.querySelector('[aria-busy]')"


def test_the_gold_that_is_right_is_chosen_and_typed(browser, serve, tmp_path):
    answers = [{"system": "gpt", "answer": "Paris"}, {"system": "bert", "answer": "Nice"}]
    rows = [{"id": at, "question": "Which?", "reference": ["Lyon"], "answers": answers} for at in (1, 2)]
    doubts, patch, folder = (tmp_path / name for name in ("doubts.jsonl", "patch.jsonl", "runs"))
    folder.mkdir()
    doubts.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    browser.open(serve(folder, "--labels", patch, "--gold", doubts, "--annotator", "ada").address)
    browser.until("document.querySelector('#nav a[href*=label]')")
    browser.run("location.hash = '#/label'")
    browser.until(READY)
    assert "gpt" not in browser.text("main")
    assert browser.violations() == []
    browser.press("a", "Lutetia", "\ue007", "4")  # no other answer is chosen
    browser.until("document.querySelector('.count')?.innerText.startsWith('1 of')")
    browser.until(READY)
    browser.click("label.answer input")
    browser.press("2")
    browser.until("document.querySelector('.count')?.innerText.startsWith('2 of')")
    first, second = (
        json.loads(line) for line in patch.with_name("patch.journal.jsonl").read_text("utf-8").splitlines()
    )
    assert (first["label"], first["new"]) == ("also right", ["Lutetia"])
    assert (second["label"], second["new"][0] in ("Paris", "Nice")) == ("wrong", True)
