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
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.cli.main import main
from karat.core.errors import ColumnError, DataError, SpecError
from karat.viewer.report.choice import MetricScores, choose_rows
from karat.viewer.report.rows import mark_answer, pack

HOSTILE = '</script><img src=x onerror="alert(1)"><!-- \u202eevil\u2028 & \x00'


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))


class Page(HTMLParser):
    """A report: its elements with their attributes, the text of each section, and the data of the rows."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text("utf-8")
        self.elements, self.texts, self.inside = [], {}, []
        self.section = "head"
        self.feed(self.source)
        data = self.texts.pop("row-data")
        packed = json.loads(data).get("deflated")
        self.json = zlib.decompress(base64.b64decode(packed)).decode() if packed else data
        self.data = json.loads(self.json)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes, self.section))
        if tag == "section":
            self.section = attributes["aria-labelledby"]
        if tag in {"script", "style"}:
            self.inside.append(attributes.get("id", tag))

    def handle_endtag(self, tag):
        if tag in {"script", "style"}:
            self.inside.pop()

    def handle_data(self, text):
        place = self.inside[-1] if self.inside else self.section
        self.texts[place] = self.texts.get(place, "") + text

    def lines(self, section):
        """The exact numbers of each line of a section's plots."""
        rows = (each for tag, each, where in self.elements if tag == "tr" and where == section)
        return [[float(row[f"data-{n}"]) for n in ("value", "low", "high")] for row in rows if "data-value" in row]


def keep(name, answers, metrics=("em", "f1"), *, by=None, **columns):
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
    assert "karat compare before after --by topic" in page.texts["provenance"]
    assert page.lines("differences") == [[f["difference"], f["low"], f["high"]] for f in compared["findings"]]
    for finding in compared["findings"]:
        shown = (f"{100 * finding['a']:.1f}", f"{finding['wins']} / {finding['losses']} / {finding['ties']}")
        assert all(text in page.texts["differences"] for text in shown)
        if finding["slice"] is None:
            assert finding["sentence"] in page.texts["head"]
            counts = f"rows won {finding['wins']}, lost {finding['losses']}; tied {finding['ties']}"
            assert counts in page.texts["distributions"]
    stored = [json.loads((tmp_path / "runs" / name / "values.json").read_text()) for name in ("before", "after")]
    metrics = zip(*(each["metrics"] for each in stored), strict=True)
    assert page.lines("values") == [[m["value"], m["low"], m["high"]] for pair in metrics for m in pair]
    assert page.data["scores"][0][0].count(None) == stored[0]["metrics"][0]["failed"]


def test_metrics_from_0_to_1_are_in_points_and_others_in_their_unit(tmp_path):
    rows = {"id": ["a", "b", "c", "d"], "prediction": ["x", "x", "x", None], "gold": ["x", "x", "y", "y"]}
    rows["seconds"] = [0.5, 1.5, 2.0, 4.0]
    karat.score(rows, ["em", "column(seconds)"], run="one")
    texts = Page(karat.report("one", output=tmp_path / "r.html")).texts
    assert "66.7 points [" in texts["head"]
    assert "50.0 to 75.0" in texts["values"]
    assert "2.0000" in texts["values"]
    assert "0.6667" not in texts["values"] + texts["head"]
    assert "exact_match 100" in texts["rows"]


def test_a_single_run_has_the_slices_of_its_scoring_or_of_any_column(tmp_path):
    columns = {"topic": ["north", "south"] * 20, "length": ["long"] * 10 + ["short"] * 30}
    result = keep("one", ["Paris", "Rome", None, "in Paris"] * 10, by="topic", **columns)
    page = Page(karat.report("one", output=tmp_path / "r.html", by="topic"))
    expected = [value for spec, value in result.values.items() for value in (value, *result.groups[spec].values())]
    assert page.lines("values") == [[value.value, value.low, value.high] for value in expected]
    assert "differences" not in page.texts
    other = keep("other", ["Paris", "Rome", None, "in Paris"] * 10, by="length", **columns)
    page = Page(karat.report("one", output=tmp_path / "r.html", by="length", metrics="em"))
    groups = [other.values["em"], *other.groups["em"].values()]
    assert page.lines("values") == [[value.value, value.low, value.high] for value in groups]


