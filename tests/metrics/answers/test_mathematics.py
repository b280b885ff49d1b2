"""Mathematics: which answers are equal, and that no answer can do harm."""

import asyncio
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from karat.core.metric.score import score_rows
from karat.errors import MissingExtra
from karat.metrics import math_match
from karat.metrics.answers.algebra import worker
from karat.text.latex import NotAFormula, parse_formula

OPEN = (r"$\sin(x+y) + \ln(2x)$", r"$\sin x\cos y + \cos x\sin y + \ln 2 + \ln x$")  # only algebra settles it


def verdict(given, references, **settings):
    metric = math_match.using(**{"seconds": 60.0, **settings})  # enough on a busy machine
    rows = score_rows(metric, {"prediction": pa.array([given]), "reference": pa.array([references])})
    return rows.statistics[0, 0], rows.reasons[0] if rows.reasons is not None else None


@pytest.mark.parametrize(
    ("given", "references"),
    [
        ("Paris", "Paris"),
        ("paris.", "Paris"),
        ("The answer is 4.", "4"),
        (r"\dfrac{1}{2}", "0.5"),
        (r"$1\frac12$", "1.5"),
        ("12 km", "12"),
        (r"10\text{ units}", "10"),
        (r"90^\circ", "90"),
        ("50%", "0.5"),
        (r"\sqrt{12}", r"2\sqrt3"),
        (r"\frac{1}{\sqrt2}", r"\frac{\sqrt2}{2}"),
        (r"(2+3i)(2-3i)", "13"),
        ("x(x+1)", "x^2+x"),
        (r"\{2, 1\}", r"\{1, 2\}"),
        (r"x \in [1, 2)", "[1, 2)"),
        (r"(0,1) \cup (2,3]", r"(2,3] \cup (0,1)"),
        ("y = 2x + 1", "2x - y + 1 = 0"),
        (r"1 \pm \sqrt5", r"1-\sqrt5, 1+\sqrt5"),
        (r"\begin{pmatrix} 1 \\ 0.5 \end{pmatrix}", r"\begin{bmatrix} 1 \\ \frac12 \end{bmatrix}"),
        (r"\sin^2 x + \cos^2 x", "1"),
        (r"\log_2 8", "3"),
        ("$1,2$", "$2,1$"),
        (r"2\,x", "2x"),
        ("5!", "120"),
    ],
)
def test_equal_mathematics_is_equal(given, references):
    pytest.importorskip("sympy")
    assert verdict(given, references) == (1.0, None)


@pytest.mark.parametrize(
    ("given", "references"),
    [
        ("Paris", "London"),
        ("4", "5"),
        ("(1, 2]", "[1, 2]"),
        ("(1, 2)", "(2, 1)"),
        ("x > 1", "x < 1"),
        ("x = 1", "y = 1"),
        ("x + 1", "x"),
        (r"\sqrt2", "1.4"),
        (r"\begin{pmatrix} 1 & 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
        ("2x", "2"),
        ("$1,2$", "$1,3$"),
        (r"$\sqrt{x^2}$", "$x$"),
        (r"\frac{1}{", "1"),
    ],
)
def test_other_mathematics_is_not(given, references):
    assert verdict(given, references) == (0.0, None)


def test_rows_that_need_no_algebra_do_not_ask_sympy(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(worker.Pool, "ask", never)
    pairs = [("Paris", "Paris"), ("1,234", "1234"), (r"\tfrac12", "1/2"), ("(x+1)^2", "x^2+2x+1"), ("x+1", "x+2")]
    assert math_match(*map(list, zip(*pairs, strict=True))).to_pylist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    with pytest.raises(AssertionError):
        math_match([OPEN[0]], [OPEN[1]])


def test_without_sympy_only_rows_that_need_it_fail(monkeypatch):
    monkeypatch.setattr(worker, "find_spec", lambda _: None)
    assert math_match(["x+x"], ["2x"]).to_pylist() == [1.0]
    with pytest.raises(MissingExtra, match=r"pip install 'karat\[math\]'"):
        math_match([OPEN[0]], [OPEN[1]])


def test_scores_are_the_same_in_threads_event_loops_and_with_any_number_of_workers(monkeypatch):
    pytest.importorskip("sympy")
    given, references = [OPEN[0], "4", "x", r"\sin(x)"] * 2, [OPEN[1], "4", "y", r"\cos(x)"] * 2
    expected = [1.0, 1.0, 0.0, 0.0] * 2
    patient = math_match.using(seconds=60.0)
    monkeypatch.setenv("KARAT_THREADS", "1")
    assert patient(given, references).to_pylist() == expected
    monkeypatch.setenv("KARAT_THREADS", "4")
    assert patient(given, references).to_pylist() == expected

    async def within_a_loop():
        return patient(given, references).to_pylist()

    assert asyncio.run(within_a_loop()) == expected
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: patient(given, references).to_pylist(), range(4))) == [expected] * 4


HOSTILE = [
    "9^9^9^9",
    "$10^{10^{10}}$",
    "9" * 10**6,
    "$" + "9" * 4000 + "$",
    "{" * 10_000 + "1" + "}" * 10_000,
    r"\boxed{" * 10_000,
    "(" * 2_000 + "1" + ")" * 2_000,
    r"$\frac{1}{2",
    r"\frac{1}{",
    r"\(" * 20_000,
    r"\[" * 20_000,
    "$x^{" + "x^{" * 400 + "2" + "}" * 401 + "$",
    "20000!",
    r"\sum_{n=1}^{10^9} n",
    r"\begin{pmatrix}" * 500,
    "answer: $x$ " * 10_000,
]


@pytest.mark.parametrize("given", HOSTILE, ids=lambda text: text[:12])
def test_hostile_answers_are_unscored_or_wrong_and_do_not_affect_other_rows(given):
    rows = score_rows(
        math_match, {"prediction": pa.array(["1/2", given, "3"]), "reference": pa.array(["0.5", "7", "4"])}
    )
    assert rows.statistics[[0, 2], 0].tolist() == [1.0, 0.0]
    middle = rows.statistics[1, 0]
    assert middle == 0.0 or (math.isnan(middle) and rows.reasons[1])


@pytest.mark.parametrize(
    "code", ["__import__('os').system('touch {}')", "().__class__.__bases__", "$exec(open('{}','w'))$", "lambda: 0"]
)
def test_no_answer_is_ever_executed(code, tmp_path):
    target = tmp_path / "made"
    assert verdict(code.replace("{}", str(target)), "1")[0] == 0.0
    assert not target.exists()
    with pytest.raises(NotAFormula):
        parse_formula("__import__('os')")


def test_a_worker_that_hangs_is_killed_and_replaced():
    pytest.importorskip("sympy")
    score, reason = verdict(r"\binom{999999999}{500000000}", "1", seconds=0.5)
    assert math.isnan(score)
    assert "longer than 0.5 s" in reason
    assert verdict(*OPEN) == (1.0, None)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded through the kernel's limits")
def test_a_worker_has_a_bound_on_its_memory():
    pytest.importorskip("sympy")
    verdict(*OPEN)
    process = worker.POOL.idle.queue[-1].process
    limits = Path(f"/proc/{process.pid}/limits").read_text("ascii")
    line = next(line for line in limits.splitlines() if line.startswith("Max address space"))
    assert int(line.split()[3]) < 4 << 30
