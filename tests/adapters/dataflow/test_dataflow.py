import json
from types import SimpleNamespace

import numpy as np
import pytest

from karat.adapters.dataflow import (
    BenchDatasetEvaluator,
    BenchDatasetEvaluatorQuestion,
    FileStorage,
    parse_parts,
    parse_verdict,
)
from karat.errors import ColumnError, DataError, SpecError

pd = pytest.importorskip("pandas")

SAMPLE = {"instruction": "What is 2 + 2?", "generated_cot": "The answer is 4.", "golden_answer": "4"}


class Memory:
    """A storage with DataFlow's methods."""

    file_name_prefix = "step"

    def __init__(self, rows, **options):
        self.frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, **options)
        self.written = None

    def read(self, output_type):
        assert output_type == "dataframe"
        return self.frame

    def write(self, data):
        self.written = data


class Model:
    def __init__(self, replies):
        self.replies, self.prompts = replies, []

    def generate_from_input(self, user_inputs, system_prompt):
        self.prompts += user_inputs
        self.system = system_prompt
        return self.replies


def run(tmp_path, storage, **options):
    keys = {name: options.pop(name) for name in list(options) if name.startswith("input_")}
    evaluator = BenchDatasetEvaluator(tmp_path / "new" / "stats.json", **options)
    names = evaluator.run(storage, **keys)
    (found,) = json.loads((tmp_path / "new" / "stats.json").read_text("utf-8"))
    return names, storage.written, found


def test_the_example_of_dataflow(tmp_path):
    names, frame, found = run(tmp_path, Memory([SAMPLE]))
    assert names == ["generated_cot", "golden_answer", "answer_match_result"]
    assert frame.to_dict("records") == [SAMPLE | {"answer_match_result": True}]
    assert frame["answer_match_result"].dtype == bool
    assert found == {
        "bench_name_or_prefix": "step",
        "total_samples": 1,
        "valid_samples": 1,
        "matched_samples": 1,
        "accuracy": 1.0,
        "empty_responses_count": 0,
        "compare_method": "match",
        "invalid_responses_count": 0,
        "samples_without_reference": 0,
        "samples_with_reference": 1,
        "accuracy_of_all": 1.0,
    }


def test_a_cell_may_hold_several_gold_answers(tmp_path):
    rows = {"generated_cot": ["Paris", "Rome", "Rome"], "golden_answer": [np.array(["x", "Paris"]), ["Rome"], ["x"]]}
    _, frame, _ = run(tmp_path, Memory(rows))
    assert frame["answer_match_result"].tolist() == [True, True, False]


def test_numbers_and_any_index_work_and_the_frame_is_not_changed(tmp_path):
    storage = Memory({"generated_cot": ["4", 5, "6"], "golden_answer": [4, 5, 7]}, index=[7, 7, 3])
    _, frame, _ = run(tmp_path, storage)
    assert frame["answer_match_result"].tolist() == [True, True, False]
    assert frame.index.tolist() == [7, 7, 3]
    assert list(storage.frame) == ["generated_cot", "golden_answer"]


def test_rows_without_gold_answer_are_not_counted_in_accuracy_of_all(tmp_path):
    rows = {"generated_cot": ["a", "b", None, "d", ""], "golden_answer": ["a", None, "c", " ", np.nan]}
    _, frame, found = run(tmp_path, Memory(rows))
    assert frame["answer_match_result"].tolist() == [True, False, False, False, False]
    assert (found["accuracy"], found["accuracy_of_all"]) == (1 / 5, 1 / 2)
    assert (found["samples_without_reference"], found["samples_with_reference"]) == (3, 2)


