"""What exceptions mean: of openai's client, of others, and of any callable."""

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from karat.core.errors import SpecError
from karat.models.governor.faults import ModelError, RequestError, classify


class Http(Exception):
    """As clients have it: a status, a response with headers, a body."""

    def __init__(self, status, headers=None, body=None, message="no luck"):
        super().__init__(message)
        self.status_code = status
        self.response = type("Response", (), {"status_code": status, "headers": headers or {}})()
        self.body = body


@pytest.mark.parametrize(
    ("status", "unproven", "proven"),
    [
        *((status, "overload", "overload") for status in (429, 503, 529)),
        *((status, "transient", "transient") for status in (408, 409, 500, 502, 504, 200)),
        *((status, "fatal", "fatal") for status in (401, 402, 403, 404)),
        *((status, "fatal", "row") for status in (400, 405, 422)),
        (413, "row", "row"),
    ],
)
def test_by_status(status, unproven, proven):
    assert classify(Http(status)).kind == unproven
    assert classify(Http(status), proven=True).kind == proven
    assert classify(Http(status)).status == status


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, "insufficient_quota", "fatal"),
        (429, "rate_limit_exceeded", "overload"),
        (400, "context_length_exceeded", "row"),
        (400, "content_filter", "row"),
        (400, "model_not_found", "fatal"),
    ],
)
def test_by_code(status, code, kind):
    assert classify(Http(status, body={"code": code})).kind == kind
    assert classify(Http(status, body={"error": {"code": code}})).kind == kind


def test_a_prompt_that_is_too_long_is_its_rows_failure_though_no_code_says_so():
    error = Http(400, message="This model's maximum context length is 8192 tokens.")
    assert classify(error).kind == "row"


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError("reset"), ConnectionError(), TimeoutError(), BrokenPipeError(), OSError(101, "unreachable")],
)
def test_a_lost_connection_may_work_next_time(error):
    assert classify(error).kind == "transient"


def test_an_endpoint_is_unreachable_only_where_there_never_was_a_connection():
    refused, caused = ConnectionRefusedError("refused"), ConnectionError("all attempts failed")
    caused.__cause__ = socket.gaierror("no such host")
    for error, unreachable in (
        (refused, True),
        (caused, True),
        (ConnectionResetError(), False),
        (TimeoutError(), False),
    ):
        assert classify(error).unreachable is unreachable
        assert not classify(error, proven=True).unreachable


@pytest.mark.parametrize(
    "error",
    [ValueError("no"), KeyError("k"), FileNotFoundError("prompt.txt"), PermissionError("no"), RequestError("refused")],
)
def test_what_a_callable_raises_is_its_rows_failure(error):
    assert classify(error).kind == "row"


@pytest.mark.parametrize("error", [ModelError("bad key"), SpecError("no such model")])
def test_errors_on_purpose_that_are_not_a_rows_stop_the_run(error):
    assert classify(error).kind == "fatal"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers, seconds):
    assert classify(Http(429, headers)).retry_after == seconds


def test_retry_after_as_a_date():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert classify(Http(503, {"Retry-After": date})).retry_after == pytest.approx(90, abs=5)
    assert classify(Http(503, {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"})).retry_after == 0


def test_no_key_in_a_message():
    told = classify(Http(401, message="Incorrect API key provided: sk-proj-abc123*def. Bearer abcdefgh")).message
    assert "abc" not in told
    assert "Incorrect API key" in told


def test_a_long_message_is_cut_and_on_one_line():
    told = classify(ValueError("a\nb" * 10_000)).message
    assert "\n" not in told
    assert len(told) < 400


def test_openais_own_exceptions():
    openai = pytest.importorskip("openai")
    http = pytest.importorskip("httpx")
    request = http.Request("POST", "http://127.0.0.1/v1")

    def status(kind, number, body, headers=None):
        return kind("told", response=http.Response(number, headers=headers, request=request), body=body)

    overload = classify(status(openai.RateLimitError, 429, {"code": "rate_limit_exceeded"}, {"Retry-After": "3"}))
    assert (overload.kind, overload.retry_after) == ("overload", 3)
    assert classify(status(openai.RateLimitError, 429, {"code": "insufficient_quota"})).kind == "fatal"
    assert classify(status(openai.AuthenticationError, 401, None)).kind == "fatal"
    assert classify(status(openai.InternalServerError, 500, None)).kind == "transient"
    assert classify(openai.APITimeoutError(request)).kind == "transient"
    lost = openai.APIConnectionError(request=request)
    lost.__cause__ = ConnectionResetError("Connection reset by peer")
    assert classify(lost).kind == "transient"
    assert "reset by peer" in classify(lost).message
