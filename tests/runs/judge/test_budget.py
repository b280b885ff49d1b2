"""What a budget buys, from an examination that was saved; prices by the names of judges; files that are none."""

import json

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.errors import DataError, SpecError
from karat.runs.judge.reliability.budget import Prices, plan_budget
from karat.stats.reliability.components import Components
from karat.stats.reliability.design import best_design

VARIANCES = {"row": 0.15, "prompt": 0.0004, "row × prompt": 0.02, "repeat": 0.03}
COMPONENTS = {"rows": 200, "levels": {"prompt": 5, "judge": 1}, "asked": [2, 1, 1, 1, 1], "variances": VARIANCES}
JUDGE = "judge:correctness(model='small')"


@pytest.fixture
def exam(tmp_path):
    path = tmp_path / "exam.json"
    judges = [{"score": JUDGE, "instrument": {"components": {**COMPONENTS, "negative": []}}}]
    path.write_text(json.dumps({"judges": [*judges, {"score": "f1", "instrument": None}], "panel": None}))
    return path


def test_the_design_is_the_best_one_of_the_stored_components(exam):
    components = Components(200, {"prompt": 5, "judge": 1}, (2, 1, 1, 1, 1), VARIANCES)
    plan = plan_budget(exam, 20, Prices(0.05, {"small": 0.01}))
    assert plan == {JUDGE: best_design(components, 20, question=0.05, calls={JUDGE: 0.01})}


def test_the_command_says_it_in_one_line_and_as_json(exam):
    call = ["power", "--run", str(exam), "--budget", "20", "--price-question", "0.05", "--price-call", "0.01"]
    line = CliRunner().invoke(main, call)
    assert line.exit_code == 0, line.output
    assert "200 more questions, 5 prompts, 1 verdict with each: ± 0.047 instead of ± 0.061, for $20" in line.output
    assert json.loads(CliRunner().invoke(main, [*call, "--json"]).output)[JUDGE]["questions"] == 200
    for lacking, flag in ((call[:-2], "--price-call"), (call[:5] + call[7:], "--price-question")):
        found = CliRunner().invoke(main, lacking)
        assert found.exit_code == 2
        assert f"{flag} 0." in found.output
    assert "--budget 20" in CliRunner().invoke(main, [*call[:3], "--difference", "0.1", *call[5:]]).output


def test_prices_are_of_one_judge_each():
    judges = ["judge:x(model='large')", "judge:x(model='small')"]
    assert Prices(0, {"": 0.1, "large": 1}).of_judges(judges) == {judges[0]: 1, judges[1]: 0.1}
    for calls, reason in (({"judge": 1}, "one judge"), ({"huge": 1, "": 1}, "one judge"), ({"large": 1}, "small")):
        with pytest.raises(SpecError, match=reason):
            Prices(0, calls).of_judges(judges)


def test_files_that_are_no_examination(tmp_path, exam):
    other = tmp_path / "other.json"
    for text in ("{", "[]", '{"judges": []}'):
        other.write_text(text)
        with pytest.raises(DataError, match="an examination of judges as JSON is expected"):
            plan_budget(other, 20, Prices(0.1, {"": 0.1}))
    other.write_text(exam.read_text().replace('"rows": 200', '"rows": "many"'))
    with pytest.raises(DataError, match="rows: expected a whole number"):
        plan_budget(other, 20, Prices(0.1, {"": 0.1}))
    other.write_text('{"judges": [{"score": "x", "instrument": null}], "panel": null}')
    with pytest.raises(DataError, match="each row has one verdict"):
        plan_budget(other, 20, Prices(0.1, {"": 0.1}))
    with pytest.raises(DataError, match="No such file"):
        plan_budget(tmp_path / "none.json", 20, Prices(0.1, {"": 0.1}))
