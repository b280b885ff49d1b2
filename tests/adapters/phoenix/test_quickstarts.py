"""The quickstarts of the installed phoenix-evals: every block of its README, run on Phoenix and on karat.

The blocks run in one namespace: as they are; with `karat.adapters.phoenix` in place of `phoenix.evals`; and as they are
but for `evaluate_dataframe` and `async_evaluate_dataframe`, which are karat's. Each way gives the same values. A
statement that fails on Phoenix fails likewise on karat: some name clients that are not installed, and one of 3.9 passes
a record to `exact_match`, which takes arguments.
"""

import gc
from dataclasses import fields, is_dataclass

import pytest

pytest.importorskip("phoenix.evals")
pytest.importorskip("openai")

import pandas as pd

from karat import Governor
from karat.adapters import phoenix as adapter
from karat.judges import use_governor
from karat.models.testing.fake import FakeServer

FRAMES = {name: getattr(adapter, name) for name in ("evaluate_dataframe", "async_evaluate_dataframe")}

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def run(quickstarts, *, package="phoenix.evals", **ours):
    """What each block leaves and the errors of its statements; how often the endpoint was asked.

    `ours` takes the place of what a block imports under these names.
    """
    blocks_of, run_statements = quickstarts
    names, outcomes = {}, []
    with FakeServer() as server, pytest.MonkeyPatch.context() as patch, use_governor(Governor()):
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "none")
        for block in blocks_of("arize-phoenix-evals"):
            errors = run_statements(block.replace("phoenix.evals", package), names, **ours)
            left = {name: plain(value) for name, value in names.items() if name != "__builtins__"}
            outcomes.append((left, list(map(repr, errors))))
        del errors
        names.clear()
        gc.collect()  # the clients that the quickstarts leave open, within the tests that bear their warnings
        return outcomes, server.calls


def plain(value):
    """A value without what differs from run to run: the seconds, and the identity of objects."""
    match value:
        case pd.DataFrame():
            return plain(value.to_dict("list"))
        case dict():
            return {key: plain(each) for key, each in value.items() if key != "execution_seconds"}
        case list():
            return [plain(each) for each in value]
        case str() | float() | int() | None:
            return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return type(value).__name__


@pytest.fixture(scope="module")
def control(quickstarts):
    return run(quickstarts)


@pytest.mark.parametrize("change", [{"package": adapter.__name__}, FRAMES], ids=["import", "frames"])
def test_the_quickstarts_give_on_karat_what_they_give_on_phoenix(change, control, quickstarts):
    assert run(quickstarts, **change) == control


def test_the_quickstarts_run_and_ask_the_endpoint(control):
    outcomes, calls = control
    assert sum(not errors for _, errors in outcomes) >= len(outcomes) // 2 >= 1
    assert calls >= 6
