"""The report as a file: its figures, its rows, what it leaves out, and that no text of others becomes markup."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.cli.main import main
from karat.core.errors import ColumnError, DataError, SpecError
from karat.viewer.report.chosen_rows import MetricScores, choose_rows
from karat.viewer.report.rows import pack

HOSTILE = '</script><img src=x onerror="alert(1)"><!-- \u202eevil\u2028 & \x00'


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))


class Page(HTMLParser):
    """A report: its elements with their attributes, the text that needs no JavaScript, and the data of the modules."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text("utf-8")
        self.elements, self.texts, self.inside = [], {}, []
        self.feed(self.source)
        data = self.texts.pop("data")
        packed = json.loads(data).get("deflated")
        self.json = zlib.decompress(base64.b64decode(packed)).decode() if packed else data
        self.data = json.loads(self.json)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag in {"script", "style"}:
            self.inside.append(attributes.get("id", tag))

    def handle_endtag(self, tag):
        if tag in {"script", "style"}:
            self.inside.pop()

    def handle_data(self, text):
        place = self.inside[-1] if self.inside else "plain"
        self.texts[place] = self.texts.get(place, "") + text

    @property
    def first_table(self):
        """The exact numbers of each line of the tables that need no JavaScript."""
        rows = (each for tag, each in self.elements if tag == "tr" and "data-value" in each)
        return [[float(row[f"data-{n}"]) for n in ("value", "low", "high")] for row in rows]

    def values(self):
        """The exact values of each metric by system, each with those of its slices."""
        results = [each["values"]["metrics"] for each in self.data["of_runs"]["result"]]
        found = (part for same in zip(*results, strict=True) for each in same for part in _whole(each))
        return [[each["value"], each["low"], each["high"]] for each in found]

    @property
    def findings(self):
        return self.data["compare"]["compared"]["findings"]

    @property
    def notes(self):
        """All remarks, as one text."""
        results = (note for each in self.data["of_runs"]["result"] for note in each["values"]["notes"])
        compared = self.data["compare"] and self.data["compare"]["compared"]["notes"]
        return "; ".join([*self.data["notes"], *results, *(compared or ())])

    def texts_of_rows(self):
        """All texts of the rows, whole."""
        cells = [cell for row in self.data["rows"] for cell in (row["question"], *row["reference"])]
        cells += [text for row in self.data["rows"] for answer in row["answers"] for text in answer["answer"]]
        cells += [judge[key] for row in self.data["rows"] for answer in row["answers"] for judge in answer["judges"]
                  for key in ("explanation",)]  # fmt: skip
        return ["".join(piece for piece, _ in cell["pieces"]) for cell in cells if cell is not None]

    @property
    def command(self):
        of = self.data["compare"] or self.data["of_runs"]["result"][0]
        return of["command"]


def _whole(entry):
    """A value, what people would see of it, and its slices."""
    people = entry.get("corrected")
    return [entry, *([people] if people and people["value"] is not None else []), *entry["groups"].values()]


def keep(name, answers, metrics=("exact_match", "token_f1"), *, by=None, **columns):
    n = len(answers)
    rows = {"id": [f"q{i:04}" for i in range(n)], "question": [f"Question {i}?" for i in range(n)], **columns}
    rows = {"gold": [["Paris", "the city of Paris"]] * n, "prediction": answers, **rows}
    return karat.score(rows, list(metrics), run=name, by=by)


