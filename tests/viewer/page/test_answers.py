"""What the page is answered: equal to what the command beside it prints; labels that nothing loses."""

import json
import shlex
import shutil

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.metric.rows import Rows
from karat.core.metric.spec import parse
from karat.runs.columns.output import OutputColumns
from karat.runs.store.manifest import Manifest, describe_metric
from karat.runs.store.writer import open_writer
from karat.viewer.page.workspace import Workspace

SCORE = {"kind": "score", "metric": "exact_match", "system": 0}
LABELS = ("--label-map", "good=1,bad=0", "--annotator", "ada")


@pytest.fixture(scope="module")
def changing(runs, tmp_path_factory, serve):
    """A folder of runs that tests change, and the page over it."""
    folder = tmp_path_factory.mktemp("changing") / "runs"
    shutil.copytree(runs, folder)
    return folder, serve(folder)


def printed_by(command):
    """What the command prints, as JSON."""
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_every_figure_is_that_of_its_command(served, ids, monkeypatch, runs):
    pair = [ids["before"], ids["after"]]
    for options in ({}, {"by": "topic"}, {"cluster": "topic", "on": "question"}):
        status, compared = served.post("/api/compare", runs=pair, **options)
        assert (status, compared["compared"]) == (200, printed_by(compared["command"]))
        assert [each["scale"] for each in compared["display"]] == [100] * len(compared["compared"]["findings"])
    status, ranked = served.post("/api/rank", runs=pair, cluster="topic")
    assert (status, ranked["ranked"]) == (200, printed_by(ranked["command"]))
    shown = served.post("/api/result", runs=[ids["before"]])[1]
    provenance = served.post("/api/provenance", runs=[ids["before"]])[1]
    assert printed_by(shown["command"]) == {"manifest": provenance["manifest"], "values": shown["values"]}
    listed = served.post("/api/runs")[1]
    monkeypatch.setenv("KARAT_RUNS", str(runs))
    lines = CliRunner().invoke(main, shlex.split(listed["command"])[1:]).stdout.splitlines()
    for run, line in zip(listed["runs"], map(json.loads, lines), strict=True):
        assert {metric["spec"]: metric["value"] for metric in run["metrics"]} == line["values"]
        assert (run["name"], run["n"], run["state"]) == (line["name"], line["n"], "finished")


BOTH = [
    ({"kind": "column", "name": "topic"}, "in", ["odd"]),
    ({"kind": "column", "name": "topic"}, "not in", ["odd", None]),
    ({"kind": "column", "name": "size"}, "between", [None, 40]),
    ({"kind": "column", "name": "size"}, "missing", []),
    ({"kind": "id"}, "in", ["q7", "q12"]),
    ({"kind": "id"}, "contains", ["Q1"]),
    (SCORE, "between", [0.5, None]),
    (SCORE, "range", [0, 1]),
    (SCORE, "missing", []),
    ({"kind": "reason", "system": 0}, "not in", ["prediction is null", None]),
    ({"kind": "text"}, "contains", ["Number 3"]),
    ({"kind": "column", "name": "question"}, "contains", ["İS 3?"]),
    ({"kind": "column", "name": "question"}, "contains", ["I\u017f 1"]),
]
PAIR = [
    ({**SCORE, "system": 1}, "between", [None, 0.5]),
    ({**SCORE, "kind": "difference", "system": 1}, "range", [-1, 0]),
    ({**SCORE, "kind": "size", "system": 1}, "between", [1, None]),
    ({**SCORE, "kind": "outcome", "system": 1}, "in", ["worse"]),
    ({**SCORE, "kind": "outcome", "system": 1}, "not in", ["worse", "same"]),
    ({**SCORE, "kind": "outcome", "system": 1}, "in", ["unscored", None]),
]
ORDERS = [
    *(None, {"kind": "id"}, {"kind": "column", "name": "size"}, {"kind": "column", "name": "topic"}, SCORE),
    *({**SCORE, "kind": kind, "system": 1} for kind in ("score", "difference", "size", "outcome")),
]


