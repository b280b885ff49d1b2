"""Phoenix's own tests pass on the adapter but for the accepted ones; run where a copy of them stands beside karat."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
THEIRS = ROOT.parent / "shared" / "suites" / "phoenix-evals" / "packages" / "phoenix-evals" / "tests"


@pytest.fixture(scope="module")
def script():
    spec = spec_from_file_location("phoenix_suite", ROOT / "scripts" / "phoenix_suite.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_imports_are_rewritten_name_by_name(script):
    names = "(\n        ConcisenessEvaluator as C,\n        no_such,\n    )"
    source = f"    from phoenix.evals.metrics.conciseness import {names}\n"
    assert script.rewrite("if True:\n" + source + "import phoenix.evals\n") == (
        "if True:\n"
        "    from karat.adapters.phoenix.metrics.conciseness import ConcisenessEvaluator as C\n"
        "    from phoenix.evals.metrics.conciseness import no_such\n"
        "import phoenix.evals\n"
    )
    assert len(script.ACCEPTED) <= 5


@pytest.mark.skipif(not THEIRS.is_dir(), reason="no copy of Phoenix's tests")
def test_the_tests_of_phoenix_pass(script):
    pytest.importorskip("phoenix.evals")
    control, results = (script.run(THEIRS, rewritten=rewritten) for rewritten in (False, True))
    assert len(results) > 500
    assert {test for test, passes in results.items() if control[test] and not passes} == script.ACCEPTED.keys()