def two_runs(n=60, **columns):
    rng = np.random.default_rng(1)
    kinds = np.array(["Paris", "in Paris", "Rome", None], object)
    columns = {"topic": ["north", "south", "west"] * (n // 3), **columns}
    keep("before", rng.choice(kinds, n, p=[0.3, 0.2, 0.4, 0.1]).tolist(), **columns)
    keep("after", rng.choice(kinds, n, p=[0.5, 0.2, 0.25, 0.05]).tolist(), **columns)


def test_every_figure_is_that_of_compare(tmp_path):
    two_runs()
    answer = CliRunner().invoke(main, ["report", "before", "after", "--by", "topic", "-o", f"{tmp_path}/r.html"])
    assert answer.exit_code == 0, answer.output
    page = Page(tmp_path / "r.html")
    printed = CliRunner().invoke(main, ["compare", "before", "after", "--by", "topic", "--json"])
    compared = json.loads(printed.stdout)
    assert page.command == "karat compare before after --by topic"
    assert page.data["compare"]["compared"] == compared
    assert page.first_table == [[f["difference"], f["low"], f["high"]] for f in compared["findings"]]
    for finding in compared["findings"]:
        assert f"{100 * finding['a']:.1f}" in page.texts["plain"]
        if finding["slice"] is None:
            assert finding["sentence"] in page.texts["plain"]
    stored = [json.loads((tmp_path / "runs" / name / "values.json").read_text()) for name in ("before", "after")]
    metrics = zip(*(each["metrics"] for each in stored), strict=True)
    assert page.values() == [[m["value"], m["low"], m["high"]] for pair in metrics for m in pair]
    scores = [row["answers"][0]["scores"][0] for row in page.data["rows"]]
    assert scores.count(None) == stored[0]["metrics"][0]["unscored"]
    spread = page.data["spread"][0]
    assert (sum(spread["all"]), spread["missing"]["all"]) == (60 - scores.count(None), scores.count(None))


def test_metrics_from_0_to_1_are_in_points_and_others_in_their_unit(tmp_path):
    rows = {"id": ["a", "b", "c", "d"], "prediction": ["x", "x", "x", None], "gold": ["x", "x", "y", "y"]}
    rows["seconds"] = [0.5, 1.5, 2.0, 4.0]
    karat.score(rows, ["exact_match", "column(seconds)"], run="one")
    page = Page(karat.report("one", output=tmp_path / "r.html"))
    text = page.texts["plain"]
    assert "66.7 points [" in text
    assert "50.0 to 75.0" in text
    assert "2.0000" in text
    assert "0.6667" not in text
    assert [each["scale"] for each in page.data["columns"]["metrics"]] == [100, 1]


def test_a_single_run_has_the_slices_of_its_scoring_or_of_any_column(tmp_path):
    columns = {"topic": ["north", "south"] * 20, "length": ["long"] * 10 + ["short"] * 30}
    result = keep("one", ["Paris", "Rome", None, "in Paris"] * 10, by="topic", **columns)
    page = Page(karat.report("one", output=tmp_path / "r.html", by="topic"))
    expected = [value for spec, value in result.values.items() for value in (value, *result.groups[spec].values())]
    assert page.values() == [[value.value, value.low, value.high] for value in expected]
    assert page.data["compare"] is None
    assert page.first_table == page.values()
    other = keep("other", ["Paris", "Rome", None, "in Paris"] * 10, by="length", **columns)
    page = Page(karat.report("one", output=tmp_path / "r.html", by="length", metrics="exact_match"))
    groups = [other.values["exact_match"], *other.groups["exact_match"].values()]
    assert page.values() == [[value.value, value.low, value.high] for value in groups]


def test_texts_of_others_never_become_markup(tmp_path):
    answers = [HOSTILE, "x" * 1_000_000, "\u202eParis\u2069", "Paris"]
    for name in ("<b>one</b>", "two"):
        keep("one" if name != "two" else name, answers, topic=[HOSTILE, "b", "c", "d"])
    page = Page(karat.report("one", "two", output=tmp_path / "r.html", by="topic", title=HOSTILE))
    tags = [tag for tag, _ in page.elements]
    assert "img" not in tags
    assert tags.count("script") == 2
    assert HOSTILE in page.texts_of_rows()
    assert "U+202E" in page.texts["plain"]
    (long,) = (text for row in page.data["rows"] for text in row["answers"][0]["answer"] if text["cut"])
    assert (long["length"], long["pieces"]) == (
        1_000_000,
        [["x" * 4_000, "same"]],
    )  # no word of it is in the gold, so that none is marked
    assert len(page.source) < 500_000
    assert not re.search(r"[<>&\u2028\u2029]", page.source.split('id="data">')[1].split("</script>")[0])


def test_half_a_surrogate_pair_stays_readable_json():
    packed = pack({"text": "\ud83d x", "whole": "😀"})
    assert json.loads(packed.encode().decode()) == {"text": "\ud83d x", "whole": "😀"}


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(tmp_path):
    two_runs()
    page = Page(karat.report("before", "after", output=tmp_path / "r.html"))
    (policy,) = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    sources = {
        name: base64.b64encode(hashlib.sha256(page.texts[name].encode()).digest()).decode()
        for name in ("style", "script")
    }
    assert policy.startswith("default-src 'none'; ")
    for name, digest in sources.items():
        assert f"{name}-src 'sha256-{digest}';" in policy
    assert not [a for _, a in page.elements if a.keys() & {"style", "src", "srcset"} or "href" in a]
    assert not [name for _, a in page.elements for name in a if name.startswith("on")]
    assert not re.search("innerHTML|outerHTML|insertAdjacent|document.write|localStorage|sessionStorage", page.source)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|\bimport\b[ (]", page.texts["script"])


def test_two_thousand_rows_are_under_500_kb(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(3_000)])
    one, two, gold = ([" ".join(each) for each in rng.choice(words, (2_000, size))] for size in (10, 10, 3))
    for name, answers in (("one", one), ("two", two)):
        keep(name, answers, metrics=["token_f1"], gold=gold)
    path = karat.report("one", "two", output=tmp_path / "r.html", rows=2_000)
    assert path.stat().st_size < 500_000
    page = Page(path)
    assert len(page.data["rows"]) == 2_000
    assert "All 2000 rows are here." in page.notes


def test_many_slices_with_long_names_are_under_500_kb(tmp_path):
    labels = [f"{at % 515} " + "label " * 40 for at in range(600)]
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        answers = np.where(np.array([at % 515 == 7 for at in range(600)]), "x", "Paris") if name == "two" else None
        keep(name, rng.choice(["Paris", "Rome"], 600).tolist() if answers is None else answers.tolist(), topic=labels)
    for systems in (["one"], ["one", "two"]):
        path = karat.report(*systems, output=tmp_path / f"{len(systems)}.html", by="topic", rows=2_000)
        assert path.stat().st_size < 500_000
        page = Page(path)
        assert len(page.first_table) == 2 * (1 + 40) == len(page.values() if len(systems) == 1 else page.findings)
        assert "40 of 515 slices are here" in page.notes
        labels_of_rows = [row["groups"]["topic"].split()[0] for row in page.data["rows"]]
        assert labels_of_rows == [str(at % 515) for at in range(600)]


def test_long_texts_are_cut_until_they_fit(tmp_path):
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz     "))
    for name in ("one", "two"):
        keep(name, ["".join(each) for each in rng.choice(letters, (20, 60_000))], metrics=["exact_match"])
    path = karat.report("one", "two", output=tmp_path / "r.html", rows=15)
    assert path.stat().st_size < 500_000
    page = Page(path)
    assert {len(text) for text in page.texts_of_rows()} > {4_000}
    assert {text["length"] for row in page.data["rows"] for text in row["answers"][0]["answer"]} == {60_000}
    assert "15 of 20 rows are in this file" in page.notes


WRITTEN = "zanzibar"


@pytest.mark.parametrize("role", ["prediction", "gold", "question", "id"])
def test_nothing_is_left_of_a_redacted_column(role, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["karat", "score", "--where", f"customer_{role} = '{WRITTEN}1'"])
    columns = {
        f"customer_{each}": [f"{each} {i}" for i in range(40)] for each in ("id", "question", "gold", "prediction")
    }
    columns[f"customer_{role}"] = [f"{WRITTEN}{i} is what they wrote" for i in range(40)]
    mapping = {each: f"customer_{name}" for each, name in (("prediction", "prediction"), ("reference", "gold"))}
    for name in ("one", "two"):
        karat.score({**columns, "topic": ["a", "b"] * 20}, "exact_match", map=mapping, run=name)
    on = None if role == "id" else "customer_id"
    whole = Page(karat.report("one", "two", output=tmp_path / "r.html", on=on or "customer_question"))
    assert WRITTEN in whole.source + whole.json or role in {"question", "id"}
    path = karat.report(
        "one", "two", output=tmp_path / "r.html", on="customer_id", redact=[f"customer_{role}"], by="topic"
    )
    page = Page(path)
    for text in (WRITTEN, f"customer_{role}"):
        assert text not in page.source
        assert text not in page.json
    assert page.findings
    with pytest.raises(SpecError, match="slices by"):
        karat.report("one", output=tmp_path / "r.html", redact=["topic"], by="topic")
    with pytest.raises(SpecError, match="holds the scores"):
        karat.report("one", output=tmp_path / "r.html", redact=["exact_match"])
    with pytest.raises(ColumnError, match="did you mean 'topic'"):
        karat.report("one", output=tmp_path / "r.html", redact=["topik"])


def test_without_texts_only_ids_scores_and_slices_are_there(tmp_path):
    two_runs()
    page = Page(karat.report("before", "after", output=tmp_path / "r.html", texts=False, by="topic"))
    for text in ("Question 1?", "in Paris", "Rome", "the city"):
        assert text not in page.source + page.json
    assert [row["id"] for row in page.data["rows"][:2]] == ["q0000", "q0001"]
    assert "before and after" in page.texts["plain"]
    assert "Texts are left out." in page.notes


def test_judges_explanations_and_statements_are_there_but_not_with_a_redacted_text(tmp_path, monkeypatch):
    from karat.judges import Judge
    from karat.models.testing.fake import FakeModel

    said = {"explanation": "names the river Seine", "label": "correct"}
    rows = {"question": ["Which river?"] * 3, "prediction": ["the Seine"] * 3, "gold": ["Seine"] * 3}
    for name in ("one", "two"):
        karat.score(rows | {"id": ["a", "b", "c"]}, Judge("correctness", model=FakeModel(said)), run=name)
    page = Page(karat.report("one", "two", output=tmp_path / "r.html"))
    assert "names the river Seine" in page.texts_of_rows()
    assert [row["answers"][0]["labels"] for row in page.data["rows"]] == [["correct"]] * 3
    assert {each["kind"] for each in page.data["columns"]["facets"]} == {"outcome", "label", "reason"}
    page = Page(karat.report("one", "two", output=tmp_path / "r.html", redact="gold"))
    assert "names the river" not in page.source + page.json


def test_rows_of_people_are_shown_corrected(tmp_path):
    rows = {"id": [str(i) for i in range(40)], "prediction": ["Paris", "Rome"] * 20, "gold": ["Paris"] * 40}
    people = {"id": rows["id"][:30], "label": ["good", "bad", "good"] * 10}
    result = karat.score(rows, "exact_match", run="labelled", human=people, label_map="good=1,bad=0", on="id")
    page = Page(karat.report("labelled", output=tmp_path / "r.html"))
    corrected = result.corrected["exact_match"]
    assert page.values()[1] == [corrected.value, corrected.low, corrected.high]
    assert "corrected by people (30 labels)" in page.texts["plain"]
    karat.score(rows | {"prediction": ["Paris"] * 40}, "exact_match", run="other")
    by_system = {"labelled": people, "other": people | {"label": ["good"] * 29 + ["bad"]}}
    labels = {"human": by_system, "label_map": "good=1,bad=0"}
    page = Page(karat.report("labelled", "other", output=tmp_path / "both.html", **labels))
    assert page.command == "karat compare labelled other --human LABELS --label-map good=1,bad=0"
    (finding,) = karat.compare("labelled", "other", **labels).findings
    corrected = finding.corrected
    assert page.first_table[1] == [corrected.value, corrected.low, corrected.high]
    assert finding.corrected_sentence in page.texts["plain"]


@given(st.integers(0, 40), st.integers(1, 60), st.integers(0, 5))
def test_chosen_rows_are_few_different_and_have_a_random_sample(most, n, seed):
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 1.0, np.nan], (2, n))
    choice = choose_rows([MetricScores("exact_match", scores, False)], most, seed)
    rows = choice.rows.tolist()
    assert len(rows) == len(set(rows)) == min(most, n) == sum(choice.counts.values())
    assert choice.sampled == set(np.random.default_rng(seed).permutation(n)[: len(choice.sampled)].tolist())
    differ = np.flatnonzero(np.abs(scores[1] - scores[0]) == 1)
    assert len(set(rows) & set(differ.tolist())) >= min(most // 2, len(differ))


def test_files_of_scored_rows_and_rankings_are_reported_too(tmp_path):
    rows = {"query_id": ["a", "b"], "retrieved": [["x", "y"], ["z"]], "relevant": [{"x": 2.0, "z": 0.5}, {"z": 1.0}]}
    karat.score(rows, "ndcg@2", output=tmp_path / "ranked.parquet")
    page = Page(karat.report(str(tmp_path / "ranked.parquet"), output=tmp_path / "r.html"))
    assert {"x", "y", "x (2.0)", "z (0.5)"} <= set(page.texts_of_rows())
    assert page.command is None
    with pytest.raises(DataError, match="there is no folder"):
        karat.report(str(tmp_path / "ranked.parquet"), output=tmp_path / "none" / "r.html")


def test_reports_of_nothing_and_of_rows_that_are_all_unscored(tmp_path):
    with pytest.raises(SpecError, match="at least one run"):
        karat.report(output=tmp_path / "r.html")
    with pytest.raises(SpecError, match="0 rows or more, found 1 and -1"):
        karat.report("none", output=tmp_path / "r.html", rows=-1)
    keep("none", [None] * 4)
    with pytest.raises(SpecError, match="on is for comparing runs"):
        karat.report("none", output=tmp_path / "r.html", on="id")
    keep("also", [None] * 4)
    page = Page(karat.report("none", "also", output=tmp_path / "r.html", rows=0))
    assert "nothing can be said" in page.texts["plain"]
    assert page.data["rows"] == []
