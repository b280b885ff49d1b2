"""Annotations on their way to Phoenix: none is lost or logged twice, whatever fails."""

import json
import signal
import subprocess
import time

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

pytest.importorskip("phoenix.client")

from karat.adapters.phoenix.server.outbox import NotLogged, log_annotations, send_annotations
from karat.adapters.phoenix.server.retry import RETRIES as PATIENCE

pytestmark = pytest.mark.usefixtures("impatient")


def publish(name, url):
    """The words of the command that logs scores."""
    return ["runs", "publish", str(name), "--to", "phoenix", "--set", f"url={url}"]


def test_the_scores_of_a_run_are_logged(scored, fake_phoenix):
    karat.score(scored.table.select(["span_id", "prediction", "reference"]), ["exact_match", "token_f1"], run="first")
    fake = fake_phoenix()
    with fake.serving() as url:
        log_annotations(scored, url)
        before = dict(fake.kept)
        done = CliRunner().invoke(main, publish("first", url))
    assert (done.exit_code, done.stderr) == (0, "498 annotations logged\n")
    assert fake.kept == before


def test_the_same_scores_logged_again_take_their_own_place_and_no_file_is_left(scored, tmp_path, fake_phoenix):
    fake = fake_phoenix()
    with fake.serving() as url:
        log_annotations(scored, url)
        before = dict(fake.kept)
        log_annotations(scored, url)
    assert fake.kept == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fault", [500, 502, 503, 429, (429, {"Retry-After": "0"}), "late", "lost"])
def test_what_passes_is_waited_for_and_nothing_is_there_twice(scored, fault, fake_phoenix):
    fake = fake_phoenix()
    fake.faults = [None, fault, fault, None, None, fault]
    with fake.serving() as url:
        assert log_annotations(scored, url).logged == 498
    assert len(fake.kept) == 498
    assert len(fake.requests) == 5 + 3


def test_a_server_that_goes_away_leaves_the_rest_in_a_file_that_can_be_sent(scored, tmp_path, fake_phoenix):
    fake = fake_phoenix()
    fake.faults = [None, None, *["lost"] * 4]
    with (
        fake.serving() as url,
        pytest.raises(NotLogged, match=r"does not answer(.|\n)*298 of 498.*karat runs publish") as told,
    ):
        log_annotations(scored, url)
    kept_by_file = [json.loads(line) for line in told.value.path.read_text().splitlines()]
    assert len(kept_by_file) == 298
    with pytest.raises(NotLogged, match="298 of 298"):  # it is still away
        send_annotations(told.value.path, url)
    with fake.serving() as url:
        assert send_annotations(told.value.path, url).logged == 298
    assert len(fake.kept) == 498
    assert not list(tmp_path.iterdir())


def test_what_phoenix_does_not_know_is_named_and_holds_nothing_else_up(scored, fake_phoenix):
    fake = fake_phoenix(unknown=[f"{n:016x}" for n in (3, 77, 210)])
    with fake.serving() as url, pytest.raises(NotLogged, match=f"IDs {3:016x}, {77:016x} do not exist") as told:
        log_annotations(scored, url)
    assert {each["span_id"] for each in told.value.left} == fake.unknown
    assert len(fake.kept) == 492
    assert len(fake.requests) == 5 + 4  # the four batches with one in them are sent once more


def test_what_phoenix_refuses_is_found_by_halving(scored, fake_phoenix):
    fake = fake_phoenix(poison=[f"{130:016x}"])
    with fake.serving() as url, pytest.raises(NotLogged, match="something in it is wrong"):
        log_annotations(scored, url)
    assert len(fake.kept) == 496
    assert not fake.poison & {span for span, *_ in fake.kept}


@pytest.mark.parametrize(("status", "said"), [(401, "PHOENIX_API_KEY"), (404, "HTTP 404"), (405, "HTTP 405")])
def test_a_server_that_lets_nobody_in_is_not_asked_again(scored, status, said, fake_phoenix):
    fake = fake_phoenix()
    fake.faults = [status] * 9
    with fake.serving() as url, pytest.raises(NotLogged, match=said):
        log_annotations(scored, url)
    assert len(fake.requests) == 1


def test_a_lasting_500_holds_up_nothing_behind_it(scored, fake_phoenix):
    fake = fake_phoenix(broken=[f"{130:016x}"])
    with fake.serving() as url, pytest.raises(NotLogged, match="refused: HTTP 500: the server broke") as told:
        log_annotations(scored, url)
    assert {each["span_id"] for each in told.value.left} == fake.broken
    assert len(fake.kept) == 496


def test_a_server_that_only_breaks_is_given_up(scored, fake_phoenix):
    fake = fake_phoenix(broken=[f"{n:016x}" for n in range(250)])
    with fake.serving() as url, pytest.raises(NotLogged, match="498 of 498 annotations are not logged"):
        log_annotations(scored, url)
    assert len(fake.requests) == 4 * 10  # attempts, requests in a row


def test_a_restarted_server_is_waited_for_two_minutes():
    from karat.models.governor.faults import Fault

    lost = Fault("transient", "connection refused")
    assert sum(PATIENCE.pause(number, lost) for number in range(1, PATIENCE.attempts)) == 120


