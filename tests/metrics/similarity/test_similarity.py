"""Similarity of meaning: the values of other libraries, each text encoded once, unscored rows with a reason."""

import json
import pickle
import sqlite3
import threading
from contextlib import closing
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat.core.errors import RowError, SpecError
from karat.core.metric.score import score_rows
from karat.core.metric.spec import parse
from karat.metrics import cross_similarity, semantic_similarity, token_similarity
from karat.models.encoders.machine import Machine, use_machine

PREDICTIONS = ["The cat sat on the mat.", "Paris", "a construction budget of US $2.3 billion", "北京", "it is"]
REFERENCES = ["A cat was sitting on a mat.", "The capital of France", "2.3 billion dollars", "Beijing", "it is not"]
BACKENDS = {"onnx": ("onnxruntime", "onnx"), "sentence-transformers": ("sentence_transformers",)}
BATTERY = ["a b c", "cab", "b", "zebra fed a cab", "q w e r t y u i o p", "deaf"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    for package in BACKENDS[request.param]:
        pytest.importorskip(package)
    with use_machine(Machine(request.param)):
        yield request.param


class Letters:
    """A model that records its inputs."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked += texts
        return [[text.count(letter) for letter in "abc"] for text in texts]


@cache
def sentence_model(path):
    return pytest.importorskip("sentence_transformers").SentenceTransformer(path, device="cpu")


def test_bi_encoder_scores_as_sentence_transformers_does(minilm, backend):
    library = pytest.importorskip("sentence_transformers")
    model = sentence_model(minilm)
    expected = library.util.pairwise_cos_sim(model.encode(PREDICTIONS), model.encode(REFERENCES))
    scores = semantic_similarity(PREDICTIONS, REFERENCES, model=minilm)
    np.testing.assert_allclose(scores, expected.numpy(), rtol=0, atol=1e-5)


def test_the_best_of_several_references_is_taken(minilm):
    lists = [
        [reference, "something else", prediction] for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True)
    ]
    scores = semantic_similarity(PREDICTIONS, lists, model=minilm)
    np.testing.assert_allclose(scores, 1, atol=1e-6)


def test_prompt_and_length_are_settings_of_the_model_too(minilm, backend, monkeypatch):
    model = sentence_model(minilm)
    monkeypatch.setattr(model, "max_seq_length", 5)
    left, right = model.encode(PREDICTIONS, prompt="query: "), model.encode(REFERENCES, prompt="query: ")
    metric = semantic_similarity.using(model=minilm, prompt="query: ", max_length=5)
    with pytest.warns(UserWarning, match="at most 5 tokens"):
        scores = metric(PREDICTIONS, REFERENCES)
    np.testing.assert_allclose(scores, (left * right).sum(axis=1), rtol=0, atol=1e-5)


def test_texts_longer_than_the_window_are_reported(minilm, backend):
    rows = {"prediction": ["short", "word " * 300], "reference": ["a", "b"]}
    metric = semantic_similarity.using(model=minilm)
    for _ in range(2):  # the second time its vector comes from the store
        with pytest.warns(UserWarning, match="256 tokens"):
            result = karat.score(rows, metric)
        assert result.table[f"{metric.spec}.truncated"].to_pylist() == [False, True]
        assert result.counts[metric.spec]["truncated"] == {"false": 1, "true": 1}


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_empty_texts_are_unscored_with_the_reason(blank):
    columns = {"prediction": pa.array([blank, "a", "a", None]), "reference": pa.array(["a", blank, "a", "a"])}
    rows = score_rows(semantic_similarity.using(model=Letters()), columns)
    assert rows.reasons.tolist() == ["prediction is empty", "reference is empty", None, "prediction is null"]
    assert rows.scored.tolist() == [False, False, True, False]


def test_each_distinct_text_is_encoded_once():
    letters = Letters()
    semantic_similarity(["a", "b", "a", "b"] * 50, [["a", "c"], ["c", "b"]] * 100, model=letters)
    assert sorted(letters.asked) == ["a", "b", "c"]


def test_a_second_run_encodes_nothing(minilm, cache, monkeypatch):
    from karat.models.encoders.local import LocalEncoder

    metric = semantic_similarity.using(model=minilm)
    first = metric(PREDICTIONS, REFERENCES)
    monkeypatch.setattr(LocalEncoder, "encode", lambda *_: pytest.fail("it was kept"))
    assert metric(REFERENCES, PREDICTIONS).to_pylist() == first.to_pylist()
    with closing(sqlite3.connect(cache)) as db:
        assert db.execute("SELECT count(*) FROM vectors").fetchone() == (10,)


def test_threads_may_share_a_model(minilm):
    metric, found = semantic_similarity.using(model=minilm), []
    threads = [threading.Thread(target=lambda: found.append(metric(PREDICTIONS, REFERENCES))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(each.to_pylist() == found[0].to_pylist() for each in found)


def test_the_result_of_a_callable_is_checked():
    with pytest.raises(RowError, match=r"shape \(1, 3\) for 2 texts"):
        semantic_similarity(["a"], ["b"], model=lambda _: [[1, 2, 3]])
    with pytest.raises(SpecError, match="no range"):
        semantic_similarity(["aab"], ["aab"], model=Letters(), normalize=False)
    columns = {"prediction": pa.array(["xyz"]), "reference": pa.array(["a"])}
    rows = score_rows(semantic_similarity.using(model=Letters()), columns)
    assert rows.reasons.tolist() == ["the model gives no score for one of the texts"]


@pytest.mark.parametrize("metric", [semantic_similarity, cross_similarity, token_similarity], ids=lambda m: m.name)
def test_a_model_has_to_be_named(metric):
    with pytest.raises(SpecError, match="a model is needed"):
        metric(["a"], ["b"])
    named = metric.using(model="a/b", revision="main", max_length=8, dtype="bfloat16")
    assert parse(named.spec) == named == pickle.loads(pickle.dumps(named))  # noqa: S301


@pytest.mark.parametrize("metric", [semantic_similarity, cross_similarity, token_similarity], ids=lambda m: m.name)
def test_what_changes_scores_is_in_the_signature(metric):
    named = metric.using(model="a/b")
    for setting in ({"dtype": "bfloat16"}, {"max_length": 5}, {"revision": "main"}):
        assert named.using(**setting).signature != named.signature


def test_an_endpoint_may_have_another_model_of_the_same_name():
    named = semantic_similarity.using(model="a/b")
    assert named.using(endpoint=True).signature != named.signature


def test_cross_encoder_scores_as_sentence_transformers_does(cross_encoder, backend):
    library, folder = pytest.importorskip("sentence_transformers"), cross_encoder()
    expected = library.CrossEncoder(folder, device="cpu").predict(list(zip(BATTERY, BATTERY[::-1], strict=True)))
    scores = cross_similarity(BATTERY, BATTERY[::-1], model=folder)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)
    assert np.ptp(expected) > 0.01


def test_the_score_of_a_pair_does_not_depend_on_other_pairs(cross_encoder, backend):
    folder = cross_encoder(activation="torch.nn.modules.linear.Identity", scale=5.0)  # logits above and below 1
    metric = cross_similarity.using(model=folder)
    alone = [metric([predicted], [gold])[0].as_py() for predicted, gold in zip(BATTERY, BATTERY[::-1], strict=True)]
    logits = np.log(np.array(alone) / (1 - np.array(alone)))
    assert logits.max() > 1
    assert logits.min() < 0.5
    for company in (slice(None), slice(0, 3), slice(2, 5)):
        with use_machine(Machine(backend, batch_size=2)):
            scores = metric(BATTERY[company], BATTERY[::-1][company])
        np.testing.assert_allclose(scores, alone[company], rtol=0, atol=1e-6)


def test_bi_encoders_and_cross_encoders_are_distinguished(minilm, cross_encoder):
    with pytest.raises(SpecError, match=r"bi-encoder: use semantic_similarity\(model="):
        cross_similarity(["a"], ["b"], model=minilm)
    with pytest.raises(SpecError, match=r"cross-encoder: use cross_similarity\(model="):
        semantic_similarity(["a"], ["b"], model=cross_encoder())
    with pytest.raises(SpecError, match="3 numbers"):
        cross_similarity(["a"], ["b"], model=cross_encoder(labels=3))
    with pytest.raises(SpecError, match="activation Tanh"):
        cross_similarity(["a"], ["b"], model=cross_encoder(activation="torch.nn.modules.activation.Tanh"))


@cache
def bert_score(path):
    """BERTScore's arithmetic on the last layer: idf weights of 1, 0 for the tokens that begin and end a text."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    model, tokenizer = (
        transformers.AutoModel.from_pretrained(path).eval(),
        transformers.AutoTokenizer.from_pretrained(path),
    )
    found = []
    for left, right in zip(PREDICTIONS, REFERENCES, strict=True):
        sides = []
        for text in (left, right):
            read = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True, truncation=True)
            weights = 1 - read.pop("special_tokens_mask")[0]
            with torch.inference_mode():
                hidden = model(**read).last_hidden_state[0]
            sides.append((hidden / hidden.norm(dim=-1, keepdim=True), weights / weights.sum()))
        (x, x_weights), (y, y_weights) = sides
        cosines = x @ y.T
        precision = (cosines.max(dim=1).values * x_weights).sum().item()
        recall = (cosines.max(dim=0).values * y_weights).sum().item()
        found.append((precision, recall, 2 * precision * recall / (precision + recall)))
    return np.array(found).T


