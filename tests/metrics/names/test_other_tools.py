"""Names of metrics in other tools, and other spellings of karat's own."""

import re
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.cli.main import main
from karat.core.metric.registry import all_metrics, all_presets, known_names
from karat.core.metric.spec import parse, parse_all
from karat.errors import SpecError
from karat.judges import own_judges
from karat.metrics.names.other_tools import all_names

NAMES = all_names()
NEED_MORE = ("column", "percentile", "json_schema")
KNOWN = {*known_names(), *(preset.name for preset in all_presets())}
WORD = re.compile(
    r"(?<![=\w])(?:judge:|preset:)?[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![a-z0-9=])|(?<![\w.])[a-z]+(?=\()|(?:judge|preset):[a-z]+"
)
OTHERS = {"scikit_learn", "rouge_score", "average_precision_score"}  # words of messages that are another tool's


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("EM", "em"),
        ("F1", "token_f1"),
        ("ExactMatch", "exact_match"),
        ("exact", "exact_match(normalize='squad')"),
        ("rouge1", "rouge_n"),
        ("rouge_2", "rouge_n(n=2)"),
        ("rougeL", "rouge_l"),
        ("ROUGE-Lsum", "rouge_lsum"),
        ("rougeL(score=recall)", "rouge_l(score=recall)"),
        ("bert_score", "token_similarity"),
        ("BLEU-4", "bleu"),
        ("Hit@10", "hit_rate@10"),
        ("ndcg_at_5", "ndcg@5"),
        ("ndcg_10", "ndcg@10"),
        ("ndcg_cut_10", "ndcg@10"),
        ("pass@10", "pass_at@10"),
        ("pass^4", "pass_all@4"),
        ("rbp(p=.95)", "rank_biased_precision(persistence=0.95)"),
        ("p@10", "precision@10"),
        ("precision_10", "precision@10"),
        ("MRR@10", "reciprocal_rank@10"),
        ("cosine_similarity", "semantic_similarity"),
        ("bleu_score", "bleu"),
        ("qa_f1", "token_f1"),
        ("macro_f1", "label_f(average='macro')"),
        ("accuracy_score", "label_accuracy"),
    ],
)
def test_a_common_name_is_understood(name, spec):
    assert parse(name) == parse(spec)


def test_a_benchmark_is_known_by_the_names_of_other_tools():
    assert parse_all("squad_v2") == parse_all("preset:squad")
    with pytest.raises(SpecError, match="one is expected"):
        parse("squad_v2")


@pytest.mark.parametrize("tool", sorted({each.tool for each in NAMES}))
def test_every_name_leads_to_a_metric_or_says_what_to_type(tool):
    for each in NAMES:
        if each.tool == tool:
            assert_answered(each)


def assert_answered(each):
    if each.kind in ("spec", "preset"):
        assert parse_all(each.name) == parse_all(f"preset:{each.text}" if each.kind == "preset" else each.text)
        return
    if each.kind == "same":  # karat has a metric or a benchmark of that name, which the message tells apart
        assert parse_all(each.name.lower() if each.text.startswith("squad is") else each.name)
        assert_names_exist(each.text)
        return
    with pytest.raises(SpecError) as raised:
        parse_all(each.name)
    message = str(raised.value)
    if each.kind == "judge":
        assert f"asks a language model: -m judge:{each.text}" in message
        assert each.text in {*own_judges(), "mine.toml"}
    else:
        assert message.startswith(each.name)
        assert each.text in message
        assert_names_exist(each.text)


def assert_names_exist(text):
    """What a message tells to type is there, and it tells something."""
    typed = [each for each in WORD.findall(text) if each not in OTHERS]
    words = {*typed, *(set(re.findall(r"[a-z0-9_]+", text)) & KNOWN)}
    commands = re.findall(r"karat (\w+)", text)
    assert words or commands or "--by" in text
    assert set(commands) - {"has", "lacks", "runs", "scores"} <= set(main.list_commands(None))
    for word in words:
        kind, _, name = word.rpartition(":")
        there = own_judges() if kind == "judge" else {preset.name for preset in all_presets()} if kind else KNOWN
        assert name in there, word
    for spec in re.findall(r"[a-z_0-9]+\([^()]*(?:\([^()]*\))?[^()]*\)(?:@\d+)?", text):
        name, _, rest = spec.partition("(")
        if name in KNOWN and "..." not in spec and "NO)" not in rest:
            assert parse(spec).name == parse(f"{name}({rest}").name


