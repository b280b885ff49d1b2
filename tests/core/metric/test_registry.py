import importlib.metadata
import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from karat.core.errors import SpecError
from karat.core.metric import registry
from karat.core.metric.registry import find
from karat.core.plugins import load_own_plugin, load_plugins

PLUGIN = """
from karat import Score, Text, metric

@metric(source="a plugin", aliases=("shout",))
def upper_case(prediction: Text) -> Score:
    '''1 where the prediction is in upper case.'''
    return [p is not None and p.isupper() for p in prediction.to_pylist()]
"""


@pytest.fixture
def fresh(monkeypatch):
    """A registry that other tests do not see."""
    load_own_plugin()
    find("exact_match")
    monkeypatch.setattr(registry, "_metrics", dict(registry._metrics))
    monkeypatch.setattr(registry, "_aliases", dict(registry._aliases))
    load_plugins.cache_clear()
    yield
    load_plugins.cache_clear()


def installed(monkeypatch, *points):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [EntryPoint(*p, group) for p in points])


def test_a_plugins_metrics_are_found_by_name_alias_and_spec(fresh, monkeypatch, tmp_path):
    (tmp_path / "shouting.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    installed(monkeypatch, ("shouting", "shouting"))
    assert find("shout")(["HELLO", "hello", None]).to_pylist() == [1.0, 0.0, None]
    assert find("upper_case").spec == "upper_case"


def test_a_plugin_that_does_not_load_is_told_of_and_harms_nothing(fresh, monkeypatch):
    installed(monkeypatch, ("broken", "no_such_module_at_all"))
    with pytest.warns(RuntimeWarning, match="metrics of 'broken' could not be loaded"):
        failures = load_plugins()
    assert "no_such_module_at_all" in failures["broken (no_such_module_at_all)"]
    assert find("exact_match")(["a"], ["a"]).to_pylist() == [1.0]


def test_two_metrics_of_one_name_are_refused(fresh, monkeypatch, tmp_path):
    (tmp_path / "shouting_twice.py").write_text(PLUGIN.replace("shout", "em"))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        SpecError, match=r"there is a metric 'em' already, defined in karat\.metrics\.text\.match\.exact_match"
    ):
        __import__("shouting_twice")


def test_a_metric_with_a_name_of_karats_own_is_refused_though_that_one_is_not_imported_yet(tmp_path):
    (tmp_path / "shouting_first.py").write_text(PLUGIN.replace("shout", "mrr"))
    code = "from karat import SpecError\ntry: import shouting_first\nexcept SpecError as error: print(error)"
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command, env = [sys.executable, "-c", code], {"PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert "there is a metric 'mrr' already, defined in karat.metrics.retrieval.binary" in done.stdout
