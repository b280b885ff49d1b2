"""Names of judges without `judge:`, and those of other tools: said, never asked."""

import pytest

from karat import metric
from karat.core.columns.kinds import Score, Text
from karat.core.metric import registry
from karat.core.metric.spec import parse
from karat.errors import SpecError


@pytest.mark.parametrize(
    ("name", "judge"),
    [("faithfulness", "faithfulness"), ("Answer-Relevancy", "answer_relevance"), ("llm_judge", "correctness")],
)
def test_the_name_of_a_judge_says_what_to_type(name, judge):
    with pytest.raises(SpecError, match=f"^{name} asks a language model: -m judge:{judge} --model NAME"):
        parse(name)


def test_a_metric_of_that_name_keeps_its_own_messages(monkeypatch):
    for table in ("_metrics", "_aliases"):
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))

    @metric(source="ours")
    def groundedness(prediction: Text, *, strict: bool = False) -> Score:
        """A metric of the user's own."""

    assert parse("groundedness(strict=true)").name == "groundedness"
    with pytest.raises(SpecError, match="strct"):
        parse("groundedness(strct=true)")
