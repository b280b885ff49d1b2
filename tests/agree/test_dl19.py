"""TREC DL 2019 passage: fifteen real runs, equal to what was published and to trec_eval, from the files as they are."""

import gzip
import json

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.metric.spec import parse

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

FIRST = [
    "BM25.first_stage",
    "BM25_RM3.first_stage",
    "D_BERT_KD_TASB.first_stage",
    "OPEN_AI_ADA2.first_stage",
    "SPLADE_P_P_ENSEMBLE_DISTIL.first_stage",
]
SYSTEMS = FIRST + [
    f"{each.removesuffix('.first_stage')}.rankvicuna_{top}" for each in FIRST for top in ("top20", "top100")
]
NAMES = {
    "map": "average_precision(rel={rel})",
    "map_cut_100": "average_precision(rel={rel})@100",
    "recip_rank": "reciprocal_rank(rel={rel})",
    "recall_20": "recall(rel={rel})@20",
    "recall_100": "recall(rel={rel})@100",
    "ndcg_cut_10": "ndcg@10",
    "P_10": "precision(rel={rel})@10",
}


def spec_of(measure, level):
    return parse(NAMES[measure].format(rel=level)).spec


@pytest.fixture
def files(real_data):
    folder = real_data("retrieval_trec_dl19")
    return lambda system: (folder / f"run.{system}.txt.gz", folder / "qrels.dl19-passage.txt.gz")


@pytest.fixture
def figures(expected):
    return expected("retrieval_trec_dl19")["runs"]


def as_frame(file, value):
    """A run or qrels read by nothing of ours."""
    with gzip.open(file, "rt") as lines:
        fields = [line.split() for line in lines]
    numbers = [float(field[4 if value == "score" else 3]) for field in fields]
    return pd.DataFrame({"qid": [f[0] for f in fields], "docno": [f[2] for f in fields], value: numbers})


def as_dict(frame, value):
    found = {}
    for query, document, number in frame.itertuples(index=False):
        found.setdefault(query, {})[document] = number
    assert value in frame.columns
    return found


@pytest.mark.parametrize("system", SYSTEMS)
def test_means_are_trec_evals(system, files, figures):
    run, qrels = files(system)
    specs = {(m, level): spec_of(m, level) for m in figures[system]["trec_eval_l1"] for level in (1, 2)}
    result = karat.score(run, set(specs.values()), gold=qrels, keep=False)
    assert result.n == 43
    for (measure, level), spec in specs.items():
        printed = figures[system][f"trec_eval_l{level}"][measure]
        assert result.values[spec].value == pytest.approx(printed, abs=1e-9, rel=0), (measure, level)


@pytest.mark.parametrize("system", SYSTEMS[5:])
def test_published_figures_to_their_last_digit_by_the_command_line(system, files, figures):
    run, qrels = map(str, files(system))
    published = {
        spec_of(m, level): value
        for level in (1, 2)
        for m, value in figures[system][f"published_l{level}"].items()
        if (m, level) not in {("recall_20", 2), ("recall_100", 2), ("ndcg_cut_10", 2)}  # these are of level 1 in both
    }
    assert len(published) == 5
    words = [word for spec in published for word in ("-m", spec)]
    output = CliRunner().invoke(main, ["score", run, "--gold", qrels, "--json", *words])
    found = {each["spec"]: round(each["value"], 4) for each in json.loads(output.stdout)["metrics"]}
    assert found == published


@pytest.mark.parametrize("system", FIRST)
def test_every_topic_is_trec_evals(system, files, real_data):
    with gzip.open(real_data("retrieval_trec_dl19") / "per_topic_first_stage.json.gz") as stream:
        topics = json.load(stream)[system]
    run, qrels = files(system)
    specs = {measure: spec_of(measure, 1) for measure in NAMES}
    table = karat.score(run, specs.values(), gold=qrels).table
    assert sorted(table["query_id"].to_pylist()) == sorted(topics)
    for row in table.to_pylist():
        for measure, printed in topics[row["query_id"]].items():
            assert row[specs[measure]] == pytest.approx(printed, abs=5.1e-7), (row["query_id"], measure)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_preset_is_all_trec_of_version_9(system, files):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = files(system)
    graded = as_dict(as_frame(qrels, "relevance"), "relevance")
    gold = {topic: {name: int(grade) for name, grade in grades.items()} for topic, grades in graded.items()}
    found = pytrec_eval.RelevanceEvaluator(gold, {"all_trec"}).evaluate(as_dict(as_frame(run, "score"), "score"))
    result = karat.score(run, "preset:trec_eval", gold=qrels, keep=False).values.values()
    names = [name for name in next(iter(found.values())) if name not in {"runid", "relstring", "Rprec_mult_1.00"}]
    for name, ours in zip(names, result, strict=True):
        theirs = pytrec_eval.compute_aggregated_measure(name, [values[name] for values in found.values()])
        assert ours.value == pytest.approx(theirs, abs=1e-9, rel=0), name


@pytest.mark.parametrize(
    "form", ["pandas", "polars", "arrow", "rows", "csv", "tsv", "parquet", "jsonl", "dict", "json"]
)
def test_every_form_gives_what_the_files_give(form, files, tmp_path):
    def in_form(file, value):
        frame = as_frame(file, value)
        if form in {"dict", "json"}:
            data = as_dict(frame, value)
            (tmp_path / f"{value}.json").write_text(json.dumps(data))
            return data if form == "dict" else tmp_path / f"{value}.json"
        path = tmp_path / f"{value}.{form}"
        polars = pl.from_pandas(frame)
        write = {
            "csv": polars.write_csv,
            "tsv": lambda to: polars.write_csv(to, separator="\t"),
            "parquet": polars.write_parquet,
            "jsonl": polars.write_ndjson,
        }
        if form in write:
            write[form](path)
            return path
        return {"pandas": frame, "polars": polars, "arrow": polars.to_arrow(), "rows": polars.to_dicts()}[form]

    run, qrels = files("D_BERT_KD_TASB.first_stage")  # which has tied scores
    metrics = ["ndcg@10", "average_precision(rel=2)@100"]
    told = karat.score(run, metrics, gold=qrels)
    found = karat.score(in_form(run, "score"), metrics, gold=in_form(qrels, "relevance"))
    assert found.table.to_pylist() == told.table.to_pylist()
    assert found.joined["unjudged"] == told.joined["unjudged"] > 0
