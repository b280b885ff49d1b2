import pytest

from karat.models.batch.governor import BatchGovernor
from karat.models.batch.uploader import Timing
from karat.models.governor.faults import RequestError
from karat.models.governor.retry import RetryPolicy
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.request import Request
from karat.models.testing.fake import FakeServer

QUICK = Timing(first_poll=0.01, longest_poll=0.02, quiet=0.02, settle=0.05)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(RetryPolicy, "pause", lambda *_: 0.01)


@pytest.fixture
def store(tmp_path):
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        yield cache


@pytest.fixture
def fake():
    """An endpoint that answers in capitals."""
    with FakeServer(lambda messages: messages[-1]["content"].upper()) as server:
        yield server


@pytest.fixture
def batched():
    """A governor that does not wait long."""
    return lambda store, **options: BatchGovernor(store=store, timing=QUICK, **options)


@pytest.fixture
def ask():
    """From a server and a governor to a function that asks a text: the reply, or why there is none."""

    def asking(server, governor):
        model = OpenAIModel("small", base_url=server.url)

        async def ask_one(text):
            try:
                return (await governor.ask(model, Request([{"role": "user", "content": text}]))).text
            except RequestError as error:
                return f"! {error}"

        return ask_one

    return asking