def test_ctrl_c_keeps_what_is_not_logged(scored, tmp_path, fake_phoenix):
    fake = fake_phoenix()

    def press(done, total):
        if done == 200:
            raise KeyboardInterrupt

    with fake.serving() as url, pytest.raises(KeyboardInterrupt):
        log_annotations(scored, url, outbox="left.jsonl", progress=press)
    assert len((tmp_path / "left.jsonl").read_text().splitlines()) == 298


def test_what_would_keep_scores_from_being_logged_is_told_before_anything_is_scored(tmp_path):
    with pytest.raises(karat.errors.DataError, match="there cannot be written to"):
        log_annotations(
            karat.score([{"span_id": "s", "output": "a", "gold": "a"}], "em"), "http://a", outbox="there/it"
        )
    (tmp_path / "rows.jsonl").write_text('{"span_id": "s", "output": "a", "gold": "a"}')
    result = CliRunner().invoke(main, ["score", "rows.jsonl", "-m", "em", "--phoenix", "localhost:6006", "--annotate"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "'localhost:6006' is not the address of a Phoenix" in result.stderr


def test_a_file_that_holds_no_annotations_is_told_by_line(tmp_path):
    (tmp_path / "scored.parquet").write_bytes(b"PAR1\xcc\x00")
    with pytest.raises(karat.errors.RowError, match=r"scored.parquet, line 1: .*utf-8"):
        send_annotations(tmp_path / "scored.parquet", "http://localhost:1")
    (tmp_path / "some.jsonl").write_text('{"span_id": "a"}\n')
    with pytest.raises(karat.errors.RowError, match=r"some.jsonl, line 1: an annotation with name"):
        send_annotations(tmp_path / "some.jsonl", "http://localhost:1")


def test_the_command_says_what_is_left_and_leaves_with_its_own_code(scored, tmp_path, fake_phoenix):
    fake = fake_phoenix()
    fake.faults = ["lost"] * 4
    with fake.serving() as url, pytest.raises(NotLogged) as told:
        log_annotations(scored, url)
    fake.faults = [None, *[503] * 4]
    with fake.serving() as url:
        first = CliRunner().invoke(main, publish(told.value.path, url))
        second = CliRunner().invoke(main, publish(told.value.path, url))
    assert (first.exit_code, second.exit_code) == (5, 0)
    assert "398 of 498 annotations are not logged" in first.stderr
    assert "398 annotations logged" in second.stderr
    assert len(fake.kept) == 498


@pytest.mark.parametrize("press", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_loses_nothing(scored, tmp_path, press, fake_phoenix, python):
    fake = fake_phoenix()
    fake.faults = ["lost"] * 4
    with fake.serving() as url, pytest.raises(NotLogged) as told:
        log_annotations(scored, url)
    fake.requests, fake.faults = [], [None, None, "late"]
    with fake.serving() as url:
        process = python("-m", "karat", *publish(told.value.path, url), stderr=subprocess.PIPE, text=True)
        while len(fake.requests) < 3:
            time.sleep(0.01)
        process.send_signal(press)
        said = process.communicate()[1]
        left = len(told.value.path.read_text().splitlines())
        if press is not signal.SIGKILL:
            assert (process.returncode, left) == (128 + press, 298)
            assert f"karat runs publish {told.value.path} --to phoenix --set url={url}" in said
        else:
            assert left == 498
        fake.faults = []
        send_annotations(told.value.path, url)
    assert len(fake.kept) == 498


def test_scores_of_exported_spans_are_shown_before_they_are_logged(tmp_path, fake_phoenix):
    spans = [{"span_id": f"{n}", "trace_id": "t", "span_kind": kind, "attributes": {"output.value": "a", "gold": "b"}}
             for n, kind in enumerate(["LLM", "LLM", "CHAIN"], 1)]  # fmt: skip
    (tmp_path / "spans.jsonl").write_text("\n".join(map(json.dumps, spans)))
    command = ["score", "spans.jsonl", "--kind", "LLM", "-m", "em", "--map", "reference=span_kind", "--annotate"]
    fake = fake_phoenix()
    fake.faults = [503] * 4
    with fake.serving() as url:
        left = CliRunner().invoke(main, [*command, "--phoenix", url])
        under = CliRunner().invoke(main, [*command, "--phoenix", url, "--fail-under", "0.5"])
    assert (left.exit_code, under.exit_code) == (5, 3)
    assert "em" in left.stdout
    assert "2 of 2 annotations are not logged" in left.stderr
    assert "2 annotations logged" in under.stderr
    assert {span for span, *_ in fake.kept} == {"1", "2"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "Missing argument 'FILE'; or --phoenix URL"),
        (["a.jsonl", "--annotate"], "--phoenix URL says which"),
        (["a.jsonl", "--phoenix", "http://localhost:1"], "expected one of them, or FILE with --phoenix URL --annotate"),
        (["a.jsonl", "--project", "p"], "--project is about spans read from a running Phoenix"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(given, said):
    result = CliRunner().invoke(main, ["score", *given, "-m", "em"])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
