"""The namespace package under Haystack's path of integrations: its layout, stored pipelines, and what is built."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("haystack")

from haystack import Pipeline
from haystack.components import evaluators
from haystack.core.errors import DeserializationError
from haystack.core.serialization import component_to_dict

import haystack_integrations.components.evaluators.karat as integration
from karat.adapters import haystack as adapter

KINDS = [
    adapter.AnswerExactMatchEvaluator,
    adapter.DocumentMAPEvaluator,
    adapter.DocumentMRREvaluator,
    adapter.DocumentNDCGEvaluator,
    adapter.DocumentRecallEvaluator,
]
SOURCE = Path(__file__).parents[3] / "src"
STORED = """
components:
  match: {type: haystack_integrations.components.evaluators.karat.AnswerExactMatchEvaluator, init_parameters: {}}
  f1: {type: haystack_integrations.components.evaluators.karat.KaratEvaluator, init_parameters: {metric: f1}}
connections: []
"""


def test_it_has_the_names_of_the_adapter():
    assert integration.__all__ == adapter.__all__
    for name in adapter.__all__:
        assert getattr(integration, name) is getattr(adapter, name)
        assert not name.endswith("Evaluator") or getattr(adapter, name).__module__ == integration.__name__


def test_other_integrations_may_stand_beside_it():
    """A package with an `__init__` above would hide those of other distributions."""
    found = sorted(path.relative_to(SOURCE) for path in (SOURCE / "haystack_integrations").rglob("*.py"))
    assert found == [Path("haystack_integrations/components/evaluators/karat/__init__.py")]


def test_a_stored_pipeline_is_loaded_in_a_new_process_without_a_list_of_trusted_modules():
    code = (
        f"from haystack import Pipeline\npipeline = Pipeline.loads('''{STORED}''')\n"
        "print(pipeline.get_component('match').run(['a'], ['a'])['score'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "1.0\n", done.stderr
    assert Pipeline.loads(STORED) == Pipeline.loads(Pipeline.loads(STORED).dumps())


@pytest.mark.parametrize("kind", KINDS)
def test_dicts_of_haystacks_own_components_are_restored_and_the_other_way_round(kind):
    settings = {} if kind is adapter.AnswerExactMatchEvaluator else {"document_comparison_field": "meta.id"}
    theirs = component_to_dict(getattr(evaluators, kind.__name__)(**settings), "theirs")
    ours = kind(**settings).to_dict()
    assert ours["init_parameters"] == theirs["init_parameters"]
    assert kind.from_dict(theirs).to_dict() == ours
    other = KINDS[KINDS.index(kind) - 1]
    with pytest.raises(DeserializationError, match=f"can't be deserialized as '{other.__name__}'"):
        other.from_dict(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_component_is_pickled(kind):
    again = pickle.loads(pickle.dumps(kind()))  # noqa: S301
    assert type(again) is kind
    assert again.to_dict() == kind().to_dict()


def test_a_stored_pipeline_changes_sides_when_its_types_are_replaced(monkeypatch):
    pytest.importorskip("sentence_transformers")  # Haystack's SASEvaluator wants it when it is made
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    theirs = Pipeline()
    for name in {*adapter.__all__} & {*evaluators.__all__}:
        init = {"instructions": "Rude?", "inputs": [("answers", list[str])], "outputs": ["score"], "examples": []}
        theirs.add_component(name, getattr(evaluators, name)(**(init if name == "LLMEvaluator" else {})))
    stored = re.sub(
        r"haystack\.components\.evaluators\.\w+\.(?=\w+Evaluator)", f"{integration.__name__}.", theirs.dumps()
    )
    ours = Pipeline.loads(stored)
    assert ours.dumps() == stored
    assert all(type(ours.get_component(name)) is getattr(adapter, name) for name in theirs.graph.nodes)
