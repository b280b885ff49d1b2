"""BERTScore of a layer, rescaled by a baseline: the figures of the package bert-score."""

from functools import cache, partial

import numpy as np
import pytest

from karat.core.errors import SpecError
from karat.core.metric.spec import parse
from karat.metrics import token_similarity
from karat.models.encoders.machine import Machine, use_machine

PREDICTIONS = [
    "The cat sat on the mat.",
    "Paris",
    "a budget of US $2.3 billion",
    "北京",
    "it is",
    " zebra\n",
    "the " * 40,
]
REFERENCES = ["A cat was sitting on a mat.", "The capital of France", "2.3 billion", "Beijing", "it is not", "x", "of"]
BACKENDS = {"onnx": ("onnxruntime", "onnx"), "sentence-transformers": ("sentence_transformers",)}
BASELINES = "LAYER,P,R,F\n" + "".join(f"{layer},0.{layer}1,0.{layer}22,0.{layer}5\n" for layer in range(7))


@pytest.fixture(params=BACKENDS)
def backend(request):
    for package in BACKENDS[request.param]:
        pytest.importorskip(package)
    with use_machine(Machine(request.param)):
        yield request.param


@pytest.fixture(scope="module")
def baselines(tmp_path_factory):
    file = tmp_path_factory.mktemp("baselines") / "minilm.tsv"
    file.write_text(BASELINES)
    return str(file)


@cache
def theirs(model, layers, baselines):
    """The figures of the package, and those that it rescales."""
    score = partial(
        pytest.importorskip("bert_score").score,
        *(PREDICTIONS, REFERENCES),
        model_type=model,
        num_layers=layers,
        device="cpu",
        lang="en",
    )
    return score(), score(rescale_with_baseline=True, baseline_path=baselines)


@pytest.mark.parametrize("layers", [1, 5])
def test_figures_are_those_of_bert_score(minilm, backend, baselines, layers):
    plain, rescaled = theirs(minilm, layers, baselines)
    metric = token_similarity.using(model=minilm, layers=layers)
    for part, raw, zeroed in zip(("precision", "recall", "f1"), plain, rescaled, strict=True):
        np.testing.assert_allclose(metric(PREDICTIONS, REFERENCES, part=part), raw, rtol=0, atol=1e-5)
        scores = metric(PREDICTIONS, REFERENCES, part=part, rescale=baselines)
        np.testing.assert_allclose(scores, zeroed, rtol=0, atol=3e-5)  # 1e-5 by at least 1 - 0.65


def test_several_references_count_by_the_best(minilm):
    package = pytest.importorskip("bert_score")
    lists = [[gold, "The cat sat.", "two"] for gold in REFERENCES]
    *_, f1 = package.score(PREDICTIONS, lists, model_type=minilm, num_layers=5, device="cpu")
    scores = token_similarity(PREDICTIONS, lists, model=minilm, layers=5)
    np.testing.assert_allclose(scores, f1, rtol=0, atol=1e-5)


def test_all_layers_are_the_last_one(minilm):
    last = token_similarity(PREDICTIONS, REFERENCES, model=minilm, layers=6)
    np.testing.assert_allclose(token_similarity(PREDICTIONS, REFERENCES, model=minilm), last, rtol=0, atol=1e-6)
    with pytest.raises(SpecError, match=r"layers=7: .* has 6 layers"):
        token_similarity(["a"], ["b"], model=minilm, layers=7)


def test_a_baseline_is_a_number_or_a_line_of_a_file(baselines, tmp_path):
    by_file = token_similarity.using(model="m", layers=3, rescale=baselines)
    assert by_file.definition.low == pytest.approx(-1.35 / 0.65)
    assert "|baseline=0.35" in by_file.signature
    assert parse(by_file.spec) == by_file
    by_number = token_similarity.using(model="m", rescale=0.5)
    assert by_number.definition.low == -3
    assert "|baseline" not in by_number.signature
    assert by_number.using(rescale=None) == token_similarity.using(model="m")
    with pytest.raises(SpecError, match="needs layers=N"):
        token_similarity.using(rescale=baselines)
    with pytest.raises(SpecError, match="no line for layer 7, only for 0, 1, 2"):
        token_similarity.using(rescale=baselines, layers=7)
    for wrong in (1, -1, True, [0.1]):
        with pytest.raises(SpecError, match="a number between -1 and 1"):
            token_similarity.using(rescale=wrong)
    for text in ("", "LAYER\tP\tR\tF\n1\t0.1\t0.1\t0.1\n", "LAYER,P,R,F\nx,1,1,1\n", "LAYER,P,R\n1,1,1\n"):
        (tmp_path / "other.tsv").write_text(text)
        with pytest.raises(SpecError, match=r"other\.tsv"):
            token_similarity.using(rescale=str(tmp_path / "other.tsv"), layers=1)
    with pytest.raises(SpecError, match="No such file"):
        token_similarity.using(rescale="none.tsv", layers=1)