def test_a_name_is_in_the_table_with_one_meaning():
    meanings = {}
    for each in NAMES:
        if each.kind != "same":
            plain = re.sub(r"[^a-z0-9+^]", "", each.name.lower())
            assert meanings.setdefault(plain, (each.kind, each.text)) == (each.kind, each.text), each
    tools = {each.tool for each in NAMES}
    assert len(tools) >= 20
    assert len({each.name for each in NAMES}) > 1000


@pytest.mark.parametrize(
    ("module", "listed"),
    [
        ("sklearn.metrics", "get_scorer_names"),
        ("torchmetrics", "__all__"),
        ("torchmetrics.text", "__all__"),
        ("torchmetrics.retrieval", "__all__"),
        ("torchmetrics.classification", "__all__"),
        ("torchmetrics.regression", "__all__"),
        ("pytrec_eval", "supported_measures"),
        ("haystack.components.evaluators", "__all__"),
        ("phoenix.evals.metrics", "__all__"),
    ],
)
def test_every_metric_that_the_tool_itself_lists_is_answered(module, listed):
    pytest.importorskip(module.partition(".")[0])
    found = getattr(import_module(module), listed)
    for name in sorted(found() if callable(found) else found):
        if name in ("functional", "iprec_at_recall", "Rprec_mult", "P", "relative_P", "ndcg_cut", "map_cut"):
            continue  # trec_eval's need a number
        try:
            parse_all(name)
        except SpecError as error:
            assert "lists all" not in str(error), (module, name)  # noqa: PT017  (most names are metrics)


LABELS = ["a", "b", "c"]


@pytest.mark.parametrize(
    "name",
    ["accuracy", *(f"{kind}_{by}" for kind in ("f1", "precision", "recall") for by in ("macro", "micro", "weighted"))],
)
def test_labels_have_the_values_of_scikit_learns_scorers(name):
    scorer = import_module("sklearn.metrics").get_scorer(name)
    draw = np.random.default_rng(7)
    for _ in range(5):
        truth, guess = (draw.choice(LABELS, 60, p=[0.6, 0.3, 0.1]).tolist() for _ in range(2))
        spec = name if name == "accuracy" else f"{name}(labels={LABELS})"
        metric = parse(spec)
        ours = karat.score({"prediction": guess, "reference": truth}, metric).values[metric.spec].value
        assert ours == pytest.approx(scorer._score_func(truth, guess, **scorer._kwargs), abs=1e-12)


@pytest.mark.parametrize("name", ["brier_score_loss", "log_loss", "roc_auc_score"])
def test_confidences_have_the_values_of_scikit_learn(name):
    draw = np.random.default_rng(7)
    sure, right = draw.random(200), draw.integers(0, 2, 200)
    metric = parse(f"{name}(column(right))")
    ours = karat.score({"confidence": sure, "right": right.astype(float)}, metric).values[metric.spec].value
    assert ours == pytest.approx(getattr(import_module("sklearn.metrics"), name)(right, sure), abs=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        each.name
        for each in NAMES
        if each.tool == "torchmetrics" and each.name.startswith("Retrieval") and each.kind == "spec"
    ],
)
def test_rankings_have_the_values_of_torchmetrics(name):
    torch = pytest.importorskip("torch")
    theirs = getattr(import_module("torchmetrics.retrieval"), name)()
    draw = np.random.default_rng(7)
    rows = {"retrieved": [], "relevant": []}
    for query in range(20):
        scores, grades = draw.permutation(12) / 12 + 0.1, draw.integers(0, 2, 12) if query else np.zeros(12, int)
        theirs.update(torch.tensor(scores), torch.tensor(grades), torch.full((12,), query))
        rows["retrieved"].append([str(at) for at in np.argsort(-scores)])
        rows["relevant"].append({str(at): int(grade) for at, grade in enumerate(grades)})
    metric = parse(name)
    assert karat.score(rows, metric).values[metric.spec].value == pytest.approx(float(theirs.compute()), abs=1e-6)


def test_word_error_rates_have_the_values_of_torchmetrics():
    name = "WordErrorRate"
    theirs = pytest.importorskip("torchmetrics.text").WordErrorRate()
    draw = np.random.default_rng(7)
    guess, truth = ([" ".join(draw.choice(["the", "cat", "sat", "on"], 6)) for _ in range(20)] for _ in range(2))
    theirs.update(guess, truth)
    metric = parse(name)
    ours = karat.score({"prediction": guess, "reference": truth}, metric).values[metric.spec].value
    assert ours == pytest.approx(float(theirs.compute()), abs=1e-6)