@pytest.mark.parametrize(("names", "conditions"), [(["before"], BOTH), (["before", "after"], BOTH + PAIR)])
def test_the_command_of_a_filter_prints_its_rows_in_their_order(served, ids, names, conditions):
    asked = {"runs": [ids[name] for name in names], "limit": 20}
    orders = [order for order in ORDERS if order is None or order.get("system", 0) < len(names)]
    sorts = [order and {"field": order, "descending": down} for order in orders for down in (False, True)]
    filters = [[{"field": field, "op": op, "values": values}] for field, op, values in conditions]
    for filter_, sort in [*((each, None) for each in filters), *(([], each) for each in sorts)]:
        _, found = served.post("/api/rows", **asked, filter=filter_, sort=sort)
        printed = printed_by(f"{found['command']} --json")["rows"]
        rows = [each if len(names) > 1 else [each] for each in printed]
        shown = [(row["id"], *(answer["scores"] for answer in row["answers"])) for row in found["rows"]]
        assert [(row[0]["id"], *(list(each["scores"].values()) for each in row)) for row in rows] == shown, found
        assert shown or filter_
    whole = [condition for each in filters[::5] for condition in each]
    _, found = served.post("/api/rows", **asked, filter=whole, offset=1)
    assert len(printed_by(f"{found['command']} --json")["rows"]) == found["total"]


def test_the_command_of_a_row_prints_it(served, ids):
    _, row = served.post("/api/row", runs=[ids["after"], ids["before"]], id="q12")
    ((after, before),) = printed_by(f"{row['command']} --json")["rows"]
    assert [after["id"], before["id"], row["id"]] == ["q12"] * 3
    scores = [list(each["scores"].values()) for each in (after, before)]
    assert scores == [answer["scores"] for answer in row["answers"]]
    assert served.post("/api/row", runs=[ids["after"]], id="12")[0] == 404


@pytest.mark.parametrize("spec", ["exact_match", "token_f1"])
@pytest.mark.parametrize(("names", "conditions"), [(["before"], BOTH), (["before", "after"], BOTH + PAIR)])
def test_the_command_of_the_counts_prints_them(served, ids, names, conditions, spec):
    own = {"kind": "score", "metric": spec, "system": 0}
    columns = served.post("/api/columns", runs=[ids[name] for name in names])[1]
    fields = [each for each in columns["facets"] if each["kind"] != "outcome" or each["metric"] == spec]
    asked = {"runs": [ids[name] for name in names], "fields": fields, "histograms": [own]}
    for field, op, values in [(None, None, None), *conditions[::3]]:
        filter_ = [{"field": field, "op": op, "values": values}] if field else []
        _, found = served.post("/api/facets", **asked, filter=filter_)
        printed = printed_by(f"{found['command']} --json")
        assert (printed["n"], printed["total"]) == (found["n"], found["total"])
        for ours, theirs in zip(
            printed["facets"] + printed["histograms"][:1], found["facets"] + found["histograms"], strict=True
        ):
            assert ours == theirs or ours["field"] == theirs["field"] == field, found["command"]


def test_pages_of_rows_and_facets_add_up(served, ids):
    pair = [ids["before"], ids["after"]]
    worse = [{"field": {"kind": "outcome", "metric": "exact_match", "system": 1}, "op": "in", "values": ["worse"]}]
    _, counts = served.post("/api/facets", runs=pair, filter=worse, histograms=[SCORE])
    pages = [served.post("/api/rows", runs=pair, filter=worse, offset=at, limit=4)[1] for at in range(0, 60, 4)]
    rows = [row for page in pages for row in page["rows"]]
    losses = served.post("/api/compare", runs=pair)[1]["compared"]["findings"][0]["losses"]
    assert len(rows) == len({row["id"] for row in rows}) == counts["total"] == pages[0]["total"] == losses
    assert all(row["answers"][1]["differences"][0] == -1 for row in rows)
    columns = served.post("/api/columns", runs=pair)[1]
    assert columns["facets"] == [each["field"] for each in counts["facets"]]
    assert [each["spec"] for each in columns["metrics"]] == ["exact_match", "token_f1"]


