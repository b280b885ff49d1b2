"""One number, every door: the same rows under the same options give the same bits wherever a user reads them.

Two systems are scored under plain settings. Each door is asked for their values, or for their difference, under other
options, and has to give what scoring the rows under these options gives.
"""

import base64
import csv
import json
import zlib
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.viewer.page.workspace import Workspace

testclient = pytest.importorskip("starlette.testclient", reason="the page needs karat[view]")
app = pytest.importorskip("karat.viewer.page.app")

N = 60
METRICS = [
    "exact_match",  # 0 or 1
    "token_f1",  # graded
    "column(seconds)",  # without bounds
    "bleu",  # of the corpus
    "wer",  # of the corpus, without an upper bound
    "percentile(seconds, direction='minimize')",
    "auroc",  # a curve
    "brier",  # a score of a confidence
]
ASKED = [{"auroc": "auroc(exact_match)", "brier": "brier(exact_match)"}.get(spec, spec) for spec in METRICS]
SYSTEMS = ("before", "after")
ROWS = {"all": {}, "where": {"where": "size < 41"}, "limit": {"limit": 37}}
HUMAN = {
    "scores": None,
    "people": karat.Labels("person", "good=1,bad=0"),
    "these-rows": karat.Labels("person", "good=1,bad=0", finite=True),
}
MORE_IS_BETTER = [
    spec for spec in ASKED if not spec.startswith(("wer", "percentile", "brier"))
]  # labels are of one way
VALUE = ("value", "low", "high", "n", "scored")


def table(share, seed):
    """The answers of a system, of which this share is right."""
    rng = np.random.default_rng(seed)
    right = rng.random(N) < share
    return {
        "id": [f"q{row}" for row in range(N)],
        "gold": [f"the city number {row}" for row in range(N)],
        "prediction": [f"the city number {row}" if ok else f"the {row} town" for row, ok in enumerate(right)],
        "page": [f"p{row // 4}" for row in range(N)],
        "size": list(range(N)),
        "seconds": rng.gamma(2, 3, N).round(3).tolist(),
        "confidence": np.clip(rng.random(N) * 0.6 + 0.4 * right, 0, 1).round(3).tolist(),
        "person": [None if row % 3 else ("good" if ok != (row % 9 == 0) else "bad") for row, ok in enumerate(right)],
    }


@pytest.fixture(scope="module")
def scored(request, tmp_path_factory):
    """Both systems scored on these rows; the files, and the options that choose the rows."""
    folder, rows = tmp_path_factory.mktemp("doors"), ROWS[request.param]
    files = {name: folder / f"{name}.jsonl" for name in SYSTEMS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder / "runs"))
        for (name, file), share, seed in zip(files.items(), (0.4, 0.7), (3, 4), strict=True):
            columns = table(share, seed)
            lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
            file.write_text("\n".join(lines), "utf-8")
            karat.score(str(file), ASKED, run=name, **rows)
            karat.score(str(file), MORE_IS_BETTER, run=f"labelled-{name}", **rows)
        yield files, rows


def command(*words):
    """The JSON that a command prints."""
    run = CliRunner().invoke(main, [*map(str, words), "--json"])
    assert run.exit_code == 0, (words, run.output)
    return json.loads(run.stdout)


def ask_page(path, *names, **options):
    """What the page is answered about kept runs."""
    with testclient.TestClient(app.make_app(Workspace())) as page:
        ids = {run["name"]: run["id"] for run in page.post("/api/runs", json={}).json()["runs"]}
        return page.post(path, json={"runs": [ids[name] for name in names], **options}).json()


def flags(options):
    """Options of Python as those of the command line."""
    found = []
    for name, value in options.items():
        if isinstance(value, karat.Labels):
            found += ["--human", value.source, "--label-map", value.label_map, *["--these-rows"] * value.finite]
        else:
            found += [f"--{name}", str(value)]
    return found


def read_report(path):
    """The answers that a report holds."""
    held = json.loads(path.read_text("utf-8").split('id="data">')[1].split("</script>")[0])
    return json.loads(zlib.decompress(base64.b64decode(held["deflated"]))) if "deflated" in held else held


def of_stored(values):
    """What `values.json` and its like say: the values by metric, and those that people would give."""
    entries = {entry["spec"]: entry for entry in values["metrics"]}
    corrected = {spec: entry["corrected"] for spec, entry in entries.items() if entry.get("corrected")}
    return {spec: {name: entry[name] for name in VALUE} for spec, entry in entries.items()}, corrected


def of_result(result):
    values = {spec: {name: getattr(value, name) for name in VALUE} for spec, value in result.values.items()}
    return values, {spec: each.as_dict() for spec, each in result.corrected.items()}


OPTIONS = [
    {name: value for name, value in (("confidence", level), ("cluster", cluster), ("human", HUMAN[human])) if value}
    for level, cluster, human in product((0.95, 0.8), (None, "page"), HUMAN)
]
CHOSEN = [OPTIONS[6], OPTIONS[9], OPTIONS[11]]  # for rows that are chosen: with and without clusters and labels
CASES = [("all", each) for each in OPTIONS] + [(rows, each) for rows in ("where", "limit") for each in CHOSEN]
PAIRS = [(rows, each) for rows, each in CASES if "human" not in each]


def name_case(case):
    return case if isinstance(case, str) else " ".join(flags(case))