def test_texts_of_others_never_become_markup(tmp_path):
    answers = [HOSTILE, "x" * 1_000_000, "\u202eParis\u2069", "Paris"]
    for name in ("<b>one</b>", "two"):
        keep("one" if name != "two" else name, answers, topic=[HOSTILE, "b", "c", "d"])
    page = Page(karat.report("one", "two", output=tmp_path / "r.html", by="topic", title=HOSTILE))
    tags = [tag for tag, _, _ in page.elements]
    assert "img" not in tags
    assert tags.count("script") == 2
    assert HOSTILE in page.data["texts"]
    assert "U+202E" in page.texts["rows"]
    long = page.data["texts"].index("x" * page.data["limit"])
    assert page.data["lengths"] == {str(long): 1_000_000}
    assert len(page.source) < 500_000
    assert not re.search(r"[<>&\u2028\u2029]", page.source.split('id="row-data">')[1].split("</script>")[0])


def test_half_a_surrogate_pair_stays_readable_json():
    packed = pack({"text": "\ud83d x", "whole": "😀"})
    assert json.loads(packed.encode().decode()) == {"text": "\ud83d x", "whole": "😀"}


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(tmp_path):
    two_runs()
    page = Page(karat.report("before", "after", output=tmp_path / "r.html"))
    (policy,) = [a["content"] for _, a, _ in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    sources = {
        name: base64.b64encode(hashlib.sha256(page.texts[name].encode()).digest()).decode()
        for name in ("style", "script")
    }
    assert policy.startswith("default-src 'none'; ")
    for name, digest in sources.items():
        assert f"{name}-src 'sha256-{digest}';" in policy
    assert not [a for _, a, _ in page.elements if a.keys() & {"style", "src", "srcset"} or "href" in a]
    assert not [name for _, a, _ in page.elements for name in a if name.startswith("on")]
    assert not re.search("innerHTML|outerHTML|insertAdjacent|document.write|localStorage|sessionStorage", page.source)


def test_two_thousand_rows_are_under_500_kb(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(3_000)])
    one, two, gold = ([" ".join(each) for each in rng.choice(words, (2_000, size))] for size in (10, 10, 3))
    for name, answers in (("one", one), ("two", two)):
        keep(name, answers, metrics=["f1"], gold=gold)
    path = karat.report("one", "two", output=tmp_path / "r.html", rows=2_000)
    assert path.stat().st_size < 500_000
    page = Page(path)
    assert len(page.data["id"]) == 2_000
    assert "All 2000 rows are here." in page.texts["rows"]


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
        section = "values" if len(systems) == 1 else "differences"
        assert len(page.lines(section)) == 2 * (1 + 40)
        assert "40 of 515 slices are here" in page.texts[section]
        labels_of_rows = [page.data["slice"]["values"][code].split()[0] for code in page.data["slice"]["codes"]]
        assert labels_of_rows == [str(at % 515) for at in range(600)]


def test_long_texts_are_cut_until_they_fit(tmp_path):
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz     "))
    for name in ("one", "two"):
        keep(name, ["".join(each) for each in rng.choice(letters, (20, 60_000))], metrics=["em"])
    path = karat.report("one", "two", output=tmp_path / "r.html", rows=15)
    assert path.stat().st_size < 500_000
    page = Page(path)
    assert page.data["limit"] == 4_000
    assert set(page.data["lengths"].values()) == {60_000}
    assert "15 of 20 rows are in this file" in page.texts["rows"]


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
        karat.score({**columns, "topic": ["a", "b"] * 20}, "em", map=mapping, run=name)
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
    assert page.lines("differences")
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
    assert page.data["id"][:2] == ["q0000", "q0001"]
    assert "before and after" in page.texts["head"]
    assert "Texts are left out." in page.texts["rows"]