def test_no_rows_have_no_accuracy(tmp_path):
    _, frame, found = run(tmp_path, Memory({"generated_cot": [], "golden_answer": []}))
    assert len(frame) == 0
    assert (found["accuracy"], found["accuracy_of_all"]) == (0.0, None)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"judgement_result": true}', "yes"),
        ('{"judgement_result": false, "reason": "true in part"}', "no"),
        ('```json\n{"judgement_result": "True"}\n```', "yes"),
        ('{"judgement_result": "false"}', "no"),
        ("true", "yes"),
        (" FALSE. ", "no"),
        ("<think>It may be false.</think>\n<answer>true</answer>", "yes"),
        ("It is not true", "invalid"),
        ("UNTRUE", "invalid"),
        ("false, though true in part", "invalid"),
        ("{judgement_result: true, // right\n}", "yes"),
        ('It is right.\n```json\n{"judgement_result": true}\n```', "yes"),
        ('{"judgement_result": true} or {"judgement_result": false}', "invalid"),
        ('{"judgement_result": true or false}', "invalid"),
        ('{"judgement_result": 1}', "invalid"),
        ('{"judgement_result": null}', "invalid"),
        ('{"judgement_result": [true]}', "invalid"),
        ("", "empty"),
        ("  \n", "empty"),
        (None, "empty"),
    ],
)
def test_only_unambiguous_verdicts_are_read(reply, verdict):
    assert parse_verdict(reply) == verdict


ROWS = {
    "q": ["1?", "2?", "3?", "4?", "5?"],
    "generated_cot": ["a", "b", "c", "d", "e"],
    "golden_answer": ["A", None, "C", "D", "E"],
}


def test_semantic_asks_about_rows_with_gold_only_and_assigns_replies_to_their_rows(tmp_path):
    model = Model(["true", None, "It is not true", None])
    names, frame, found = run(
        tmp_path,
        Memory(ROWS),
        compare_method="semantic",
        llm_serving=model,
        input_question_key="q",
        system_prompt="Judge.",
    )
    assert names == ["generated_cot", "golden_answer", "q", "answer_match_result"]
    assert frame["answer_match_result"].tolist() == [True, False, False, False, False]
    assert [json.loads(prompt.splitlines()[-1])["answer"] for prompt in model.prompts] == ["a", "c", "d", "e"]
    assert json.loads(model.prompts[0].splitlines()[-1]) == {"question": "1?", "reference_answer": "A", "answer": "a"}
    assert model.system == "Judge."
    counted = {key: found[key] for key in ("valid_samples", "empty_responses_count", "invalid_responses_count")}
    assert counted == {"valid_samples": 3, "empty_responses_count": 2, "invalid_responses_count": 1}
    assert (found["accuracy"], found["accuracy_of_all"]) == (1 / 3, 1 / 4)


@pytest.mark.parametrize("replies", [None, []])
def test_a_model_without_replies_leaves_every_row_empty(tmp_path, replies):
    model = Model(replies)
    for _ in range(2):  # and the count does not leak into the next run
        _, _, found = run(tmp_path, Memory(ROWS), compare_method="semantic", llm_serving=model)
        assert found["empty_responses_count"] == 4
    assert "question" not in json.loads(model.prompts[0].splitlines()[-1])


@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("parts", [False, True])
def test_more_or_fewer_replies_than_prompts_are_an_error(tmp_path, number, parts):
    options = {"compare_method": "semantic", "support_subquestions": parts}
    storage = Memory(ROWS)
    with pytest.raises(DataError, match=f"4 replies are expected, one for each prompt; the model returned {number}"):
        run(tmp_path, storage, llm_serving=Model(["true"] * number), **options)
    assert storage.written is None


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"judgement": ["true", "false", "empty"]}', ("no", 1, 2)),
        ('{"sub_questions": ["a", "b"], "reasons": ["", ""], "judgement": [true, "True"]}', ("yes", 2, 2)),
        ('```json\n["true", "empty"]\n```', ("yes", 1, 1)),
        ('<think>["false"]</think>\n<answer>["true"]</answer>', ("yes", 1, 1)),
        ("{'judgement': ['true', \"false\",], // two\n reasons: ['it\\'s \"so\", a: b', 'new\nline'],}", ("no", 1, 2)),
        ("{/* all, */ judgement: [true,\n true, /* no more */ ]}", ("yes", 2, 2)),
        ("{'judgement': ['true'], 'judgement': ['false']}", ("invalid", 0, 0)),
        ('["empty"]', ("no", 0, 0)),
        ('["true", "perhaps"]', ("invalid", 0, 0)),
        ('["true", 1]', ("invalid", 0, 0)),
        ("[]", ("invalid", 0, 0)),
        ('{"judgement": "true"}', ("invalid", 0, 0)),
        ('{"judgement_result": true}', ("invalid", 0, 0)),
        ('All are right: ["true"]', ("invalid", 0, 0)),
        ("true", ("invalid", 0, 0)),
        (" ", ("empty", 0, 0)),
        (None, ("empty", 0, 0)),
    ],
)
def test_only_unambiguous_verdicts_on_parts_are_read(reply, found):
    assert parse_parts(reply) == found


