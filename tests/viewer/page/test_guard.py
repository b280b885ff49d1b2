"""Requests that are not of the page, sent as bytes: all are refused, in plain words."""

import json
import signal
import socket

import pytest
from click.testing import CliRunner

from karat.cli.main import main

Guard = pytest.importorskip("karat.viewer.page.guard").Guard
Refused = pytest.importorskip("karat.viewer.page.guard").Refused
Port = pytest.importorskip("karat.viewer.page.server").Port
open_port = pytest.importorskip("karat.viewer.page.server").open_port

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
JSON = "Content-Type: application/json"


@pytest.fixture
def ask(served):
    """Send a request with the right host and token, but for what is named: None leaves a header out."""

    def send(line="POST /api/runs HTTP/1.1", *more, host="", token="", body=b""):
        headers = {"Host": host if host != "" else served.host, "X-Karat-Token": served.token if token == "" else token}
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        status, found, content = served.raw(line, *lines, *more, "Connection: close", body=body)
        assert found.get("content-security-policy") == CSP.lower() or status == 400
        reason = json.loads(content).get("error", "") if content.startswith(b"{") else content.decode()
        assert "Traceback" not in reason
        assert "/tmp" not in reason  # noqa: S108
        return status, reason

    return send


def test_a_request_of_the_page_is_answered_with_every_header(ask, served):
    runs, sent = "POST /api/runs HTTP/1.1", (JSON, "Content-Length: 2")
    assert ask(runs, *sent, body=b"{}") == (200, "")
    own = (f"Origin: http://{served.host}", "Sec-Fetch-Site: same-origin")
    assert ask(runs, *sent, *own, body=b"{}") == (200, "")
    assert ask("GET / HTTP/1.1", "Sec-Fetch-Site: none", token=None)[0] == 200
    _, headers, _ = served.raw("GET /style.css HTTP/1.1", f"Host: {served.host}", "Connection: close")
    expected = {
        "cache-control": "no-store", "cross-origin-opener-policy": "same-origin", "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin", "x-content-type-options": "nosniff", "x-frame-options": "deny",
        "content-security-policy": CSP.lower(), "content-type": "text/css; charset=utf-8",
    }  # fmt: skip
    assert expected.items() <= headers.items()
    assert "server" not in headers


@pytest.mark.parametrize("path", ["/", "/style.css", "/api/runs"])
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}", "2130706433:{port}",
     "127.0.0.2:{port}", "[::ffff:127.0.0.1]:{port}", "user@127.0.0.1:{port}", "127.0.0.1:{port}.evil", "", None],
)  # fmt: skip
def test_a_foreign_host_is_refused(ask, served, host, path):
    host = host if host is None else host.format(port=served.port) or " "
    status, reason = ask(f"GET {path} HTTP/1.0", host=host)
    assert (status, reason[:30]) == (403, "this page answers only at the ")


def test_two_hosts_are_refused(ask, served):
    assert ask("GET /api/runs HTTP/1.1", "Host: evil.example")[0] in {400, 403}
    assert ask("GET http://evil.example/api/runs HTTP/1.1")[0] in {400, 404}


@pytest.mark.parametrize(
    "header",
    ["Origin: http://evil.example", "Origin: null", "Origin: https://{host}", "Origin: http://localhost:{port}",
     "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Sec-Fetch-Site: none"],
)  # fmt: skip
def test_requests_of_other_pages_are_refused(ask, served, header):
    header = header.format(host=served.host, port=served.port)
    assert ask("GET /api/runs HTTP/1.1", header)[0] == 403
    if header != "Sec-Fetch-Site: none":
        assert ask("GET / HTTP/1.1", header)[0] == 403


@pytest.mark.parametrize("token", [None, " ", "x", "ü", "{token}x", "{token_start}"])
@pytest.mark.parametrize("line", ["GET /api/runs HTTP/1.1", "POST /api/rows HTTP/1.1", "GET /api/nothing HTTP/1.1"])
def test_a_missing_or_wrong_token_is_refused(ask, served, token, line):
    token = token and token.format(token=served.token, token_start=served.token[:-1])
    assert ask(line, token=token)[0] == 401
    assert ask(f"{line.split()[0]} /api/runs?token={served.token} HTTP/1.1", token=token)[0] == 401


def test_a_large_body_is_refused_with_and_without_a_length(ask):
    sent = b'{"runs": ["' + b"x" * 70_000 + b'"]}'
    line = "POST /api/rows HTTP/1.1"
    for length in (len(sent), 1 << 40):
        assert ask(line, JSON, f"Content-Length: {length}", body=sent[:100])[0] == 413
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(sent), sent)
    assert ask(line, JSON, "Transfer-Encoding: chunked", body=chunked)[0] == 413


