"""Phoenix's modules under the name of the adapter, and releases that are newer than those tested."""

import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module, metadata

import pytest

from karat.adapters import phoenix as ours
from karat.adapters.phoenix.modules import load_evals
from karat.errors import MissingExtra

phoenix = pytest.importorskip("phoenix.evals")

OWN = {"evaluate_dataframe", "async_evaluate_dataframe", "bind_evaluator", "to_annotation_dataframe"}


def modules():
    homes = [phoenix, phoenix.llm, phoenix.metrics]
    found = [f"{home.__name__}.{each.name}" for home in homes for each in pkgutil.iter_modules(home.__path__)]
    return [name for name in found if not name.endswith(("adapters", "__generated__"))]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", modules())
def test_every_name_of_every_module_is_phoenix_s_but_those_that_karat_extends(name):
    theirs = import_module(name)
    mine = import_module(name.replace("phoenix.evals", "karat.adapters.phoenix"))
    for each in getattr(theirs, "__all__", [each for each in dir(theirs) if not each.startswith("_")]):
        value = getattr(mine, each)
        if each in OWN:
            assert value is getattr(ours, each)
        elif not isinstance(value, type(sys)):
            assert value is getattr(theirs, each)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_names_of_the_package_and_of_its_modules():
    for name in phoenix.__all__:
        assert getattr(ours, name) is not None or name == "templating"
    assert set(phoenix.__all__) <= set(dir(ours))
    assert ours.show_provider_availability is phoenix.llm.show_provider_availability
    assert ours.PromptTemplate is phoenix.llm.PromptTemplate
    from karat.adapters.phoenix.metrics.exact_match import exact_match

    assert exact_match is ours.exact_match is ours.metrics.exact_match is phoenix.metrics.exact_match
    with pytest.raises(ImportError):
        import_module("karat.adapters.phoenix.metrics.no_such")
    assert pickle.loads(pickle.dumps(ours.Score(name="a"))) == phoenix.Score(name="a")  # noqa: S301


def test_the_client_s_modules_are_there_too():
    client = pytest.importorskip("phoenix.client")
    from karat.adapters.phoenix.client import Client
    from karat.adapters.phoenix.client.experiments import run_experiment

    assert Client is client.Client
    assert run_experiment is import_module("phoenix.client.experiments").run_experiment


def test_a_newer_release_warns_once_and_works(monkeypatch):
    load_evals.cache_clear()
    monkeypatch.setattr(metadata, "version", lambda package: "99.1")
    with pytest.warns(UserWarning, match=r"arize-phoenix-evals 99\.1 is newer than 3\.\d+"):
        evals = load_evals()
    assert load_evals() is evals is phoenix, "a second warning would be an error"


def test_without_the_package_the_error_names_the_extra():
    code = "import sys; sys.modules['phoenix.evals'] = None; import karat.adapters.phoenix as p; p.exact_match"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert MissingExtra.__name__ in done.stderr
    assert "karat[phoenix]" in done.stderr
