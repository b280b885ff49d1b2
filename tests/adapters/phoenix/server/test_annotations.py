"""What annotations say: those of results, of judges and their documents, and of frames."""

import pytest

import karat
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

pytest.importorskip("phoenix.client")

from karat.adapters.phoenix.server.annotation import identifier
from karat.adapters.phoenix.server.outbox import log_annotations
from karat.adapters.phoenix.server.result_annotations import from_result

pytestmark = pytest.mark.usefixtures("impatient")


def logged_scores(fake, name="token_f1"):
    return {span: each["result"]["score"] for (span, called, *_), each in fake.kept.items() if called == name}


def test_scores_are_logged_with_what_tells_where_they_come_from(scored, fake_phoenix):
    fake = fake_phoenix()
    with fake.serving() as url:
        logged = log_annotations(scored, url)
    assert (logged.logged, logged.unscored) == (498, 2)
    assert logged_scores(fake) == {f"{n:016x}": pytest.approx(2 / 3) for n in range(249)}
    one = fake.kept["0" * 16, "exact_match", identifier(scored.metrics[0].signature), None]
    assert (one["annotator_kind"], one["result"]) == ("CODE", {"score": 0.0})
    assert one["metadata"] == {"signature": scored.metrics[0].signature, "direction": "maximize"}


def test_judges_say_label_explanation_and_model_and_annotate_documents_where_they_judge_each(fake_phoenix):
    model = FakeModel({"explanation": "It names Paris.", "label": "relevant"})
    judge = Judge("document_relevance", model=model, governor=Governor())
    short = Judge("conciseness", model=FakeModel({"explanation": "Short.", "label": "concise"}), governor=Governor())
    rows = [
        {
            "span_id": "a",
            "question": "?",
            "prediction": "Paris",
            "contexts": ["Paris", "Lyon", "Rome"],
            "context_spans": ["b", "b", "c"],
            "context_positions": [0, 1, 0],
        }
    ]
    fake = fake_phoenix()
    with fake.serving() as url:
        logged = log_annotations(karat.score(rows, [judge, short]), url)
    assert logged.logged == 5
    elsewhere = fake_phoenix()
    with elsewhere.serving() as url:  # these contexts are no span's
        log_annotations(
            karat.score([{**rows[0], "passages": ["x", "y", "z"]}], judge, map={"contexts": "passages"}), url
        )
    whole = {name: each for (span, name, _, place), each in fake.kept.items() if place is None}
    assert whole["judge:conciseness"]["result"] == {"score": 1.0, "label": "concise", "explanation": "Short."}
    assert whole["judge:conciseness"]["annotator_kind"] == "LLM"
    assert "model='fake'" in whole["judge:conciseness"]["metadata"]["signature"]
    assert not any(place is not None for *_, place in elsewhere.kept)
    documents = {(span, place): each["result"] for (span, _, _, place), each in fake.kept.items() if place is not None}
    expected = {"label": "relevant", "explanation": "It names Paris.", "score": 1.0}
    assert documents == dict.fromkeys([("b", 0), ("b", 1), ("c", 0)], expected)


def test_a_document_of_a_chain_and_of_its_retriever_has_the_verdict_of_its_own_row(fake_phoenix):
    def judged(messages):
        label = "relevant" if "the retriever's" in messages[-1]["content"] else "irrelevant"
        return {"explanation": "So it is.", "label": label}

    judge = Judge("document_relevance", model=FakeModel(judged), governor=Governor())
    place = {"contexts": ["Paris"], "context_spans": ["b"], "context_positions": [0]}
    rows = [{"span_id": each, "question": f"the {called}'s", **place} for each, called in
            (("a", "chain"), ("b", "retriever"), ("c", "agent"))]  # fmt: skip
    fake = fake_phoenix()
    with fake.serving() as url:
        assert log_annotations(karat.score(rows, judge), url).logged == 4
    assert [each["result"]["label"] for (*_, place), each in fake.kept.items() if place == 0] == ["relevant"]


def test_rows_must_say_which_span_they_are_of_and_no_two_may_be_of_one():
    with pytest.raises(karat.errors.ColumnError, match="no column holds ids of spans, traces or sessions"):
        log_annotations(karat.score([{"prediction": "a", "reference": "a"}], "em"), "http://localhost:1")
    twice = [{"span_id": "s", "prediction": "a", "reference": "a"}] * 2
    with pytest.raises(karat.errors.DataError, match="rows 1 and 2 are both of span s"):
        log_annotations(karat.score(twice, "em"), "http://localhost:1")


