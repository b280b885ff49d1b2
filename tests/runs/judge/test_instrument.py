"""Several judges and prompts of the same rows: what was planted is found, in Python, tables and files."""

import json
from hashlib import sha256

import numpy as np
import pytest

import karat
from karat import Governor, Judge
from karat.models.testing.fake import FakeModel
from karat.stats.reliability.components import find_components

ROWS = [{"id": f"r{n}", "question": f"q{n}", "prediction": f"a{n}"} for n in range(120)]


def number(text, most=100):
    return int(sha256(text.encode()).hexdigest(), 16) % most


@pytest.fixture
def judge(material):
    """A judge that tells rows apart by their text, a little by its name, and is kinder where its role is reworded."""

    def make(name, lenient=0):
        def reply(messages):
            text = json.dumps(material(messages))
            bar = 50 + 25 * ("exact and impartial" in messages[0]["content"]) + lenient
            label = "answered" if 0.8 * number(text) + 0.2 * number(text + name) < bar else "refused"
            return {"explanation": "…", "label": label}

        return Judge("refusal", model=FakeModel(reply, name=name), governor=Governor())

    return make


def test_a_prompt_that_is_lenient_widens_the_interval(judge):
    found = karat.examine(ROWS, judge("small"), ask=2, rewordings=["role", "layout", "reminder"])
    (one,), instrument = found.judges, found.judges[0].instrument
    assert instrument.components.levels == {"prompt": 4, "judge": 1}
    assert instrument.components.asked == (2, 1, 1, 1)
    (votes,) = [name for name in found.table.schema.names if name.endswith(".votes")]
    votes = np.array([[vote["score"] for vote in row] for row in found.table[votes].to_pylist()])
    same = find_components(votes, {"prompt": np.array([0, 0, 1, 2, 3])})
    assert instrument.components.variances == pytest.approx(same.variances)
    assert instrument.components.variances["prompt"] > 0.005
    assert instrument.components.variances["repeat"] == 0
    assert instrument.value.low < instrument.rows_alone.low < instrument.rows_alone.high < instrument.value.high
    assert any("where the prompts could be others (4 were tried)" in each for each in one.sentences)
    assert any(table.caption.startswith("What verdicts of judge:refusal") for table in found.tables())
    assert found.panel is None


def test_one_prompt_and_repetitions_have_no_facet(judge):
    found = karat.examine(ROWS, judge("small"), ask=2).judges[0].instrument
    assert found.components.facets == ()
    assert found.value == found.rows_alone
    assert karat.examine(ROWS, judge("small"), ask=1).judges[0].instrument is None


def test_several_judges_are_a_panel(judge, tmp_path):
    labels = [{"id": row["id"], "label": "answered" if number(row["prediction"]) < 60 else "refused"} for row in ROWS]
    judges = [judge("a"), judge("b"), judge("c", lenient=10)]
    found = karat.examine(ROWS, judges, ask=1, rewordings=["role", "layout"], human=labels, on="id")
    assert found.panel.judges == tuple(each.score for each in found.judges)
    assert found.panel.instrument.components.levels == {"prompt": 3, "judge": 3}
    errors = found.panel.errors
    assert 1 <= errors.effective.low < errors.effective.value < errors.effective.high <= 3
    for each, one in zip(errors.errors, found.judges, strict=True):
        assert each.value == pytest.approx(1 - found.pair(one.score).figures["accuracy"].value)
    assert found.panel.sentences[0].startswith("3 judges are about ")
    found.save(tmp_path / "found.json")
    written = json.loads((tmp_path / "found.json").read_text())
    assert written["panel"]["errors"]["effective"]["value"] == errors.effective.value
    found.save(tmp_path / "found.csv")
    assert '"judges together",,,"effective votes",' in (tmp_path / "found.csv").read_text()


def test_columns_of_judges_are_a_panel_and_judges_of_different_things_have_no_common_mean(judge):
    rows = [{**row, "x": number(row["id"]) % 2, "y": number(row["id"]) % 3 % 2} for row in ROWS]
    found = karat.examine(rows, columns=["x", "y"])
    assert found.panel.errors is None
    assert found.panel.instrument.components.levels == {"prompt": 1, "judge": 2}
    assert not found.panel.instrument.components.repeated
    other = Judge("conciseness", model=FakeModel({"explanation": "…", "label": "concise"}), governor=Governor())
    assert karat.examine(ROWS, [judge("a"), other], ask=1).panel is None
