"""Figures as files: Markdown that stays a comment, LaTeX that compiles, and rows that other tools read."""

import json
import re
import shutil
import string
import subprocess

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.core.errors import DataError
from karat.data.storage.checksums import seal
from karat.runs.table.latex import escape_latex, latex_table
from karat.runs.table.markdown import escape_markdown, fit
from karat.runs.table.table import Cell, Column, Row, Table

HOSTILE = "</summary><script>x</script> [a](http://b.c) **b** | `c` @all #12 \\ $x$ \u202e\ud800\n# d"
N = 60
RIGHT = {"main": [n % 3 == 0 for n in range(N)], "branch": [n % 5 != 1 for n in range(N)]}


def score(right, wrong="no", **more):
    rows = {
        "id": range(N),
        "topic": ["a_b", "c|d"] * (N // 2),
        "question": [f"{n}?" for n in range(N)],
        "gold": ["yes"] * N,
        "prediction": ["yes" if ok else wrong for ok in right],
    }
    return karat.score(rows, ["exact_match", "token_f1"], by="topic", **more)


@pytest.fixture(scope="module")
def compared():
    runs = [score(right, wrong=HOSTILE.replace("\ud800", "")) for right in RIGHT.values()]
    return karat.compare(*runs, by="topic", flipped=3)


def read(document, path, **options):
    document.save(path, **options)
    return path.read_text("utf-8")


def test_texts_of_others_have_no_markup_in_markdown():
    shown = escape_markdown(HOSTILE)
    assert "<script" not in shown
    assert not re.search(r"(?<!\\)[`*\[\]|$]", shown)
    assert not re.search(r"@\w|#\d|://|[\n\u202e]", shown.replace("&#8203;", "&zero;"))
    assert [escape_markdown(text) for text in ("# a", "1. b", "- c", "---", "-0.5", "0.5")] == [
        r"\# a", r"1\. b", r"\- c", r"--\-", "-0.5", "0.5",
    ]  # fmt: skip


@given(st.text(st.sampled_from([*string.punctuation, "a", " ", "\n", "\u202e"])))
def test_texts_of_others_hold_no_command_in_latex(text):
    shown = escape_latex(text)
    left = re.sub(r"\\(text\w+\{\}|[{}$&#_%])|\$\\?\w+\$|-\{\}", "", shown)
    assert not set(left) & set('\\{}$&#^_~%<>|"`\n\u202e')
    assert "--" not in shown


def test_a_comment_has_the_verdict_first_and_what_was_not_shown_folded(compared, tmp_path):
    text = read(compared, tmp_path / "out.md", percent=True)
    lines = text.splitlines()
    better = sum(each.verdict == "better" for each in compared.findings)
    assert lines[0] == f"### ▲ B against A: better in {better} of {len(compared.findings)} tests"
    shown, folded = text.split("<details>", 1)
    for finding in compared.findings:
        part = shown if finding.verdict == "better" else folded
        assert f"| {escape_markdown(finding.heading)} |" in part
        assert escape_markdown(finding.sentence) in part
    assert "| exact\\_match | 33.3 | **80.0** | +46.7 |" in shown
    assert "<summary>Rows that differ: 12</summary>" in folded
    assert text.count("<details>") == text.count("</details>") == text.count("\n\n<details>")
    assert "<script" not in text
    assert "When A was scored is not known." in text


def test_a_comment_names_the_age_of_the_first_system_and_what_is_worse(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    for name, day in (("branch", 1), ("main", 5)):
        score(RIGHT[name], run=name)
        manifest = tmp_path / name / "manifest.json"
        manifest.write_text(
            json.dumps(seal(json.loads(manifest.read_text()) | {"created": f"2026-11-0{day}T08:30:00+00:00"}))
        )
    text = read(karat.compare("branch", "main", metrics="exact_match"), tmp_path / "out.md")
    assert text.startswith("### ▼ main against branch: worse in 1 of 1 test\n")
    assert "| exact\\_match | **0.8000** | 0.3333 | −0.4667 |" in text
    assert "branch was scored on 2026-11-01 at 08:30 UTC, 4 days before main." in text


def test_a_comment_stays_below_the_longest_that_there_may_be():
    lines = list(fit(["x" * 90] * 1_000))
    assert lines[-1] == "… and 889 more"
    assert list(fit(["a"])) == ["a"]


def test_a_latex_table_marks_what_is_shown_and_what_is_not():
    rows = (
        Row(("token_f1", "0.10", Cell("0.90", strong=True), Cell("+0.80", "0.70 to 0.90", "0.10"), "0.01"), "better"),
        Row(("a&b", "0.10", "0.90", Cell("+0.80", "0.70 to 0.90", mark="†"), "0.01"), "unclear", part=True),
    )
    columns = Column("metric", name=True), Column("A"), Column("B"), Column("difference", "95 % interval"), Column("p")
    table = Table(columns, rows, notes=("Bold: better.",))
    lines = [line for line in latex_table(table) if line.endswith(r"\\")]
    assert lines[1:] == [
        r"token\_f1 & 0.10 & \textbf{0.90} & +0.80 & 0.70 to 0.90 & 0.01 \\",
        r"\quad a\&b & 0.10 & 0.90 & +0.80\rlap{$^\dagger$} & 0.70 to 0.90 & 0.01 \\",
    ]
    lines = [line for line in latex_table(table, plus_minus=True) if line.endswith(r"\\")]
    assert lines[0] == r"metric & A & B & difference $\pm$ half the 95 \% interval & p \\"
    assert lines[1] == r"token\_f1 & 0.10 & \textbf{0.90} & +0.80 $\pm$ 0.10 & 0.01 \\"


def three_systems():
    answers = {"low": [n % 6 == 0 for n in range(N)], **RIGHT}
    return [score(right, run=name) for name, right in answers.items()]


def test_a_paper_has_a_row_for_each_system_and_a_column_for_each_metric(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    three_systems()
    ranked = karat.rank("low", "main", "branch")
    text = read(ranked, tmp_path / "out.tex", percent=True, label="tab:main")
    lines = text.splitlines()
    assert lines[1:4] == [r"\begin{table}", r"\centering", r"\caption{3 systems, 60 rows}"]
    assert lines[4:6] == [r"\label{tab:main}", r"\begin{tabular}{lrr}"]
    assert r"system & exact\_match & token\_f1 \\" in lines
    best, second, last = (line for line in lines if re.match("branch|main|low", line))
    assert best.startswith(r"branch & \textbf{80.0}\textsuperscript{a} [")
    assert second.startswith(r"main & 33.3\textsuperscript{b} [")
    assert last.startswith(r"low & 16.7\textsuperscript{")
    assert lines[-1] == r"\end{table}"
    text = read(ranked, tmp_path / "out.md", percent=True)
    assert "| system | exact\\_match | token\\_f1 |\n|---|---:|---:|\n| branch | **80.0**<sup>a</sup> \\[" in text
    one = read(karat.rank("low", "main", "branch", metrics="exact_match", by="topic"), tmp_path / "one.md")
    assert "| system | exact\\_match | 95 % interval | rank | may be |" in one
    assert "| a\\_b |  |  |  |  |\n| &emsp;branch | **" in one


def test_several_systems_beside_the_first_are_rows_of_a_paper(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    three_systems()
    compared = karat.compare("main", "low", "branch", metrics="exact_match")
    interval = f"{compared._interval}".replace("%", r"\%")
    lines = read(compared, tmp_path / "out.tex", percent=True, plus_minus=True).splitlines()
    assert rf"system & exact\_match & minus main $\pm$ half the {interval} \\" in lines
    first, _, best = (line for line in lines if re.match("branch|main|low", line))
    assert first == r"main & 33.3 &  \\"
    assert best.startswith(r"branch & \textbf{80.0}\textsuperscript{+} & +46.7 $\pm$ ")
    text = read(compared, tmp_path / "out.md", percent=True)
    assert "| system | exact\\_match | minus main |" in text
    assert "| branch | **80.0**<sup>\\+</sup> | +46.7 |" in text


def test_a_label_that_latex_cannot_refer_to_is_an_error(compared, tmp_path):
    with pytest.raises(karat.errors.SpecError, match=r"label 'a\}b': expected letters, digits and : \. _ / -"):
        compared.save(tmp_path / "out.tex", label="a}b")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_tables_compile(compared, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    three_systems()
    karat.rank("low", "main", "branch", by="topic").save(tmp_path / "d.tex", percent=True, label="tab:d")
    karat.compare("main", "low", "branch", by="topic").save(tmp_path / "e.tex", plus_minus=True, label="tab:e")
    compared.save(tmp_path / "a.tex", percent=True, plus_minus=True)
    score(RIGHT["main"]).save(tmp_path / "b.tex")
    names = [HOSTILE.replace("\ud800", ""), string.punctuation, "−±·↳–…≤†--é"]
    columns = Column("metric", name=True), Column("value", "95 % interval")
    table = Table(columns, tuple(Row((name, Cell("1", "0 to 2", mark="a"))) for name in names), notes=tuple(names))
    (tmp_path / "c.tex").write_text("\n".join(latex_table(table)), "utf-8")
    inputs = "\n".join(rf"\begin{{table}}\centering\input{{{name}.tex}}\end{{table}}" for name in "abc")
    head = r"\documentclass{article}\usepackage{booktabs}\begin{document}"
    floats = r"\input{d.tex}\input{e.tex} Tables \ref{tab:d} and \ref{tab:e}."
    (tmp_path / "all.tex").write_text(f"{head}{inputs}{floats}\\end{{document}}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in (tmp_path / "all.log").read_text(errors="replace")


def test_the_other_endings_hold_the_same_figures(compared, tmp_path):
    names = [f"out{ending}" for ending in (".json", ".json.gz", ".csv", ".parquet", ".html")]
    for name in names:
        compared.save(tmp_path / name)
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads(json.dumps(compared.as_dict()))
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["p_adjusted"] for row in rows] == [each.adjusted for each in compared.findings]
    assert [row["slice"] for row in rows] == [None, "a_b", "c|d"] * 2
    assert (tmp_path / "out.csv").read_text().count("\n") == 1 + len(rows)
    page = (tmp_path / "out.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert compared._repr_html_() in page
    with pytest.raises(DataError, match=r"expected a name that ends in \.md, \.tex"):
        compared.save(tmp_path / "out.pdf")


def test_values_are_written_as_tables_and_as_rows(tmp_path):
    result = score(RIGHT["main"])
    text = read(result, tmp_path / "out.md")
    assert text.startswith("### 60 rows\n\n| metric | value | 95 % interval | n | unscored |\n")
    assert "| exact\\_match | 0.3333 |" in text
    assert "| &emsp;c\\|d | 0.3333 |" in text
    assert r"\quad a\_b & 33.3 $\pm$ 1" in read(result, tmp_path / "out.tex", percent=True, plus_minus=True)
    assert json.loads(read(result, tmp_path / "out.json")) == result.as_dict()
    result.save(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pandas().equals(result.to_frame())


def test_systems_whose_values_differ_do_not_score_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    for name, extra in (("a", "no"), ("b", "no no no no no")):
        karat.score({"id": range(8), "gold": ["yes"] * 8, "prediction": ["yes", extra] * 4}, "bleu", run=name)
    finding = karat.compare("a", "b").findings[0]
    assert finding.comparison.ties == 8
    assert finding.comparison.difference != 0
    assert finding.verdict == "unclear"
    assert "score the same" not in finding.sentence
