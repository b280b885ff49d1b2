"""Support by contexts: the values of sentence-transformers, windows of long contexts, labels, what is not scored."""

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.cli.main import main
from karat.core.errors import RowError, SpecError
from karat.core.metric.score import score_rows
from karat.metrics import supported
from karat.metrics.support.entailment import Entailment, cut_windows, find_label, to_probabilities
from karat.models.encoders.encoder import Choice
from karat.models.encoders.machine import Machine, use_machine

BACKENDS = {"onnx": ("onnxruntime", "onnx"), "sentence-transformers": ("sentence_transformers",)}
NLI = ("contradiction", "entailment", "neutral")
PASSAGES = ["a b c d", "c a b", "q w e r t y", "z e b r a"]
CLAIMS = ["a b", "f e d", "z", "a c e g"]
PAIRS = [(passage, claim) for passage in PASSAGES for claim in CLAIMS]


@pytest.fixture(params=BACKENDS)
def backend(request):
    for package in BACKENDS[request.param]:
        pytest.importorskip(package)
    with use_machine(Machine(request.param)):
        yield request.param


def has(pairs):
    """A passage supports a sentence that is in it."""
    return [float(claim.strip(".").lower() in passage.lower()) for passage, claim in pairs]


def predicted(folder, pairs, **how):
    library = pytest.importorskip("sentence_transformers")
    return library.CrossEncoder(folder, device="cpu").predict(pairs, **how)


@pytest.mark.parametrize(
    ("names", "label", "place"),
    [(NLI, None, 1), (("not_entailment", "entailment"), None, 1), ((), 1, 1), (("Refuted", "Supported"), None, 1)],
)
def test_classes_are_those_of_sentence_transformers(cross_encoder, backend, names, label, place):
    folder = cross_encoder(labels=len(names) or 2, names=names, scale=3.0)
    expected = predicted(folder, PAIRS, apply_softmax=True)[:, place]
    found = Entailment(Choice(folder), label, "en")(PAIRS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert np.ptp(expected) > 0.05


def test_one_logit_is_that_of_sentence_transformers(cross_encoder, backend):
    folder = cross_encoder(scale=3.0)
    found = Entailment(Choice(folder), None, "en")(PAIRS)
    np.testing.assert_allclose(found, predicted(folder, PAIRS), rtol=0, atol=1e-5)


def test_the_share_is_that_of_the_sentences_that_are_likely_enough(cross_encoder, backend):
    folder = cross_encoder(labels=3, names=NLI, scale=3.0)
    answer = " ".join(f"{claim.capitalize()} [1]." for claim in CLAIMS)
    grid = [(passage, f"{claim.capitalize()}.") for claim in CLAIMS for passage in PASSAGES]
    highest = predicted(folder, grid, apply_softmax=True)[:, 1].reshape(4, 4).max(axis=1)
    threshold = float(np.median(highest))
    metric = supported.using(model=folder, threshold=threshold)
    (row,) = karat.score([{"prediction": answer, "contexts": PASSAGES}], metric).table.to_pylist()
    assert row[metric.spec] == 0.5
    first = int(np.argmax(highest < threshold))
    assert row[f"{metric.spec}.unsupported"] == f"{CLAIMS[first].capitalize()} [1]."
    assert row[f"{metric.spec}.probability"] == pytest.approx(highest[first], abs=1e-5)


def test_a_long_passage_is_read_in_windows_of_sentences(cross_encoder, backend):
    folder = cross_encoder(labels=3, names=NLI, scale=3.0)  # it reads 32 tokens, 3 of them special
    sentences = ["A b c d e f g h i!", "J k l m n o p!", "Q r s t u v w x!", "Y z a b c!"]
    windows = [" ".join(sentences[:2]), " ".join(sentences[2:])]  # of 10 + 8 and 9 + 6 tokens: 25 have room
    expected = predicted(folder, [(window, "C a b d") for window in windows], apply_softmax=True)[:, 1]
    found = Entailment(Choice(folder), None, "en")
    assert found([(" ".join(sentences), "C a b d")]) == pytest.approx([expected.max()], abs=1e-5)
    assert not found.cut


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.integers(1, 12))
def test_windows_hold_all_tokens_in_order_and_are_full(lengths, room):
    sentences = [" ".join("abcdefghi"[:length]) for length in lengths]
    text = " ".join(sentences)
    ends = [at + 1 for at, char in enumerate(text) if char != " "]
    stops = np.cumsum([len(sentence) + 1 for sentence in sentences]).tolist()
    windows = cut_windows(text, ends, stops, room)
    assert " ".join(windows).split() == text.split()
    sizes = [len(window.split()) for window in windows]
    assert max(sizes) <= room
    borders = set(np.cumsum(lengths))
    for at, end in enumerate(np.cumsum(sizes).tolist()):
        start = end - sizes[at]
        later = [border for border in borders if start < border <= start + room]
        assert end == (max(later) if later else min(start + room, len(ends)))