def test_judges_explanations_and_statements_are_there_but_not_with_a_redacted_text(tmp_path, monkeypatch):
    from karat.judges import Judge
    from karat.models.testing.fake import FakeModel

    said = {"explanation": "names the river Seine", "label": "correct"}
    rows = {"question": ["Which river?"] * 3, "prediction": ["the Seine"] * 3, "gold": ["Seine"] * 3}
    for name in ("one", "two"):
        karat.score(rows | {"id": ["a", "b", "c"]}, Judge("correctness", model=FakeModel(said)), run=name)
    page = Page(karat.report("one", "two", output=tmp_path / "r.html"))
    assert "names the river Seine" in page.data["texts"]
    assert [page.data["texts"][at] for at in page.data["labels_listed"]] == ["correct"]
    page = Page(karat.report("one", "two", output=tmp_path / "r.html", redact="gold"))
    assert "names the river" not in page.source + page.json


def test_rows_of_people_are_shown_corrected(tmp_path):
    rows = {"id": [str(i) for i in range(40)], "prediction": ["Paris", "Rome"] * 20, "gold": ["Paris"] * 40}
    people = {"id": rows["id"][:30], "label": ["good", "bad", "good"] * 10}
    result = karat.score(rows, "em", run="labelled", human=people, label_map="good=1,bad=0", on="id")
    page = Page(karat.report("labelled", output=tmp_path / "r.html"))
    corrected = result.corrected["exact_match"]
    assert page.lines("values")[1] == [corrected.value, corrected.low, corrected.high]
    assert "corrected by people (30 labels)" in page.texts["values"]
    karat.score(rows | {"prediction": ["Paris"] * 40}, "em", run="other")
    by_system = {"labelled": people, "other": people | {"label": ["good"] * 29 + ["bad"]}}
    labels = {"human": by_system, "label_map": "good=1,bad=0"}
    page = Page(karat.report("labelled", "other", output=tmp_path / "both.html", **labels))
    assert "karat compare labelled other --human LABELS --label-map good=1,bad=0" in page.texts["provenance"]
    (finding,) = karat.compare("labelled", "other", **labels).findings
    corrected = finding.corrected
    assert page.lines("differences")[1] == [corrected.value, corrected.low, corrected.high]
    assert finding.corrected_sentence in page.texts["head"]


@settings(max_examples=30)
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_marks_cover_the_answer_in_the_units_of_a_browser(answer, gold, other):
    marks = mark_answer(answer, [gold], [other])
    assert not marks or 2 * sum(marks[::2]) == len(answer.encode("utf-16-le", "surrogatepass"))
    assert all(kind in {0, 1, 2, 3} for kind in marks[1::2])
    assert not mark_answer(answer, [answer], [answer])


@given(st.integers(0, 40), st.integers(1, 60), st.integers(0, 5))
def test_chosen_rows_are_few_different_and_have_a_random_sample(most, n, seed):
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 1.0, np.nan], (2, n))
    choice = choose_rows([MetricScores("em", scores, False)], most, seed)
    rows = choice.rows.tolist()
    assert len(rows) == len(set(rows)) == min(most, n) == sum(choice.counts.values())
    assert choice.sampled == set(np.random.default_rng(seed).permutation(n)[: len(choice.sampled)].tolist())
    differ = np.flatnonzero(np.abs(scores[1] - scores[0]) == 1)
    assert len(set(rows) & set(differ.tolist())) >= min(most // 2, len(differ))


def test_files_of_scored_rows_and_rankings_are_reported_too(tmp_path):
    rows = {"query_id": ["a", "b"], "retrieved": [["x", "y"], ["z"]], "relevant": [{"x": 2.0, "z": 0.5}, {"z": 1.0}]}
    karat.score(rows, "ndcg@2", output=tmp_path / "ranked.parquet")
    page = Page(karat.report(str(tmp_path / "ranked.parquet"), output=tmp_path / "r.html"))
    assert {"x, y", "x (2.0)", "z (0.5)"} <= set(page.data["texts"])
    assert "karat runs show" not in page.texts["provenance"]
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
    assert "nothing can be said" in page.texts["head"]
    assert page.data["id"] == []
