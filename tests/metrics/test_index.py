import subprocess
import sys

import pytest

from karat.core.metric.registry import all_metrics
from karat.metrics import index

OWN = [each for each in all_metrics() if each.definition.function.__module__.startswith("karat.metrics.")]


@pytest.mark.parametrize("metric", OWN, ids=lambda metric: metric.name)
def test_every_metric_is_found_by_name_and_alias_in_a_few_modules(metric, monkeypatch):
    home = metric.definition.function.__module__
    for name in (metric.name, *metric.definition.aliases):
        imported = []
        monkeypatch.setattr(index, "import_module", imported.append)
        index.import_metric(name)
        assert home in imported
        assert len(imported) <= 2


def test_without_source_text_all_modules_are_imported():
    code = (
        "import karat.metrics.index as index; index._sources = lambda read=index._sources: dict.fromkeys(read(), b'');"
        "from karat.metrics import exact_match; import sys;"
        "print(exact_match, 'karat.metrics.answers.label' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["exact_match", "True"]


def test_modules_of_the_package_are_no_metrics():
    code = "from karat.metrics import text; import sys; print(text.__name__, 'karat.metrics.text.match' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["karat.metrics.text", "False"]
