import importlib.metadata
import os
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import EntryPoint

import pyarrow as pa
import pytest

from karat.core.errors import SpecError
from karat.core.metric import registry
from karat.core.metric.registry import find
from karat.core.metric.spec import parse, parse_own
from karat.core.plugins import load_own_plugin, load_plugins
from karat.runs.store.manifest import find_scores

PLUGIN = """
from karat import metric
from karat.kinds import Score, Text

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
    code = "from karat.errors import SpecError\ntry: import shouting_first\nexcept SpecError as error: print(error)"
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command, env = [sys.executable, "-c", code], {"PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert "there is a metric 'mrr' already, defined in karat.metrics.retrieval.binary" in done.stdout


@pytest.mark.parametrize("kind", ["names", "specs", "presets", "others"])
def test_a_text_is_the_spec_of_a_metric_of_its_own_only_where_it_is_written_so(kind):
    texts = {
        "names": registry.known_names(),
        "specs": [each.spec for each in registry.all_metrics()],
        "presets": [text for each in registry.all_presets() for text in (each.name, f"preset:{each.name}")],
        "others": ["P.5,10", "P@5", "recall@5", "recall@", "recall@5@6", "token_f1()", "token_f1(normalize='none')",
                   "token_f1(normalize=none)", "token_f1(nomalize=1)", "token_f1 ", "column(gpt4)", "judge:none", "a:b",
                   "judge:correctness", "pass_at(exact_match)@4", "score: x", "a, b", "(((", "", " ", "a" * 5000],
    }  # fmt: skip

    def as_before(text):
        with suppress(SpecError):
            return metric if (metric := parse(text)).spec == text else None

    found = {text: parse_own(text) for text in texts[kind]}
    assert found == {text: as_before(text) for text in texts[kind]}
    assert any(found.values()) == (kind != "presets")


def test_columns_of_a_wide_file_are_not_looked_up_among_all_metrics(fresh, monkeypatch):
    monkeypatch.setattr(registry, "all_metrics", lambda: pytest.fail("all metrics are imported"))
    names = [*(f"feature {at}" for at in range(300)), *(f"x{at}" for at in range(300)), "exact_match", "score", "f1"]
    found = find_scores(pa.schema([(name, pa.float64()) for name in names]), "wide.csv")
    assert [each.column for each in found] == ["exact_match", "f1"]