@pytest.mark.parametrize(
    ("header", "body", "status"),
    [
        ("Content-Type: text/plain", b"{}", 415),
        ("Content-Type: application/x-www-form-urlencoded", b"runs=a", 415),
        ("X-None: 1", b"{}", 415),
        (JSON, b"", 400),
        (JSON, b"[]", 400),
        (JSON, b'{"runs": NaN}', 400),
        (JSON, b"[" * 60_000, 400),
        (JSON, b'{"runs": [1]}', 400),
        (JSON, b'{"run": ["a"], "sql": "x"}', 400),
        (JSON, b'{"runs": "\xff"}', 400),
        (JSON, b'{"runs": ["' + b"0" * 16 + b'"]}', 404),
    ],
)
def test_a_body_that_is_no_request_is_refused(ask, header, body, status):
    assert ask("POST /api/rows HTTP/1.1", header, f"Content-Length: {len(body)}", body=body)[0] == status


@pytest.mark.parametrize(
    "name", ["../before", "..%2fbefore", "before", "%2e%2e", "a/../before", "before%00", "/etc/passwd"]
)
def test_an_id_is_no_path(ask, name):
    for path in (f"/{name}", f"/static/{name}", f"//{name}"):
        assert ask(f"GET {path} HTTP/1.1")[0] == 404
    sent = json.dumps({"runs": [name]}).encode()
    for path in ("result", "columns"):
        assert ask(f"POST /api/{path} HTTP/1.1", JSON, f"Content-Length: {len(sent)}", body=sent)[0] == 404


def test_other_methods_are_refused(ask):
    for line in ("GET /api/runs HTTP/1.1", "GET /api/rows HTTP/1.1", "PUT /api/rows HTTP/1.1", "DELETE / HTTP/1.1",
                 "OPTIONS /api/rows HTTP/1.1", "TRACE / HTTP/1.1"):  # fmt: skip
        assert ask(line) == (405, "another method is expected")


def test_what_is_no_http_is_refused(served):
    assert served.raw("\x16\x03\x01")[0] == 400
    assert served.raw("GET /api/runs HTTP/1.1", f"Host: {served.host}", "Upgrade: websocket",
                      "Connection: close, Upgrade", "Sec-WebSocket-Version: 13")[0] == 401  # fmt: skip


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])  # noqa: S104  (refused)
def test_an_address_that_others_can_reach_needs_a_flag(host):
    done = CliRunner().invoke(main, ["view", "--no-open", "--host", host])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--expose" in done.stderr


def test_all_addresses_admit_numbers_and_no_names():
    guard = Guard(None, 80, frozenset({"127.0.0.1"}), "t", any_address=True)
    found = [guard.knows(f"{host}:80") for host in ("127.0.0.1", "192.0.2.1", "[2001:db8::1]", "evil.example", "")]
    assert found == [True, True, True, False, False]


def test_the_port_of_http_may_be_left_out_as_browsers_do():
    guard = Guard(None, 80, frozenset({"127.0.0.1", "[::1]", "localhost"}), "t")
    token = {"x-karat-token": ["t"]}
    for host in ("127.0.0.1", "[::1]", "LOCALHOST"):
        for sent, origin in (host, host), (f"{host}:80", host), (host, f"{host}:80"):
            guard.check("/api/runs", {"host": [sent], "origin": [f"http://{origin}"], **token})
    for host, origin in [
        ("evil.example", "evil.example"),
        ("::1", "::1"),
        ("127.0.0.1:", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1:81"),
        ("127.0.0.1", "evil.example"),
        ("127.0.0.1:8080", "127.0.0.1"),
    ]:
        with pytest.raises(Refused):
            guard.check("/api/runs", {"host": [host], "origin": [f"http://{origin}"], **token})
    other = Guard(None, 8080, frozenset({"127.0.0.1"}), "t")
    assert [other.knows(host) for host in ("127.0.0.1", "127.0.0.1:80", "127.0.0.1:8080")] == [False, False, True]


def test_the_name_of_the_machine_is_known_in_any_case(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "MyLaptop")
    names = Port(None, "0.0.0.0", "t").names  # noqa: S104  (nothing listens)
    guard = Guard(None, 8000, names, "t", any_address=True)
    assert [guard.knows(host) for host in ("MyLaptop:8000", "mylaptop:8000", "other:8000")] == [True, True, False]


def test_a_taken_port_is_named():
    port = open_port("127.0.0.1", 0)
    with port.listener, pytest.raises(Exception, match=f"port {port.number}: .*; choose another with --port"):
        open_port("127.0.0.1", port.number)


def test_ctrl_c_ends_it_at_once(runs, serve):
    server = serve(runs)
    server.post("/api/runs")
    with socket.create_connection(("127.0.0.1", server.port)):  # an open connection does not hold it up
        assert server.stop(signal.SIGINT) == (130, "", "interrupted\n")