def test_token_similarity_is_bert_score(minilm, backend):
    for part, values in zip(("precision", "recall", "f1"), bert_score(minilm), strict=True):
        scores = token_similarity(PREDICTIONS, REFERENCES, model=minilm, part=part)
        np.testing.assert_allclose(scores, values, rtol=0, atol=1e-5)


def test_a_text_is_most_like_itself(minilm):
    for metric in (semantic_similarity, token_similarity):
        assert metric(PREDICTIONS, PREDICTIONS, model=minilm).to_pylist() == pytest.approx([1] * 5, abs=1e-6)


def test_other_dtypes_are_close(minilm):
    pytest.importorskip("sentence_transformers")
    with use_machine(Machine("sentence-transformers")):
        whole = semantic_similarity(PREDICTIONS, REFERENCES, model=minilm).to_pylist()
    half = semantic_similarity(PREDICTIONS, REFERENCES, model=minilm, dtype="bfloat16").to_pylist()
    assert half == pytest.approx(whole, abs=0.02)
    assert half != whole


def test_progress_is_reported_while_rows_are_scored(minilm):
    told = []
    rows = {"prediction": PREDICTIONS * 200, "reference": [[r, str(i)] for i, r in enumerate(REFERENCES * 200)]}
    karat.score(rows, semantic_similarity.using(model=minilm), progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (1000, 1000)
    assert len(told) > 2
    assert told == sorted(told)


def test_the_command_line_takes_a_model(minilm, tmp_path):
    from click.testing import CliRunner

    from karat.cli.main import main

    file = tmp_path / "data.jsonl"
    rows = [
        {"prediction": predicted, "reference": gold} for predicted, gold in zip(PREDICTIONS, REFERENCES, strict=True)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    made = CliRunner().invoke(main, ["score", str(file), "-m", f"semantic_similarity(model={minilm!r})"])
    assert made.exit_code == 0, made.output
    assert "semantic_similarity" in made.output
