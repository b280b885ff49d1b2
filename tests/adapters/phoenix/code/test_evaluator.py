"""Scores and evaluators of Phoenix's kind: what they hold, how records reach them, what goes wrong."""

import asyncio
import dataclasses
import json
import subprocess
import sys
import threading
import warnings

import pytest

from karat.adapters.phoenix import (
    Evaluator,
    Schema,
    Score,
    bind_evaluator,
    create_evaluator,
    exact_match,
    extract_with_jsonpath,
    mapping,
    remap_eval_input,
)
from karat.errors import DataError, MissingExtra, SpecError


def test_the_examples_of_phoenix_s_documentation():
    @create_evaluator(name="exact_match_normalized", kind="code")
    def exact_match_normalized(output: str, expected: str) -> Score:
        """Case-insensitive exact match with whitespace normalization."""
        return Score(score=float(output.strip().lower() == expected.strip().lower()))

    scores = exact_match.evaluate({"output": "Paris", "expected": "Paris"})
    assert repr(scores[0]).startswith("Score(name='exact_match', score=1.0, kind='code', ")
    assert exact_match.evaluate({"output": "paris", "expected": "Paris"})[0].score == 0.0
    assert exact_match.evaluate({"output": "PARIS".lower(), "expected": "paris"})[0].score == 1.0
    (score,) = exact_match_normalized.evaluate({"output": " Paris", "expected": "PARIS"})
    assert (score.name, score.score, score.kind) == ("exact_match_normalized", 1.0, "code")


def test_importing_it_loads_no_package_of_phoenix_s():
    code = (
        "import sys; from karat.adapters.phoenix import Score, create_evaluator, exact_match, as_evaluator;"
        "exact_match.evaluate({'a': {'b': 'x'}, 'expected': 'x'}, {'output': 'a.b'}); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "karat.adapters.phoenix" in loaded
    assert not {"phoenix", "opentelemetry", "pydantic", "jsonpath_ng", "openai", "httpx"} & set(loaded)


def test_a_score_is_frozen_and_hashable():
    one, other = (Score(name="a", score=1.0, metadata={"of": [1]}) for _ in "12")
    assert one == other
    assert len({one, other}) == 1
    assert one != Score(name="a", score=1.0, metadata={"of": [2]})
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.score = 2.0
    assert dataclasses.replace(one, score=0.5).metadata == {"of": [1]}


def test_a_score_as_a_dict_and_as_json(capsys):
    score = Score(name="é", score=0.5, explanation="so", metadata={"k": 1}, kind="llm", direction="minimize")
    said = score.to_dict()
    assert list(said) == ["name", "score", "explanation", "metadata", "kind", "direction"]
    said["metadata"]["k"] = 2
    assert score.metadata == {"k": 1}
    score.pretty_print()
    assert json.loads(capsys.readouterr().out) == score.to_dict()
    score.pretty_print(indent=0)
    assert '\n"score": 0.5' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"direction": "maximise"}, "did you mean 'maximize'"),
        ({"direction": None}, "there are: maximize"),
    ],
)
def test_kinds_and_directions_that_there_are_not(given, said):
    for make in (Score, lambda **given: Evaluator(name="a", **{"kind": "code", **given})):
        with pytest.raises(SpecError, match=said):
            make(**given)


def test_an_unknown_kind_stays_as_in_phoenix():
    assert Score(kind="survey").kind == Evaluator(name="a", kind="survey").kind == "survey"
    with pytest.raises(SpecError, match="kind: who scores"):
        Evaluator(name="a")


def test_labels_are_text():
    class Own(Evaluator):
        def _evaluate(self, eval_input):
            return [Score(name="own", score=1.0, label=eval_input["x"])]

    own = Own(name="own", kind="code", input_schema=Schema({"x": object}))
    returned = create_evaluator(name="r")(lambda x: {"label": x})
    for value, label in ((True, "True"), (2, "2"), ("good", "good"), (None, None)):
        assert own.evaluate({"x": value})[0].label == returned.evaluate({"x": value})[0].label == label


def test_old_names_warn_and_work():
    with pytest.warns(DeprecationWarning, match="heuristic"):
        assert Score(kind="heuristic").kind == "code"
    with pytest.warns(DeprecationWarning, match="source"):
        score = Score(source="human")
    with pytest.warns(DeprecationWarning, match="source"):
        assert score.source == "human"
    with pytest.warns(DeprecationWarning, match="source"), pytest.raises(SpecError, match="differ"):
        Score(source="human", kind="llm")
    with pytest.warns(DeprecationWarning, match="source"):
        assert create_evaluator("a", "llm")(lambda output: 1).kind == "llm"


