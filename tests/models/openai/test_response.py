"""Responses in HTTP, in whatever pieces they come; what is wrong is found, as in http.client."""

import gzip
import http.client
import io

import pytest

from karat.models.openai.body import UnreadableReply
from karat.models.openai.response import BadResponse, Disconnected, read_response

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKS = b"3\r\nyes\r\nB;name=value\r\n, it is so.\r\n0\r\n"
WHOLE = {
    "a length": HEAD + b"Content-Length: 3\r\n\r\nyes",
    "no body": b"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS + b"\r\n",
    "a trailer": HEAD + b"transfer-encoding: Chunked\r\n\r\n" + CHUNKS + b"Digest: a\r\nB: c\r\n\r\n",
    "a go-ahead first": b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" + HEAD + b"Content-Length: 3\r\n\r\nyes",
    "no reason, bare line feeds": b"HTTP/1.1 200\nContent-Length: 3\nVia: a\nVia: b\n\nyes",
    "empty": HEAD + b"Content-Length: 0\r\n\r\n",
    "a fault": b"HTTP/1.0 500 Oops\r\nContent-Length: 4\r\n\r\noops",
    "until the end": HEAD + b"Content-Type: a\r\n\r\nyes",
}


def read(text, size=1 << 20, most=1000, ended=True):
    """The response in a text that comes in pieces of this size."""
    received = bytearray()
    reader = read_response(received, most)
    try:
        next(reader)
        for start in range(0, len(text), size):
            received += text[start : start + size]
            reader.send(False)
        if ended:
            reader.send(True)
    except StopIteration as end:
        return end.value
    return None


def reference(text):
    """Status, headers and body as http.client reads them."""

    class Socket:
        def makefile(self, _):
            return io.BytesIO(text)

    response = http.client.HTTPResponse(Socket())
    response.begin()
    headers = {name.lower(): value for name, value in response.headers.items()}
    headers |= {name: ", ".join(response.headers.get_all(name)) for name in headers}
    return response.status, headers, response.read()


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_a_response_is_read_as_http_client_reads_it_in_pieces_of_any_size(text, size):
    status, headers, body, _ = read(text, size)
    assert (status, headers, bytes(body)) == reference(text)


@pytest.mark.parametrize("kind", ["a length", "chunks", "a trailer", "empty", "no body"])
def test_the_connection_is_kept_where_the_response_has_an_end(kind):
    text = WHOLE[kind]
    assert read(text, ended=False).kept
    assert not read(text.replace(b"\r\n", b"\r\nConnection: Close\r\n", 1), ended=False).kept
    assert not read(text.replace(b"HTTP/1.1", b"HTTP/1.0"), ended=False).kept
    assert not read(text + b"more", ended=False).kept


def test_what_was_compressed_is_decoded():
    body = gzip.compress(b"yes" * 300)
    text = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    assert read(text, 3).body == b"yes" * 300
    with pytest.raises(UnreadableReply, match="larger than"):
        read(text, most=899)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "bad status line"),
        (b"HTTP/2 200\r\n\r\n", "bad status line"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "bad status line"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "bad status line"),
        (HEAD + b"no colon\r\n\r\n", "bad header"),
        (HEAD + b"Folded: a\r\n b\r\n\r\n", "bad header"),
        (HEAD + b"Spaced : a\r\n\r\n", "bad header"),
        (HEAD + b"Content-Length: -1\r\n\r\n", "bad Content-Length"),
        (HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n", "bad Content-Length"),
        (HEAD + b"Content-Length: 9999999999999999999\r\n\r\n", "bad Content-Length"),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "transfer coding"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "bad chunk"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", "bad chunk"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nyesno\r\n", "a chunk does not end"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 5000, "bad chunk"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"a" * 70_000, "more than 64 KiB"),
        (HEAD + b"Long: " + b"a" * 70_000, "more than 64 KiB"),
    ],
)
def test_what_is_not_a_response_is_refused(text, problem):
    for size in (1 << 20, 500):
        with pytest.raises(BadResponse, match=problem):
            read(text, size, ended=False)


@pytest.mark.parametrize("kind", ["a length", "chunks", "a trailer", "a go-ahead first", "a fault"])
def test_a_response_that_breaks_off_is_not_taken_for_a_whole_one(kind):
    for end in range(len(WHOLE[kind])):
        with pytest.raises(Disconnected):
            read(WHOLE[kind][:end])
