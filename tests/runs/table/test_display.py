"""Tables with plots, and what a notebook shows of a result and of a comparison."""

import re
from html.parser import HTMLParser

import pytest

import karat
from karat.core.errors import MissingExtra, SpecError
from karat.runs.table.html import show
from karat.runs.table.notebook import html_table
from karat.runs.table.table import Cell, Column, Row, Table

HOSTILE = "</td><script>alert(1)</script>\u202e&\ud800\x00"


class Markup(HTMLParser):
    """The tags, the attributes and the text of markup; every tag that is opened must be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag != "wbr":
            self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_texts_of_others_stay_texts():
    row = Row((HOSTILE, HOSTILE), "worse", False, 0.5, None, 0.7)
    page = Markup(html_table(Table((Column(HOSTILE, name=True), Column(HOSTILE)), (row,)), HOSTILE))
    assert "script" not in {tag for tag, _ in page.tags}
    assert "</td><script>alert(1)</script>U+202E&U+D800U+0000" in page.text
    show(HOSTILE).encode()


def test_a_row_has_its_exact_numbers_and_its_place_on_the_plot():
    rows = (
        Row(("token_f1", Cell("0.33", "0.2 to ?")), "better", False, 1 / 3, 0.2, None),
        Row(("exact_match", "0.40"), "value", False, 0.4, 0.3, 0.4),
    )
    columns = (Column("metric", name=True), Column("value", "95 % interval"))
    with pytest.raises(ValueError, match="zip"):
        html_table(Table(columns, (Row(("token_f1",)),)), "Differences")
    page = Markup(html_table(Table(columns, rows, difference=True), "Differences"))
    row = next(attributes for tag, attributes in page.tags if tag == "tr" and attributes)
    assert row == {"class": "better", "data-value": repr(1 / 3), "data-low": "0.2"}
    interval = next(attributes for _, attributes in page.tags if attributes.get("class") == "interval")
    assert (interval["x1"], interval["x2"]) == ("50.0%", "100.0%")  # from 0 to 0.4, where the plot ends
    assert "better" in page.text


def test_a_notebook_shows_slices_mapping_bounds_and_reasons():
    rows = {"answer": ["a", "b", None, "b"], "gold": ["a"] * 4, "topic": ["x", "x", "y", HOSTILE[:-2]]}
    result = karat.score(rows, ["exact_match", "token_f1"], by="topic")
    page = Markup(result._repr_html_())
    for text in (
        "token_f1",
        "33.3",
        "points",
        "worst to best",
        "25.0 to 50.0",
        "prediction ← answer",
        "prediction is null",
    ):
        assert text in page.text
    assert "alert(1)</script>U+202E" in page.text
    assert len([tag for tag, attributes in page.tags if attributes.get("class") == "interval"]) == 6


@karat.metric(source="here", high=None, register=False)
def length(prediction: karat.kinds.Text) -> karat.kinds.Score:
    """Characters."""
    return [float(len(each)) for each in prediction.to_pylist()]


def systems():
    rows = {"id": range(40), "question": ["?"] * 40, "gold": ["yes"] * 40, "half": ["one", "two"] * 20}
    answers = (["no"] * 30 + ["yes"] * 10, ["yes"] * 36 + ["no"] * 4)
    return [karat.score({**rows, "prediction": each}, ["exact_match", length]) for each in answers]


def test_a_notebook_shows_a_comparison_with_its_figures():
    compared = karat.compare(*systems(), by="half", metrics="exact_match")
    page = Markup(compared._repr_html_())
    rows = [attributes for tag, attributes in page.tags if tag == "tr" and "data-value" in attributes]
    assert [float(row["data-value"]) for row in rows] == [each.comparison.difference for each in compared.findings]
    assert compared.findings[0].sentence in page.text
    assert re.search(r"\+\d\d\.\d", page.text)


def test_frames_hold_every_value_and_every_finding():
    pytest.importorskip("pandas")
    first, second = systems()
    frame = first.to_frame()
    assert frame.metric.tolist() == ["exact_match", "length"]
    assert frame["value"].tolist() == [value.value for value in first.values.values()]
    found = karat.compare(first, second, by="half").to_frame()
    assert len(found) == 6
    assert found.verdict[0] == "better"


def test_plots_have_a_line_for_each_finding():
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot as plt

    first, second = systems()
    compared = karat.compare(first, second, by="half")
    ax = compared.plot("exact_match")
    assert [text.get_text().strip() for text in ax.get_yticklabels()] == ["exact_match", "one", "two"]
    drawn = [line.get_xdata()[0] for line in ax.lines if line.get_marker() in {"^", "v", "o"}]
    assert drawn == [100 * each.comparison.difference for each in compared.findings if each.metric == "exact_match"]
    assert ax.get_xlabel() == "B minus A (points), 95 % interval"
    with pytest.raises(SpecError, match=r"different ranges.*exact_match; length"):
        compared.plot()
    _, own = plt.subplots()
    assert first.plot("exact_match", ax=own) is own
    assert own.get_xlabel() == "points, 95 % interval"
    assert own.lines[-1].get_xdata()[0] == 100 * first.values["exact_match"].value
    assert [(table.factor, table.columns[1].heading) for table in first.tables()] == [(100, "points"), (1, "value")]
    plt.close("all")


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match=r"Result.plot needs matplotlib: pip install 'karat\[plot\]'"):
        systems()[0].plot("exact_match")


def test_a_plot_names_metrics_in_any_spelling_and_those_that_are_not_registered():
    @karat.metric(source="ours", register=False)
    def own_length(prediction: karat.kinds.Text) -> karat.kinds.Score:
        """1 for each answer."""
        return [1.0] * len(prediction)

    result = karat.score([{"prediction": "a", "gold": "a"}], ["exact_match", "token_f1", own_length])
    rows = [row for table in result.tables(["token_f1", "own_length"]) for row in table.rows]
    assert [row.cells[0] for row in rows] == ["token_f1", "own_length"]
    with pytest.raises(
        karat.errors.SpecError, match=r"rouge_l was not scored; there are: exact_match, own_length, token_f1"
    ):
        result.tables(["rouge_l"])