def test_a_sentence_longer_than_the_window_is_cut_and_reported(cross_encoder, backend):
    metric = supported.using(model=cross_encoder(labels=3, names=NLI), threshold=0.0)
    rows = {"prediction": ["a b", "a " * 40], "contexts": [["a b c"], ["a b " * 40]]}
    with pytest.warns(UserWarning, match="at most 32 tokens"):
        result = karat.score(rows, metric)
    assert result.table[f"{metric.spec}.truncated"].to_pylist() == [False, True]
    assert result.table[metric.spec].to_pylist() == [1, 1]


def test_contexts_count_each_alone_or_all_together():
    def model(pairs):
        return [float(set(claim.strip(".").split()) <= set(passage.split())) for passage, claim in pairs]

    answer, contexts = ["Pigs fly. Rain falls."], [["Pigs", None, "fly", "Rain falls here"]]
    assert supported(answer, contexts, model=model).to_pylist() == [0.5]
    assert supported(answer, contexts, model=model, combine="join").to_pylist() == [1]


def test_each_pair_is_asked_once_and_a_blank_context_never():
    asked = []

    def model(pairs):
        asked.extend(pairs)
        return has(pairs)

    rows = 600
    scores = supported(["Rain falls. Rain falls [1]."] * rows, [["rain falls", " ", "x", "x"]] * rows, model=model)
    assert scores.to_pylist() == [1] * rows
    assert sorted(asked) == sorted([("rain falls", "Rain falls."), ("x", "Rain falls.")] * 3)  # once in each part


def test_what_is_not_scored_has_a_reason():
    columns = {
        "prediction": pa.array(["", " [1]. ", None, "a", "a", "nan."]),
        "contexts": pa.array([["a"], ["a"], ["a"], None, [], ["a"]]),
    }
    rows = score_rows(supported.using(model=lambda pairs: [np.nan if "nan" in c else 1 for _, c in pairs]), columns)
    nothing, failed = "prediction has no sentence", "the model gives no probability for one of the sentences"
    assert rows.reasons.tolist() == [nothing, nothing, "prediction is null", "contexts is null", None, failed]
    assert rows.statistics[4, 0] == 0  # no context, so none supports it


def test_what_a_function_returns_is_checked():
    with pytest.raises(RowError, match=r"shape \(1, 1\) for 1 pairs"):
        supported(["a"], [["b"]], model=lambda _: [[1]])
    with pytest.raises(RowError, match=r"returned 2: expected probabilities"):
        supported(["a"], [["b"]], model=lambda _: [2])


def test_the_output_that_means_support_is_found_or_asked_for(cross_encoder):
    assert [find_label(NLI, label, "m") for label in (None, "Neutral", 0)] == [1, 2, 0]
    assert find_label(["LABEL_0"], None, "m") == 0
    for labels, label in ((["LABEL_0", "LABEL_1"], None), (["entailment", "supported"], None), (NLI, "yes"), (NLI, 3)):
        with pytest.raises(SpecError, match=r"which output of m .* 0: '.*', 1: '.*label= takes a name or a number"):
            find_label(labels, label, "m")
    with pytest.raises(SpecError, match="0: 'LABEL_0', 1: 'LABEL_1'"):
        supported(["a"], [["b"]], model=cross_encoder(labels=2))
    with pytest.raises(SpecError, match="activation Tanh"):
        supported(["a"], [["b"]], model=cross_encoder(activation="torch.nn.modules.activation.Tanh"))


def test_logits_beyond_what_exp_holds_are_probabilities():
    logits = np.array([[1e4, -1e4, 0], [-1e4, 1e4, 0]], np.float32)
    assert to_probabilities(logits, 1).tolist() == [0, 1]
    assert to_probabilities(logits[:, :1], 0).tolist() == [1, 0]


def test_a_model_has_to_be_named_and_to_read_pairs(minilm):
    with pytest.raises(SpecError, match="a model is needed"):
        supported(["a"], [["b"]])
    with pytest.raises(SpecError, match="bi-encoder"):
        supported(["a"], [["b"]], model=minilm)


def test_a_second_run_asks_nothing(cross_encoder, monkeypatch):
    from karat.models.encoders.local import LocalEncoder

    metric = supported.using(model=cross_encoder(labels=3, names=NLI))
    first = metric(["Fed cab. Bad bee."], [PASSAGES]).to_pylist()
    monkeypatch.setattr(LocalEncoder, "score", lambda *_: pytest.fail("it was kept"))
    assert metric(["Bad bee. Fed cab."], [PASSAGES]).to_pylist() == first


def test_the_command_line_takes_a_model(cross_encoder, tmp_path):
    file = tmp_path / "data.jsonl"
    file.write_text(json.dumps({"prediction": "Fed cab. Bad bee.", "contexts": ["a b", "c d"]}))
    spec = f"supported(model={cross_encoder(labels=2)!r}, label=1, threshold=0)"
    result = CliRunner().invoke(main, ["score", str(file), "-m", spec])
    assert result.exit_code == 0, result.output
    assert "supported" in result.output