def test_a_missing_field_names_what_there_is():
    with pytest.raises(DataError, match="Path not found: expected; did you mean 'expectd'"):
        exact_match.evaluate({"output": "a", "expectd": "a"})
    with pytest.raises(DataError, match="'expeted' is not a field of exact_match; did you mean 'expected'"):
        exact_match.evaluate({"output": "a", "gold": "a"}, {"expeted": "gold"})
    with pytest.raises(DataError, match=r"Path not found: trace\.answr"):
        exact_match.evaluate({"trace": {"answer": "a"}, "expected": "a"}, {"output": "trace.answr"})
    with pytest.raises(DataError, match="output: str is expected, got None"):
        exact_match.evaluate({"output": None, "expected": "a"})


@pytest.mark.parametrize("record", [None, "output", [("output", "a")], 3])
def test_a_record_is_a_mapping(record):
    with pytest.raises(TypeError, match="exact_match: a record is expected"):
        exact_match.evaluate(record)


def test_a_mapping_is_checked_when_it_is_bound():
    with pytest.raises(TypeError, match="Invalid mapping for field 'output'"):
        bind_evaluator(exact_match, {"output": 3})
    with pytest.raises(SpecError, match="without parameters"):
        bind_evaluator(exact_match, {"output": lambda: "a"})


def test_paths_beyond_names_and_numbers_need_a_package(monkeypatch):
    record = {"spans": [{"text": "a"}, {"text": "b"}]}
    assert extract_with_jsonpath(record, "spans[*].text", match_all=True) == ["a", "b"]
    monkeypatch.setitem(sys.modules, "jsonpath_ng.parser", None)
    mapping._compile.cache_clear()
    assert extract_with_jsonpath(record, "$.spans[-1].text") == "b"
    with pytest.raises(DataError, match="Path not found: gold answer"):
        remap_eval_input(record, {"expected"}, {"expected": "gold answer"})
    with pytest.raises(MissingExtra, match=r"pip install 'karat\[phoenix\]'"):
        extract_with_jsonpath(record, "spans[*].text")
    mapping._compile.cache_clear()


def test_functions_of_the_record():
    def keywords(*, gold):
        return gold[0]

    def positional(gold, /):
        return gold[1]

    record = {"output": "b", "gold": ["a", "b"], "expected": "b"}
    assert exact_match.evaluate(record, {"expected": keywords})[0].score == 0.0
    assert exact_match.evaluate(record, {"expected": positional})[0].score == 1.0
    assert exact_match.evaluate(record, {"expected": lambda row: row["gold"][1]})[0].score == 1.0
    with pytest.raises(ZeroDivisionError):  # an error of the function is its own
        exact_match.evaluate(record, {"expected": lambda row: 1 / 0})


def test_a_bound_copy_leaves_the_original_alone():
    paths = {"output": "answer"}
    bound = bind_evaluator(exact_match, paths)
    paths["output"] = "other"
    assert bound.evaluate({"answer": "a", "expected": "a"})[0].score == 1.0
    assert bound.input_mapping == {"output": "answer"}
    assert exact_match.input_mapping is None
    bound.unbind()
    assert bound.evaluate({"output": "a", "expected": "b", "answer": "b"})[0].score == 0.0


def test_one_metric_may_stand_twice_under_two_names():
    first, second = (bind_evaluator(exact_match, {"expected": f"gold[{n}]"}, name=f"gold_{n}") for n in (0, 1))
    record = {"output": "a", "gold": ["a", "b"]}
    assert [(each.name, each.score_names, each.evaluate(record)[0].name) for each in (first, second)] == [
        ("gold_0", ("gold_0",), "gold_0"),
        ("gold_1", ("gold_1",), "gold_1"),
    ]
    assert exact_match.name == "exact_match"


class Words(Evaluator):
    def _evaluate(self, eval_input):
        return [Score(name="count", score=len(eval_input["output"].split())), Score(name=self.name, score=1)]

    def _original_score_names(self):
        return ("count", "words")


def test_renaming_an_evaluator_of_several_scores():
    words = Words(name="words", kind="code", input_schema=Schema({"output": str}))
    renamed = bind_evaluator(bind_evaluator(words, name="w"), name="again")
    assert [score.name for score in renamed.evaluate({"output": "a b"})] == ["again_count", "again"]
    assert renamed.score_names == ("again_count", "again")
    assert words.score_names == ("count", "words")


def test_several_scores_are_no_evaluator_of_which_phoenix_keeps_only_the_first():
    assert exact_match.source == "code"
    assert not hasattr(Words(name="words", kind="code"), "source")


def test_a_subclass_without_a_way_to_evaluate():
    with pytest.raises(NotImplementedError, match="neither"):
        Evaluator(name="a", kind="code", input_schema=Schema({})).evaluate({})


def test_an_async_evaluator_evaluates_inside_a_running_loop_too():
    @create_evaluator(name="waits")
    async def waits(output):
        await asyncio.sleep(0)
        return output

    async def cell_of_a_notebook():
        return waits.evaluate({"output": 0.5})

    assert asyncio.run(cell_of_a_notebook()) == asyncio.run(waits.async_evaluate({"output": 0.5}))


