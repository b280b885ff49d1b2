"""The page in Chromium over runs of every kind: being written, swapped, of rankings, judged by a panel, repeated."""

import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.metric.rows import Rows
from karat.core.metric.spec import parse
from karat.judges import Judge
from karat.models.testing.fake import FakeModel
from karat.runs.columns.output import OutputColumns
from karat.runs.store.manifest import Manifest, describe_metric
from karat.runs.store.writer import open_writer

pytestmark = pytest.mark.browser

IDLE = "document.querySelector('h1') && !document.querySelector('[aria-busy]')"
N = 20
QUESTIONS = {"id": [f"q{row}" for row in range(N)], "question": [f"what is {row}?" for row in range(N)]}


def label(name, said):
    return FakeModel({"explanation": f"{name} finds it {said}.", "label": said}, name=name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`bm25` and `dense` rank documents; `panel` is judged by three models; `often` has three answers to each row."""
    folder = tmp_path_factory.mktemp("kinds")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder))
        patch.setenv("KARAT_CACHE", str(folder / ".replies.sqlite"))
        relevant = [[f"d{row}"] for row in range(N)]
        ranked = {"bm25": ["x", "y", "{}"], "dense": ["{}", "x", "y"]}
        for name, places in ranked.items():
            retrieved = [[place.format(f"d{row}") for place in places] for row in range(N)]
            karat.score({**QUESTIONS, "retrieved": retrieved, "relevant": relevant}, ["mrr", "ndcg@3"], run=name)
        panel = Judge("correctness", model=[label("ann", "correct"), label("bo", "incorrect"), label("cy", "correct")])
        answers = {**QUESTIONS, "gold": [f"number {row}" for row in range(N)], "prediction": ["a lie"] * N}
        karat.score(answers, [panel, "exact_match"], run="panel")
        karat.score({**answers, "gold": ["another"] * N}, "exact_match", run="other-gold")
        drawn = iter(range(3 * N))
        karat.experiment({**QUESTIONS, "gold": ["0"] * N}, lambda question: str(next(drawn) % 3), "exact_match",
                         run="often", repetitions=3, concurrency=1)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def served(folder, serve):
    return serve(folder)


@pytest.fixture
def visit(browser, served):
    """Open a screen over runs, by their names; what is left of the address are its parameters."""
    browser.open(served.address)
    browser.until(f"location.hash == '#/runs' && {IDLE}")
    ids = {run["name"]: run["id"] for run in served.post("/api/runs")[1]["runs"]}

    def open_screen(screen, *names, **state):
        query = "&".join([f"runs={','.join(ids[name] for name in names)}", *(f"{k}={v}" for k, v in state.items())])
        browser.run("shown = document.querySelector('h1'); location.hash = arguments[0]", f"#/{screen}?{query}")
        browser.until(f"document.querySelector('h1') !== window.shown && {IDLE}")

    return open_screen


def figures(browser):
    """The numbers of the forest plot: A, B, difference and p of each line."""
    return browser.run(
        "return [...document.querySelectorAll('table.differences tbody tr')].map(row => "
        "[...row.querySelectorAll('data')].map(each => Number(each.value)))"
    )


def printed_by(command):
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_run_appears_and_grows_while_it_is_written(browser, served, folder, visit, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(folder))
    hurried = "const wait = setTimeout; window.setTimeout = (act, time, ...rest) => wait(act, time / 20, ...rest);"
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": hurried})
    browser.driver.refresh()
    browser.until(IDLE)
    line = "[...document.querySelectorAll('tbody tr')].find(row => row.innerText.includes('fresh'))?.innerText"
    assert browser.run(f"return {line}") is None
    metric = parse("exact_match")
    manifest = Manifest(
        "fresh",
        "2026-11-22T10:00:00+00:00",
        (describe_metric(metric, metric.spec),),
        {},
        n=9,
        models={"names": ("m",), "calls": 7, "failed": 2, "cost": 0.5},
    )
    output, rows = OutputColumns.beside(pa.schema({"id": pa.int64()}), [metric]), Rows(np.ones((3, 1)))
    with open_writer(manifest, output, {}, resume=False) as writer:
        for done in (3, 6):
            writer.tail.add(output.append(pa.record_batch({"id": [1, 2, 3]}), [rows]), [rows], bytes)
            writer.tail.flush()
            browser.until(f"({line} ?? '').includes('being written: {done} rows')", seconds=15)
            assert "7 calls, 2 failed, $0.5000" in browser.run(f"return {line}")
    browser.until(f"{line}.includes('--resume')")
    assert browser.run("return document.querySelectorAll('tbody input:disabled').length") == 1


def test_swapping_a_and_b_turns_every_figure_and_the_command(browser, visit, folder):
    visit("compare", "bm25", "dense")
    before, command = figures(browser), browser.text(".command code")
    assert all(difference > 0 for _, _, difference, _ in before)
    browser.click("[data-key=swap]")
    browser.until("document.querySelector('h1')?.innerText === 'Is bm25 better than dense?'")
    after, swapped = figures(browser), browser.text(".command code")
    assert after == [[b, a, -difference, p] for a, b, difference, p in before]
    assert command == f"karat compare {folder / 'bm25'} {folder / 'dense'} --json"
    assert swapped == f"karat compare {folder / 'dense'} {folder / 'bm25'} --json"
    found = printed_by(swapped)["findings"]
    assert after == [[each[name] for name in ("a", "b", "difference", "p_adjusted")] for each in found]
    assert "worse" in browser.text(".verdict-line")


def test_rows_with_rankings_show_both_lists(browser, visit):
    visit("rows", "bm25", "dense")
    assert browser.texts("tbody tr:first-child td:nth-child(2) ol li") == ["x", "y", "d0"]
    visit("row", "bm25", "dense", row="q3")
    lists = browser.run("return [...document.querySelectorAll('.answer ol')].map(list => list.innerText.split(/\\s+/))")
    assert lists == [["x", "y", "d3"], ["d3", "x", "y"]]
    assert browser.texts(".answer mark.matches") == ["d3", "d3"]
    assert browser.texts(".answer .verdict") == ["+66.7", "+50.0"]
    assert browser.violations() == []


def test_a_panel_shows_its_verdict_and_each_vote(browser, visit):
    visit("row", "panel", row="q0")
    assert browser.text(".judge h4").endswith(": correct")
    assert browser.text(".judge .note") == "Votes: ann correct, bo incorrect, cy correct"
    assert "ann finds it correct." in browser.text(".judge")
    visit("rows", "panel")
    assert browser.text("tbody .row-head").split() == ["100.0", "correct"]


def test_repetitions_stand_within_their_row(browser, visit):
    visit("rows", "often", sort="null")
    browser.click("tbody a.open")
    browser.until(f"location.hash.startsWith('#/row?') && {IDLE}")
    assert browser.text(".answer > .text") == "0"
    assert browser.text(".answer details summary") == "2 other answers to this question"
    browser.click(".answer details summary")
    assert browser.texts(".repetition .text") == ["1", "2"]
    assert browser.texts(".repetition .note") == [f"repetition {each}: exact_match 0.0" for each in (2, 3)]
    assert browser.violations() == []


def test_runs_that_cannot_be_compared_are_no_error_of_the_page(browser, visit):
    visit("compare", "panel", "other-gold")
    assert "were scored against different gold" in browser.text("[role=alert]")
    browser.run(
        "[...document.querySelectorAll('button')].find(each => each.innerText === 'Compare all the same').click()"
    )
    browser.until(f"document.querySelector('table.forest') && {IDLE}")
    assert "--allow-different" in browser.text(".command code")
    visit("rows", "bm25", "panel")
    assert "no metric was scored in all systems" in browser.text("[role=alert]")
    assert "Compare all the same" not in browser.text("main")  # the fixture `browser` looks at the console


def test_every_command_of_every_screen_prints_the_figures_beside_it(browser, visit):
    pair = ("bm25", "dense")
    gained = json.dumps([{"field": {"kind": "difference", "metric": "reciprocal_rank", "system": 1},
                          "op": "between", "values": [0.5, None]}])  # fmt: skip
    screens = [("compare", pair, {}), ("compare", ("panel",), {}), ("rows", pair, {"filter": gained}),
               ("rows", ("often",), {}), ("row", ("panel", "other-gold"), {"row": "q3", "different": "1"}),
               ("provenance", pair, {})]  # fmt: skip
    for screen, names, state in screens:
        visit(screen, *names, **state)
        commands = browser.texts(".command code")
        assert len(commands) == {"provenance": len(names), "rows": 2}.get(screen, 1)
        shown = browser.run("return [...document.querySelectorAll('main data')].map(each => Number(each.value))")
        as_json = [each if each.endswith("--json") else f"{each} --json" for each in commands]
        printed = json.dumps([printed_by(each) for each in as_json])
        numbers = {round(float(each), 12) for each in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", printed)}
        differences = {round(one - other, 12) for one in numbers for other in numbers}
        assert {round(each, 12) for each in shown} <= numbers | differences, screen
        assert shown or screen == "provenance"