def test_karats_own_names_are_never_translated():
    for metric in all_metrics():
        if metric.name not in NEED_MORE:
            assert parse(metric.name).name == metric.name


def test_an_unknown_name_says_where_the_names_are_in_one_line():
    with pytest.raises(SpecError, match=r"is it semantic_similarity or token_similarity") as raised:
        parse("cosine")
    assert len(str(raised.value)) < 250
    with pytest.raises(SpecError, match=r'"karat metrics" lists all \d+') as raised:
        parse("zzz")
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("BleuScorer", "did you mean 'bleu'?"),
        ("RecallMetric", "did you mean 'recall'?"),
        ("DocumentRecall", "may be recall"),
        ("GleuScorer", "gleu is not among karat's metrics"),
        ("token_f1_score_metric", "did you mean 'token_f1'?"),
        ("exact_mtach", "did you mean 'exact_match'?"),
        ("belu", "did you mean 'bleu'?"),
        ("trec_evl", "did you mean 'trec_eval'?"),
        ("mean_of_token_recall", "'token_recall'"),
        ("FaithfulnessScore", "faithfulness asks a language model: -m judge:faithfulness"),
    ],
)
def test_a_name_with_general_words_or_a_typing_error_has_a_hint(typed, hint):
    with pytest.raises(SpecError) as raised:
        parse_all(typed)
    assert hint in str(raised.value)


@pytest.mark.parametrize(
    "typed", ["mpe", "cidar", "mash", "rap", "ger", "sode", "bleach", "precise", "average_log_likelihood"]
)
def test_what_is_only_a_little_alike_has_no_hint(typed):
    with pytest.raises(SpecError, match='"karat metrics" lists all') as raised:
        parse(typed)
    assert "did you mean" not in str(raised.value)


@given(st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,30}", fullmatch=True))
def test_a_hint_shares_a_word_or_is_a_typing_error(typed):
    try:
        parse_all(typed)
    except SpecError as error:
        for hint in re.findall(r"(?:mean|or) '([a-z0-9_]+)'", str(error)):
            letters = {*typed.lower()} & {*hint}
            assert hint in KNOWN
            assert typed.lower() in hint.split("_") or len(letters) >= len({*hint.replace("_", "")}) / 2


@pytest.mark.parametrize(
    "typed", ["ndcg@-1", "bleu@-1", "rouge1@0.5", "utility.1", "recall@", "map@@5", "ndcg@k1", "pass^-2"]
)
def test_what_is_no_cutoff_is_not_read_as_one(typed):
    with pytest.raises(SpecError):
        parse_all(typed)


def test_a_run_records_karats_own_name(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prediction": "a", "reference": "a"}\n{"prediction": "b", "reference": "a"}\n')
    done = CliRunner().invoke(main, ["score", str(rows), "-m", "accuracy_score", "--json"])
    assert done.exit_code == 0, done.output
    assert '"label_accuracy"' in done.output
    assert "accuracy_score" not in done.output


@pytest.mark.parametrize("name", ["rbp.95", "RBP.95", "rbp.8", "rbp_95"])
def test_a_name_of_a_metric_that_is_defined_otherwise_is_refused_and_says_what_to_type(name):
    with pytest.raises(SpecError, match=r"multiplies by the grade.*rank_biased_precision\(persistence=0\.95\)"):
        parse(name)


@pytest.mark.parametrize(
    ("name", "hint", "value"),
    [("f1@2", "f_measure@2", 0.5), ("F1@2", "f_measure@2", 0.5), ("acc@2", "hit_rate@2", 1.0)],
)
def test_what_is_typed_after_a_hint_has_the_right_value(name, hint, value):
    with pytest.raises(SpecError, match=f"for rankings it is {hint}$"):
        parse(name)
    rows = {"retrieved": [["a", "x", "b"]], "relevant": [["a", "b"]]}  # one of two in the first two, one of two found
    assert parse(hint)(**rows).to_pylist() == [value]


def test_no_name_reads_a_cut_off_as_a_gain():
    with pytest.raises(SpecError, match=r"^ndcg\.10 is not a metric"):
        parse("ndcg.10")
    rows = {"retrieved": [["a", "x", "b"]], "relevant": [{"a": 2, "b": 1}]}
    assert parse("rbp(p=.5)")(**rows).to_pylist() == [0.625]