def test_frames_are_logged_and_what_is_missing_in_them_is_not(fake_phoenix):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "span_id": ["a", "b", "c"],
            "annotation_name": "mine",
            "annotator_kind": "LLM",
            "score": [0.5, None, None],
            "label": [None, "good", None],
            "explanation": [None, "why", "no verdict"],
            "metadata": [{"signature": "s"}, {}, {}],
        }
    )
    fake = fake_phoenix()
    with fake.serving() as url:
        logged = log_annotations(frame, url)
    assert (logged.logged, logged.unscored) == (2, 1)
    assert [each["result"] for each in fake.kept.values()] == [{"score": 0.5}, {"label": "good", "explanation": "why"}]


def test_scores_and_labels_of_frames_have_the_types_that_phoenix_takes(fake_phoenix):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "span_id": ["a", "b"],
            "annotation_name": "n",
            "score": [True, False],
            "label": [1, "\ud83d"],
            "metadata": '{"k": 1}',
        }
    )
    fake = fake_phoenix()
    with fake.serving() as url:
        log_annotations(frame, url)
    assert [each["result"] for each in fake.kept.values()] == [
        {"score": 1.0, "label": "1"},
        {"score": 0.0, "label": "?"},
    ]
    assert {each["metadata"]["k"] for each in fake.kept.values()} == {1}


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("score", [1, "high"], "row 2: score: a number is expected, got 'high'"),
        ("annotator_kind", ["LLM", "model"], "row 2: annotator_kind 'model'"),
        ("metadata", [{}, "not JSON"], "row 2: metadata: an object is expected, got 'not JSON'"),
        ("span_id", ["a", "a"], "rows 1 and 2 are both 'n' of span a"),
    ],
)
def test_what_is_wrong_in_a_frame_is_told_by_row_before_anything_is_sent(tmp_path, column, values, said):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"span_id": ["a", "b"], "annotation_name": "n", "score": [1, 2]} | {column: values})
    with pytest.raises(karat.errors.DataError, match=said):
        log_annotations(frame, "http://localhost:1")
    assert not list(tmp_path.iterdir())


def test_polars_frames_are_logged_too(fake_phoenix):
    frame = pytest.importorskip("polars").DataFrame({"span_id": ["a"], "annotation_name": ["n"], "score": [0.5]})
    fake = fake_phoenix()
    with fake.serving() as url:
        assert log_annotations(frame, url).logged == 1


def test_results_and_frames_take_the_span_from_the_same_column(fake_phoenix):
    pd = pytest.importorskip("pandas")
    rows = [{"span_id": "a", "context.span_id": "b", "prediction": "x", "reference": "x"}]
    own = pd.DataFrame(rows).assign(annotation_name="mine", score=1.0)
    evaluated = pd.DataFrame(rows).assign(mine_score=[{"name": "mine", "score": 1.0}])
    for scored in (karat.score(rows, "em"), own, evaluated, own.drop(columns="span_id").set_index("context.span_id")):
        fake = fake_phoenix()
        with fake.serving() as url:
            assert log_annotations(scored, url).logged == 1
        assert [span for span, *_ in fake.kept] == ["b"]


def test_a_column_of_ones_own_with_the_name_of_a_metric_is_not_logged_as_its_score(fake_phoenix):
    rows = [{"span_id": "a", "prediction": "x", "reference": "x", "exact_match": 0.25}]
    fake = fake_phoenix()
    with fake.serving() as url:
        log_annotations(karat.score(rows, "em"), url)
    assert [each["result"] for each in fake.kept.values()] == [{"score": 1.0}]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_scores_that_were_written_to_a_file_make_the_same_annotations(ending):
    model = FakeModel({"explanation": "So it is.", "label": "relevant"})
    metrics = [Judge("document_relevance", model=model, governor=Governor()), "exact_match"]
    rows = [
        {
            "span_id": span,
            "question": "?",
            "prediction": "Paris",
            "reference": reference,
            "contexts": ["Paris", "Lyon"],
            "context_spans": ["b", "c"],
            "context_positions": [0, 1],
        }
        for span, reference in (("a", "Paris"), ("d", None))
    ]
    kept = from_result(karat.score(rows, metrics))
    written = from_result(karat.score(rows, metrics, output=f"scored.{ending}", keep=False))
    assert (written.unscored, written.to_log) == (kept.unscored, kept.to_log)
    assert (kept.unscored, len(kept.to_log)) == (1, 2 + 2 + 1)
