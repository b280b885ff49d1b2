"""Phoenix's evaluators that ask a model, over a scripted endpoint and through karat's governor."""

import asyncio

import pytest

pytest.importorskip("phoenix.evals")
pytest.importorskip("openai")

import pandas as pd
from phoenix.evals import LLM, ClassificationEvaluator, LLMEvaluator, Score
from phoenix.evals.metrics import ConcisenessEvaluator

from karat import Governor
from karat.adapters.phoenix import async_evaluate_dataframe, bind_evaluator, evaluate_dataframe
from karat.adapters.phoenix.direct import DirectClient, direct
from karat.judges import use_governor
from karat.models.event_loop import run_coroutine
from karat.models.reply_cache import ReplyCache
from karat.models.testing.fake import FakeServer

FRAME = pd.DataFrame({"input": [f"Capital {n}?" for n in range(12)], "output": ["Paris"] * 12})


@pytest.fixture
def llm():
    """LLMs of Phoenix's, whose clients are closed at the end, in the loop in which they were used."""
    made = []

    def make(server, **options):
        made.append(LLM(provider="openai", model="m", base_url=server.url, api_key="k", **options))
        return made[-1]

    yield make
    for each in made:
        each._sync_client.client.close()
        run_coroutine(each._async_client.client.close(), drain=lambda: None)


def labels(frame, name="conciseness"):
    return [score and score["label"] for score in frame[f"{name}_score"]]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_all_rows_are_asked_at_once_and_phoenix_s_own_limits_are_out_of_the_way(way, llm):
    with FakeServer({"explanation": "Short.", "label": "concise"}, latency=0.3) as server:
        evaluator = ConcisenessEvaluator(llm=llm(server, initial_per_second_request_rate=0.5))
        with use_governor(governor := Governor()):
            if way == "sync":
                found = evaluate_dataframe(FRAME, [evaluator])
            else:
                found = asyncio.run(async_evaluate_dataframe(FRAME, [evaluator]))
        assert labels(found) == ["concise"] * 12
        assert (server.calls, governor.totals.calls) == (12, 12)
        assert governor.totals.input_tokens > 0 < governor.totals.output_tokens
    details = found["conciseness_execution_details"]
    assert {cell["status"] for cell in details} == {"COMPLETED"}
    assert max(cell["execution_seconds"] for cell in details) < 6  # at one request in two seconds it would be 22
    assert evaluator.llm._rate_limiters  # what was given is as it was


def test_replies_are_kept_so_that_nothing_is_asked_twice(tmp_path, llm):
    with FakeServer({"explanation": "Short.", "label": "concise"}) as server:
        for calls in (12, 12):
            with ReplyCache(tmp_path / "replies.sqlite") as store, use_governor(Governor(store=store)):
                evaluator = bind_evaluator(ConcisenessEvaluator(llm=llm(server)), name="short")
                assert labels(evaluate_dataframe(FRAME, [evaluator]), "short") == ["concise"] * 12
            assert server.calls == calls


def test_a_reply_that_is_no_label_fails_its_row_and_is_asked_again_later(tmp_path, llm):
    with FakeServer({"explanation": "?", "label": "other"}) as server:
        for calls in (1, 2):
            with (
                ReplyCache(tmp_path / "replies.sqlite") as store,
                use_governor(Governor(store=store)),
                pytest.warns(UserWarning, match="invalid label 'other'"),
            ):
                found = evaluate_dataframe(FRAME[:1], [ConcisenessEvaluator(llm=llm(server))])
            assert labels(found) == [None]
            assert server.calls == calls


def test_a_wrong_key_fails_the_rows_with_the_reason(llm):
    with (
        FakeServer({"label": "concise"}, key="right") as server,
        use_governor(Governor()),
        pytest.warns(UserWarning, match=r"12 of 12 rows failed or did not run.*HTTP 401"),
    ):
        found = evaluate_dataframe(FRAME, [ConcisenessEvaluator(llm=llm(server))])
    assert labels(found) == [None] * 12


def test_transient_errors_are_repeated_by_the_governor(llm):
    faults = {"429": 1.0}
    with FakeServer({"explanation": "Short.", "label": "concise"}, faults=faults, seed=1) as server:
        evaluator = ConcisenessEvaluator(llm=llm(server))
        with use_governor(Governor(attempts=2)), pytest.warns(UserWarning, match="HTTP 429"):
            found = evaluate_dataframe(FRAME[:2], [evaluator])
    assert {cell["status"] for cell in found["conciseness_execution_details"]} <= {"FAILED", "DID NOT RUN"}


class Told(LLMEvaluator):
    """What the model says, without an asynchronous method."""

    def _evaluate(self, eval_input):
        prompt = self.prompt_template.render(variables=eval_input)
        return [Score(name="told", label=self.llm.generate_text(prompt))]


def test_synchronous_evaluators_of_ones_own_are_governed_too(llm):
    with FakeServer("a text") as server, use_governor(governor := Governor()):
        evaluator = Told(name="told", llm=llm(server), prompt_template="Say {input}")
        found = evaluate_dataframe(FRAME, [evaluator])
        assert labels(found, "told") == ["a text"] * 12
        assert governor.totals.calls == server.calls == 12


def test_an_llm_of_ones_own_is_asked_as_it_is():
    class Stub(LLM):
        def __init__(self):
            self.model = "stub"

        async def async_generate_object(self, prompt, *_, **__):
            return {"label": "yes", "explanation": prompt[0]["content"]}

    evaluator = ClassificationEvaluator(name="c", llm=Stub(), prompt_template="Is {output} right?", choices=["yes"])
    with use_governor(governor := Governor()):
        found = evaluate_dataframe(FRAME, [evaluator])
    assert {score["explanation"] for score in found["c_score"]} == {"Is Paris right?"}
    assert governor.totals.calls == 0


def test_settings_of_the_client_are_kept(llm):
    with FakeServer({"explanation": "Short.", "label": "concise"}) as server, use_governor(Governor()):
        plain, own = llm(server), llm(server, default_headers={"X-Team": "a"})
        assert isinstance(direct(plain._async_client), DirectClient)
        assert direct(own._async_client) is own._async_client
        evaluators = [ConcisenessEvaluator(llm=own), bind_evaluator(ConcisenessEvaluator(llm=plain), name="plain")]
        found = evaluate_dataframe(FRAME[:2], evaluators)
        assert labels(found) == labels(found, "plain") == ["concise"] * 2
        sent = [(str(each["messages"]), each["response_format"]) for each in server.requests]
        assert sorted(sent[:2], key=str) == sorted(sent[2:], key=str)  # two rows at a time, in any order


def test_a_form_that_the_endpoint_refuses_is_replaced_as_phoenix_does(llm):
    with FakeServer({"explanation": "S.", "label": "concise"}, forms=["tool"]) as server, use_governor(Governor()):
        assert labels(evaluate_dataframe(FRAME[:3], [ConcisenessEvaluator(llm=llm(server))])) == ["concise"] * 3
        assert any("tools" in each for each in server.requests)
