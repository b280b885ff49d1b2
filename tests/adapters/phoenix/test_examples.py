"""The examples in the documentation of the installed phoenix-evals, run as they are with another import.

An example that runs on Phoenix runs on karat: with `karat.adapters.phoenix` in place of `phoenix.evals`, and as it is
but for `evaluate_dataframe`.
"""

import contextlib
import inspect
import io
import re
import warnings
from itertools import takewhile
from textwrap import dedent

import pytest

phoenix = pytest.importorskip("phoenix.evals")
pytest.importorskip("openai")

from phoenix.evals import evaluators, utils  # noqa: E402

from karat import Governor  # noqa: E402
from karat.judges import use_governor  # noqa: E402
from karat.models.testing.fake import FakeServer  # noqa: E402

DOCUMENTED = {
    name: each
    for module in (evaluators, utils, phoenix.metrics, phoenix.llm)
    for name, each in vars(module).items()
    if not name.startswith("_") and "::" in (getattr(each, "__doc__", None) or "")
}


def examples():
    """The blocks of code in the docstrings: what is indented below a line that ends with two colons."""
    for name, each in sorted(DOCUMENTED.items()):
        lines, number = inspect.getdoc(each).splitlines(), 0
        for at, line in enumerate(lines):
            indent = len(line) - len(line.lstrip())
            below = takewhile(lambda each: not each.strip() or each.startswith(" " * (indent + 1)), lines[at + 1 :])  # noqa: B023
            code = dedent("\n".join(below)) if line.endswith("::") else ""
            if "import" in code and ">>>" not in code:
                yield pytest.param(code, id=f"{name}-{number}")
                number += 1


def runs(code):
    """Whether the code runs, as a script."""
    try:
        with warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "example", "exec"), {"__name__": "__main__", "Score": phoenix.Score})  # noqa: S102  (documentation)
    except Exception:  # noqa: BLE001  (some examples are sketches)
        return False
    return True


@pytest.fixture(scope="module")
def endpoint():
    with FakeServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "none")
        yield server


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("code", list(examples()))
def test_an_example_that_runs_on_phoenix_runs_on_karat(code, endpoint):
    if not runs(code):
        pytest.skip("it does not run on Phoenix")
    with use_governor(Governor()):
        assert runs(code.replace("phoenix.evals", "karat.adapters.phoenix"))
        own = re.sub(r"(from phoenix.evals import .*)\b((?:async_)?evaluate_dataframe)\b,? ?", r"\1", code)
        if own != code:
            names = "async_evaluate_dataframe, evaluate_dataframe"
            assert runs(f"from karat.adapters.phoenix import {names}\n{own}".replace(", \n", "\n"))


def test_there_are_many_examples():
    assert len(list(examples())) >= 20