def test_parts_of_questions_are_counted(tmp_path):
    replies = ['["true", "true"]', '{"judgement": ["true", "false", "empty"]}', "no idea", None, '["false"]']
    rows = {"generated_cot": ["a", "b", "c", "d", "", "f"], "golden_answer": ["A", "B", "C", "D", "E", None]}
    model = Model(replies)
    names, frame, found = run(
        tmp_path, Memory(rows), compare_method="semantic", llm_serving=model, support_subquestions=True
    )
    assert names == ["generated_cot", "golden_answer", "answer_match_result"]
    assert frame["answer_match_result"].tolist() == [True, False, False, False, False, False]
    assert frame["correct_answer_num"].tolist() == [2, 1, 0, 0, 0, 0]
    assert frame["total_subquestions"].tolist() == [2, 2, 0, 0, 1, 0]
    assert [reply if isinstance(reply, str) else None for reply in frame["response_evaluation"]] == [*replies, None]
    assert {key: found[key] for key in list(found)[-3:]} == {
        "total_subquestions": 5,
        "correct_subquestions": 3,
        "subquestion_accuracy": 3 / 5,
    }
    counted = {key: found[key] for key in ("valid_samples", "empty_responses_count", "invalid_responses_count")}
    assert counted == {"valid_samples": 5, "empty_responses_count": 1, "invalid_responses_count": 1}
    assert all('"judgement"' in prompt for prompt in model.prompts)
    assert json.loads(model.prompts[4].splitlines()[-1]) == {"reference_answer": "E", "answer": ""}


def test_without_rows_there_are_no_parts(tmp_path):
    rows = {"generated_cot": [], "golden_answer": []}
    options = {"compare_method": "semantic", "llm_serving": Model([]), "support_subquestions": True}
    _, frame, found = run(tmp_path, Memory(rows), **options)
    assert list(frame)[-3:] == ["correct_answer_num", "total_subquestions", "response_evaluation"]
    assert found["subquestion_accuracy"] == 0.0


def test_another_prompt_template_is_used(tmp_path):
    model = Model(["true"] * 4)
    template = SimpleNamespace(build_prompt=lambda answer, reference_answer: f"{answer}/{reference_answer}")
    run(tmp_path, Memory(ROWS), compare_method="semantic", llm_serving=model, prompt_template=template)
    assert model.prompts == ["a/A", "c/C", "d/D", "e/E"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compare_method": "mach"}, "did you mean 'match'"),
        ({"compare_method": "semantic"}, "needs llm_serving"),
        ({"support_subquestions": True}, "needs compare_method='semantic'"),
        ({"prompt_template": SimpleNamespace}, "an instance is expected"),
    ],
)
def test_contradicting_arguments_are_refused(options, message):
    with pytest.raises(SpecError, match=message):
        BenchDatasetEvaluator(**options)


def test_a_missing_column_is_named_before_anything_is_written(tmp_path):
    storage = Memory({"generated_cott": ["a"], "golden_answer": ["a"]})
    with pytest.raises(ColumnError, match="no column 'generated_cot'; did you mean 'generated_cott'"):
        run(tmp_path, storage)
    assert storage.written is None
    assert not list(tmp_path.iterdir())


def test_a_second_evaluation_overwrites_the_first(tmp_path):
    _, first, _ = run(tmp_path, Memory([SAMPLE]))
    options = {"compare_method": "semantic", "llm_serving": Model(['["false"]']), "support_subquestions": True}
    for _ in range(2):
        _, first, _ = run(tmp_path, Memory(first), **options)
    expected = {"answer_match_result": False, "correct_answer_num": 0, "total_subquestions": 1}
    assert first.to_dict("records") == [SAMPLE | expected | {"response_evaluation": '["false"]'}]