def test_hostile_texts_and_requests_are_answered_as_text(changing, monkeypatch):
    folder, served = changing
    answers = ["</script><img onerror=alert(1)>", "\u202eevil\u2066", "x" * 1_000_000, "\x00\x1b[2J"]
    monkeypatch.setenv("KARAT_RUNS", str(folder))
    karat.score({"id": answers, "prediction": answers, "gold": ["a"] * 4}, "exact_match", run="hostile")
    run = served.post("/api/runs")[1]["runs"][-1]
    _, found = served.post("/api/rows", runs=[run["id"]])
    shown = [row["answers"][0]["answer"][0] for row in found["rows"]]
    assert ["".join(piece for piece, _ in text["pieces"]) for text in shown] == [text[:600] for text in answers]
    whole = served.post("/api/row", runs=[run["id"]], id=answers[1], full=True)[1]
    assert whole["id"] == answers[1]
    half = [{"field": {"kind": "id"}, "op": "in", "values": ["\ud800"]}]
    expected = {"error": "a JSON object of whole characters is expected"}
    assert served.post("/api/rows", runs=[run["id"]], filter=half) == (400, expected)


def test_a_run_appears_while_it_is_written_and_when_it_is_damaged(changing, monkeypatch):
    folder, served = changing
    monkeypatch.setenv("KARAT_RUNS", str(folder))

    def state(name):
        return next(run for run in served.post("/api/runs")[1]["runs"] if run["name"] == name)

    metric = parse("exact_match")
    manifest = Manifest("new", "2026-11-22T10:00:00+00:00", (describe_metric(metric, metric.spec),), {})
    output, rows = OutputColumns.beside(pa.schema({"id": pa.int64()}), [metric]), Rows(np.ones((3, 1)))
    with open_writer(manifest, output, {}, resume=False) as writer:
        assert (state("new")["state"], state("new")["n"]) == ("running", 0)
        for _ in range(2):
            writer.tail.add(output.append(pa.record_batch({"id": [1, 2, 3]}), [rows]), [rows], bytes)
            writer.tail.flush()
        assert (state("new")["n"], state("new")["metrics"][0]["spec"]) == (6, "exact_match")
    assert (state("new")["state"], state("new")["n"]) == ("stopped", 6)
    assert "--resume" in state("new")["problem"]
    (folder / "before" / "manifest.json").write_text("{")
    assert state("before")["state"] == "damaged"
    assert str(folder) not in state("before")["problem"]
    assert served.post("/api/result", runs=[state("before")["id"]])[0] == 400


def test_labels_survive_a_killed_server_and_a_second_window(runs, ids, tmp_path, serve):
    pair, file = [ids["before"], ids["after"]], tmp_path / "labels.jsonl"
    served = serve(runs, "--labels", file, *LABELS)
    reason = served.post("/api/agreement", runs=[ids["before"]])[1]["reason"]
    assert reason == "no answer of before is labelled yet"
    _, row = served.post("/api/label/next", runs=pair)
    assert [cell["name"] for cell in row["cells"]] == ["question", "gold", "prediction"]
    assert [each["name"] for each in row["choices"]] == ["good", "bad"]
    for _ in range(5):
        answer = row["cells"][2]["values"][0]["pieces"][0][0]
        name = "bad" if answer == "a lie" else "good"
        status, row = served.post("/api/label", runs=pair, at=row["at"], action="label", label=name)
        assert status == 200
    served.stop()
    served = serve(runs, "--labels", file, *LABELS)
    _, row = served.post("/api/label/next", runs=pair)
    assert (row["finished"], row["at"], len(file.read_text().splitlines())) == (5, 5, 5)
    again = {"runs": pair, "at": 0, "action": "label"}
    marked = served.post("/api/label/next", runs=pair, at=0)[1]["mark"]["label"]
    assert served.post("/api/label", **again, label=marked)[0] == 200  # the same once more: kept once
    status, refused = served.post("/api/label", **again, label="bad" if marked == "good" else "good")
    assert (status, refused["at"], len(file.read_text().splitlines())) == (409, 5, 5)
    assert served.post("/api/label", **again, label="bad", note="x" * 4001, replace=True)[0] == 400
    assert served.post("/api/label", **again, label="great", replace=True)[0] == 400
    assert len(file.read_text().splitlines()) == 5  # nothing was taken back
    for name in ("bad", "good"):
        assert served.post("/api/label", **again, label=name, replace=True)[0] == 200
    assert served.post("/api/label/next", runs=pair, at=0)[1]["mark"]["label"] == "good"
    assert served.post("/api/label", runs=again["runs"], at=4, action="undo")[1]["at"] == 4
    assert served.post("/api/label", runs=again["runs"], at=4, action="skip", note="unclear")[1]["finished"] == 5
    for wrong in ({"at": 9, "label": "great"}, {"label": "good"}, {"at": 9999, "label": "good"}):
        assert served.post("/api/label", **{**again, "at": None, **wrong})[0] == 400
    status, answer = served.post("/api/label/next", runs=[ids["before"]])
    assert (status, list(answer)) == (200, ["impossible"])  # the file was begun with both