@pytest.mark.parametrize(("scored", "options"), CASES, ids=name_case, indirect=["scored"])
def test_values_are_those_of_scoring_at_every_door(options, scored, tmp_path):
    files, rows = scored
    asked = MORE_IS_BETTER if "human" in options else ASKED
    expected = {name: of_result(karat.score(str(file), asked, **rows, **options)) for name, file in files.items()}
    runs = {name: f"labelled-{name}" if "human" in options else name for name in SYSTEMS}
    doors = {}
    words = [word for spec in asked for word in ("-m", spec)]
    doors["score"] = {
        name: of_stored(command("score", file, *words, *flags(rows), *flags(options))) for name, file in files.items()
    }
    doors["runs show"] = {
        name: of_stored(command("runs", "show", run, *flags(options))["values"]) for name, run in runs.items()
    }
    single = {"confidence": 0.95} | options
    for about, systems in (("report of one", SYSTEMS[:1]), ("report of two", SYSTEMS)):
        path = karat.report(*map(runs.get, systems), output=tmp_path / "report.html", overwrite=True, **single)
        found = [each["values"] for each in read_report(path)["of_runs"]["result"]]
        doors[about] = dict(zip(systems, map(of_stored, found), strict=True))
    if not options:
        doors["page"] = {name: of_stored(ask_page("/api/result", run)["values"]) for name, run in runs.items()}
    if options in ({}, {"cluster": "page"}):  # the page has no others
        doors["rank on the page"] = of_ranked(ask_page("/api/rank", *SYSTEMS, **options)["ranked"])
    if "human" not in options:
        doors["rank"] = of_ranked(karat.rank(*SYSTEMS, **options).as_dict())
        doors["compare --rank --json"] = of_ranked(command("compare", "--rank", *SYSTEMS, *flags(options)))
    for door, found in doors.items():
        for name, (values, corrected) in found.items():
            assert values == expected[name][0], f"{door}, {name}"
            if "human" in options:
                assert corrected == expected[name][1], f"{door}, {name}"


def of_ranked(ranked):
    found = {name: ({}, {}) for name in SYSTEMS}
    for ranking in ranked["rankings"]:
        for each in ranking["systems"]:
            own = {name: each[name] for name in ("value", "low", "high")}
            found[each["system"]][0][ranking["metric"]] = {**own, "n": ranking["n"], "scored": ranking["scored"]}
    return found


def differences(compared):
    """What a comparison says of each metric."""
    names = ("difference", "low", "high", "p", "test", "p_adjusted", "n", "scored")
    return {each["metric"]: {name: each[name] for name in names} for each in compared["findings"]}


def differences_of_ranked(ranked):
    found = {}
    for ranking in ranked["rankings"]:
        (pair,) = ranking["pairs"]
        own = {name: pair[name] for name in ("difference", "low", "high", "p", "test", "p_adjusted")}
        if pair["system"] == "before":  # the better one comes first
            own |= {"difference": -own["difference"], "low": -own["high"], "high": -own["low"]}
        found[ranking["metric"]] = {**own, "n": ranking["n"], "scored": ranking["scored"]}
    return found


@pytest.mark.parametrize(("scored", "options"), PAIRS, ids=name_case, indirect=["scored"])
def test_a_pair_is_the_same_at_every_door(options, scored, tmp_path):
    compared = karat.compare(*SYSTEMS, **options)
    expected = differences(compared.as_dict())
    assert set(expected) == set(METRICS)
    ranked = karat.rank(*SYSTEMS, **options)
    answered = read_report(karat.report(*SYSTEMS, output=tmp_path / "two.html", **{"confidence": 0.95} | options))
    doors = {
        "compare --json": differences(command("compare", *SYSTEMS, *flags(options))),
        "rank": differences_of_ranked(ranked.as_dict()),
        "compare --rank --json": differences_of_ranked(command("compare", "--rank", *SYSTEMS, *flags(options))),
        "report": differences(answered["compare"]["compared"]),
    }
    if options in ({}, {"cluster": "page"}):  # the page has no others
        doors["page"] = differences(ask_page("/api/compare", *SYSTEMS, **options)["compared"])
        doors["rank on the page"] = differences_of_ranked(ask_page("/api/rank", *SYSTEMS, **options)["ranked"])
    for door, found in doors.items():
        assert found == expected, door
    for ranking in ranked.rankings:
        (pair,) = ranking.pairs
        finding = next(each for each in compared.findings if each.metric == ranking.metric)
        assert pair.separated == (finding.verdict != "unclear"), ranking.metric
    compared.save(tmp_path / "table.csv")
    rows = {row["metric"]: row for row in csv.DictReader((tmp_path / "table.csv").read_text("utf-8").splitlines())}
    for spec, wanted in expected.items():
        found = {name: rows[spec][name] for name in ("difference", "low", "high", "p", "p_adjusted")}
        assert {name: float(text) for name, text in found.items()} == {name: wanted[name] for name in found}, spec
    check_texts(compared, ranked, tmp_path)


def check_texts(compared, ranked, folder):
    """The difference of each metric and the values of each system stand in Markdown, LaTeX and on the terminal."""
    texts = {}
    for ending in ("md", "tex"):
        for about, result in (("compared", compared), ("ranked", ranked)):
            result.save(folder / f"{about}.{ending}")
            texts[about, ending] = (folder / f"{about}.{ending}").read_text("utf-8")
    words = flags({"confidence": compared.confidence})
    texts["compared", "terminal"] = CliRunner().invoke(main, ["compare", *SYSTEMS, *words]).stdout
    for finding in compared.findings:
        size = abs(finding.comparison.difference)
        spelled = (f"{size:.4f}", f"{size:.4g}", f"{100 * size:.1f}")  # tables, sentences, points
        for (about, ending), text in texts.items():
            if about == "compared":
                assert any(each in text for each in spelled), (finding.metric, ending, text)
    for ranking in ranked.rankings:
        for value in ranking.values:
            for ending in ("md", "tex"):
                assert f"{value.value:.4f}" in texts["ranked", ending], (ranking.metric, ending)