@pytest.mark.parametrize(("keep", "rows"), [(True, 2), (False, 0)])
def test_where_no_row_has_a_gold_answer_all_rows_are_written_or_none(tmp_path, keep, rows, caplog):
    storage = Memory({"generated_cot": ["a", "b"], "golden_answer": [None, ""]})
    options = {"compare_method": "semantic", "llm_serving": Model([]), "keep_all_samples": keep}
    _, frame, found = run(tmp_path, storage, **options)
    assert (len(frame), "answer_match_result" in frame, found["total_samples"]) == (rows, True, 2)
    assert "no row has a gold answer in 'golden_answer'" in caplog.text


def test_there_is_a_logger_as_in_dataflow(caplog):
    BenchDatasetEvaluatorQuestion("stats.json").logger.error("gone")
    assert caplog.record_tuples == [("DataFlow", 40, "gone")]


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv.gz", ".parquet"])
def test_files_are_read_and_written_in_their_own_format(tmp_path, ending):
    from karat.data.open import open_source

    rows = [SAMPLE | {"id": "007", "n": "1e3"}, SAMPLE | {"generated_cot": "5", "id": "8", "n": ""}]
    FileStorage(tmp_path / "none.jsonl", tmp_path / f"in{ending}").write(rows)
    storage = FileStorage(tmp_path / f"in{ending}")
    BenchDatasetEvaluator(tmp_path / "stats.json").run(storage)
    (batch,) = open_source(tmp_path / f"in_evaluated{ending}").batches()
    verdicts = [row.pop("answer_match_result") for row in batch.to_pylist()]
    assert [str(verdict).lower() for verdict in verdicts] == ["true", "false"]
    assert batch.drop_columns(["answer_match_result"]).to_pylist() == rows


def test_mixed_and_missing_cells_are_not_changed(tmp_path):
    lines = [
        '{"generated_cot": "4", "golden_answer": 4, "n": 1}',
        '{"generated_cot": "Paris", "golden_answer": ["Lyon", "Paris"], "n": null}',
        '{"generated_cot": "x", "golden_answer": "x", "n": 12345678901234567}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    BenchDatasetEvaluator(tmp_path / "stats.json").run(FileStorage(tmp_path / "in.jsonl"))
    written = [json.loads(line) for line in (tmp_path / "in_evaluated.jsonl").read_text("utf-8").splitlines()]
    assert written == [json.loads(line) | {"answer_match_result": True} for line in lines]


def test_a_bare_file_name_is_a_file_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    BenchDatasetEvaluator("stats.json").run(Memory([SAMPLE]))
    assert (tmp_path / "stats.json").exists()
    BenchDatasetEvaluator().run(Memory([SAMPLE]))
    (found,) = tmp_path.glob("result_bencheval/BenchDatasetEvaluator_result_*.json")
    assert json.loads(found.read_text())[0]["accuracy"] == 1.0


LAYOUTS = [  # of DataFlow's unified benchmark, the metric, and what a right and a wrong answer are
    (3, "exact_match(extract=auto, normalize=unicode)", lambda row: f"The answer is {row['targets'][0]}.", "Berlin"),
    (4, "choice_match(count_from=0, reference_is=index)", lambda row: f"The answer is {'ABCD'[row['label']]}.", "Z"),
    (5, "choices_f1(count_from=0, reference_is=index)", lambda row: [str(label) for label in row["labels"]], []),
]


@pytest.mark.parametrize(("number", "metric", "right", "wrong"), LAYOUTS)
def test_the_layouts_of_dataflow_are_scored_as_they_are(tmp_path, real_data, number, metric, right, wrong):
    import karat

    file = real_data("dataflow_bench_examples") / f"unified_bench_eval_type{number}.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    answers = [{"id": row["id"], "generated_ans": wrong if at == 0 else right(row)} for at, row in enumerate(rows)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), "utf-8")
    result = karat.score(tmp_path / "answers.jsonl", metric, gold=file, on="id")
    assert result.mapping["prediction"] == "generated_ans"
    (value,) = result.values.values()
    assert value.worst == pytest.approx(1 - 1 / len(rows))


def test_the_layout_with_answers_needs_no_join(real_data):
    import karat

    file = real_data("dataflow_bench_examples") / "unified_bench_eval_type2.jsonl"
    result = karat.score(file, "exact_match(extract=auto)")
    assert result.mapping == {"prediction": "model_answer", "reference": "golden_label"}
    assert result.values["exact_match(extract='auto')"].value == 5 / 15