def test_a_plain_function_does_not_block_the_loop():
    @create_evaluator(name="thread")
    def thread(output):
        return threading.current_thread().name

    (score,) = asyncio.run(thread.async_evaluate({"output": 1}))
    assert (score.label or score.explanation) != threading.current_thread().name


def test_an_async_callable_object_is_awaited():
    class Judge:
        async def __call__(self, output: str):
            return output == "a"

    assert create_evaluator("object")(Judge()).evaluate({"output": "a"})[0].label == "True"


def test_further_keys_reach_a_function_that_takes_them():
    @create_evaluator(name="rest")
    def rest(output: str, **others):
        return {"score": len(others), "label": output}

    (score,) = rest.evaluate({"output": "a", "x": 1, "y": 2})
    assert (score.score, score.label) == (2, "a")


def test_a_function_stays_what_it_was():
    @create_evaluator(name="named")
    def add(a: int, b: int = 2) -> int:
        """The sum."""
        return a + b

    assert (add(1), add(a=1, b=1)) == (3, 2)
    assert (add.__doc__, add.__name__, add.name) == ("The sum.", "add", "named")


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (bool, [True], [1, "true"]),
        (dict[str, int], [{"a": 1}], [{"a": "b"}, []]),
        ("Literal", ["a"], ["b", 1]),
        (list, [[1, "a"], (1,)], ["ab", {"a"}]),
    ],
)
def test_annotations(annotation, good, bad):
    from typing import Literal

    schema = Schema({"x": Literal["a", "c"] if annotation == "Literal" else annotation})
    for value in good:
        schema.validate({"x": value})
    for value in bad:
        with pytest.raises(DataError, match="x: "):
            schema.validate({"x": value})


def test_what_is_no_schema():
    with pytest.raises(TypeError, match="input_schema"):
        Evaluator(name="a", kind="code", input_schema={"output": str})


TRACED = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from karat.adapters.phoenix import exact_match
kept, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
(score,) = exact_match.evaluate({"output": "a", "expected": "b"})
try:
    exact_match.evaluate({"output": 1, "expected": "b"})
except ValueError:
    pass
(span,) = kept.get_finished_spans()
print(span.name, span.attributes["input.value"], score.metadata["trace_id"] == f"{span.context.trace_id:032x}")
"""


def test_where_tracing_is_set_up_a_score_says_its_trace():
    pytest.importorskip("opentelemetry.sdk")
    said = subprocess.run([sys.executable, "-c", TRACED], capture_output=True, text=True, check=True).stdout
    assert said == 'exact_match.evaluate {"output": "a", "expected": "b"} True\n'


@pytest.mark.parametrize("name", ["", " ", None, 3])
def test_an_evaluator_has_a_name(name):
    with pytest.raises(SpecError, match="the evaluator's name is expected"):
        create_evaluator(name=name)(lambda output: 1)


def test_metadata_are_a_dict():
    with pytest.raises(TypeError, match="metadata='rule 7': a dict is expected"):
        Score(metadata="rule 7")
    with pytest.raises(DataError, match="short returned 'rule 7' as its metadata: a dict is expected"):
        create_evaluator(name="short")(lambda output: {"metadata": "rule 7"}).evaluate({"output": "a"})


def test_a_score_of_phoenix_s_own_is_read_too():
    with warnings.catch_warnings(action="ignore"):
        theirs = pytest.importorskip("phoenix.evals").Score(name="x", score=0.5, label="fair", metadata={"rule": 7})
    (score,) = create_evaluator(name="short")(lambda output: theirs).evaluate({"output": "a"})
    assert score == Score(name="short", score=0.5, label="fair", metadata={"rule": 7}, kind="code")


def test_numpy_s_numbers_are_printed_as_numbers(capsys):
    numpy = pytest.importorskip("numpy")
    Score(score=numpy.float32(0.5), metadata={"n": numpy.int64(3)}).pretty_print()
    assert json.loads(capsys.readouterr().out) == {"score": 0.5, "metadata": {"n": 3}, "direction": "maximize"}


def test_attributes_of_a_function_do_not_become_the_evaluator_s():
    again = create_evaluator(name="again")(create_evaluator(name="first")(lambda output: 1))
    assert again.name == "again"
    assert again.evaluate({"output": "a"}) == [Score(name="again", score=1, kind="code")]


def test_a_score_that_says_no_kind_has_the_evaluator_s():
    class Plain(Evaluator):
        def _evaluate(self, _):
            return [Score(name="a", score=1), Score(name="b", score=0, kind="human")]

    scores = Plain(name="plain", kind="code", input_schema=Schema({})).evaluate({})
    assert [score.kind for score in scores] == ["code", "human"]
