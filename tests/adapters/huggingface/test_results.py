"""Results as the Hub's own client reads them."""

import pytest

import karat
from karat.adapters.huggingface import write_results
from karat.core.errors import DataError, SpecError

yaml = pytest.importorskip("yaml")
ROWS = {"prediction": ["a b", "a", None], "reference": ["a b", "a c", "a"]}
BENCHMARK = {"dataset": "Idavidrein/gpqa", "task": "gpqa_diamond"}


def read(path):
    hub = pytest.importorskip("huggingface_hub", minversion="1.4")  # the first that reads results
    return hub.parse_eval_result_entries(yaml.safe_load(path.read_text("utf-8")))


def test_the_hub_reads_what_is_written(tmp_path):
    write_results(karat.score(ROWS, "exact_match"), tmp_path / "gpqa.yaml", **BENCHMARK)
    (entry,) = read(tmp_path / "gpqa.yaml")
    assert (entry.dataset_id, entry.task_id, entry.value) == ("Idavidrein/gpqa", "gpqa_diamond", 0.5)
    assert entry.notes.startswith("exact_match, 95 % interval 0.0945 to 0.9055, 2 of 3 rows, karat ")
    told = {"revision": "a1", "source": "https://acme.org/x", "user": "ada", "notes": 'say: "#1"\n- no'}
    result = karat.score(ROWS, ["exact_match", "token_f1"], run=None)
    write_results(result, tmp_path / "more.yaml", **BENCHMARK, metric="token_f1", **told)
    (entry,) = read(tmp_path / "more.yaml")
    assert (entry.value, entry.dataset_revision) == (result.values["token_f1"].value, "a1")
    assert (entry.source_url, entry.source_user, entry.notes) == ("https://acme.org/x", "ada", 'say: "#1"\n- no')


def test_a_kept_run_has_a_date(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    result = karat.score(ROWS, "exact_match", run="kept")
    write_results("kept", tmp_path / "gpqa.yaml", **BENCHMARK)
    assert read(tmp_path / "gpqa.yaml")[0].date == result.run.manifest.created


@pytest.mark.parametrize(
    ("metrics", "about", "error", "expected"),
    [
        (["exact_match", "token_f1"], {}, SpecError, "which one is the result"),
        ("exact_match", {"user": "ada"}, SpecError, "needs a source"),
        ("exact_match", {"metric": "token_f1"}, SpecError, "token_f1"),
    ],
)
def test_what_is_not_clear_is_asked(tmp_path, metrics, about, error, expected):
    with pytest.raises(error, match=expected):
        write_results(karat.score(ROWS, metrics), tmp_path / "gpqa.yaml", **BENCHMARK, **about)
    with pytest.raises(DataError, match="has no value"):
        write_results(
            karat.score({**ROWS, "prediction": [None] * 3}, "exact_match"), tmp_path / "gpqa.yaml", **BENCHMARK
        )