def test_agreement_is_what_its_command_prints(runs, ids, tmp_path, serve):
    file = tmp_path / "labels.jsonl"
    served, run = serve(runs, "--labels", file, *LABELS), ids["before"]
    _, row = served.post("/api/label/next", runs=[run])
    for number in range(12):
        answer = row["cells"][2]["values"][0]["pieces"][0][0]
        name = "good" if number == 3 else "bad" if answer == "a lie" else "good"
        row = served.post("/api/label", runs=[run], at=row["at"], action="label", label=name)[1]
    found = served.post("/api/agreement", runs=[run])[1]
    assert found["agreement"] == printed_by(found["command"])
    values = printed_by(found["corrected"]["command"])["values"]
    assert values == found["corrected"]["values"]
    corrected = {each["spec"]: each["corrected"] for each in values["metrics"]}
    assert found["agreement"]["n"] == corrected["exact_match"]["labelled"] == 12
    labels = {"id": [], "label": []}
    for line in map(json.loads, file.read_text().splitlines()):
        labels["id"].append(line["id"])
        labels["label"].append(line["score"])
    scored = karat.score(
        str(runs / "before" / "rows.parquet"), ["exact_match", "token_f1"], human=labels, on="id", by="topic"
    )
    expected = json.loads(json.dumps(scored.as_dict()))
    assert values["metrics"] == expected["metrics"]


def test_proposed_rows_are_labelled_with_their_probability(runs, ids, tmp_path, serve):
    file, proposed = tmp_path / "labels.jsonl", tmp_path / "proposed.jsonl"
    proposed.write_text(
        '{"id": "q7", "question": "what is 7?", "gold": "7", "prediction": "a lie", "probability": 0.25}\n'
    )
    served, run = serve(runs, "--labels", file, *LABELS, "--rows", proposed), ids["before"]
    _, row = served.post("/api/label/next", runs=[run])
    assert (row["total"], [cell["name"] for cell in row["cells"]]) == (1, ["question", "gold", "prediction"])
    assert shlex.split(row["command"])[:3] == ["karat", "label", "ROWS"]
    _, row = served.post("/api/label", runs=[run], at=0, action="label", label="bad")
    assert (row["at"], json.loads(file.read_text())["probability"]) == (None, 0.25)


def test_without_the_extra_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr("karat.viewer.page.server.find_spec", lambda name: None)
    done = CliRunner().invoke(main, ["view"])
    assert (done.exit_code, done.output) == (1, "Error: karat view needs starlette: pip install 'karat[view]'\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "labels.csv"], "ends in .jsonl"),
        (["--labels", "labels.jsonl"], "which labels?"),
        (["--label-map", "good=1,bad=0"], "needs --labels FILE"),
        (["nowhere"], "does not exist"),
    ],
)
def test_what_cannot_be_served_is_said_before_a_port_is_opened(words, message):
    done = CliRunner().invoke(main, ["view", *words])
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("runs: from 1 to 8 different ids are expected", "runs: from 1 to 8 different ids are expected"),
        ("there is no column 'a' in b / c", "there is no column 'a' in b / c"),
        ("{0}/runs/before/values.json cannot be read", "before/values.json cannot be read"),
        ("there is no run 'x' in {0}/runs.", "there is no run 'x' in runs."),
        ("{0}/runs2 and /other{0}/runs", "runs2 and /other{0}/runs"),
        ("'{0}/labels.jsonl', {0}", "'labels.jsonl', {1}"),
    ],
)
@pytest.mark.parametrize("named", ["runs", "./runs", "../{1}/runs", "{0}/runs"])
def test_folders_are_taken_out_of_messages_and_nothing_else(tmp_path, monkeypatch, message, shown, named):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", named.format(tmp_path, tmp_path.name))
    message, shown = (text.format(tmp_path, tmp_path.name) for text in (message, shown))
    assert Workspace().clean(message) == shown
    monkeypatch.chdir("/")
    monkeypatch.setenv("KARAT_RUNS", "/")
    assert Workspace().clean(message) == message
