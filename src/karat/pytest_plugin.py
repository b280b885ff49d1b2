"""The pytest plugin: a fixture that scores a table, and a mark by which parametrised tests become rows of one run.

It imports nothing of karat before a test uses it, and does nothing without the mark. A test's row travels in the report
of the test, so that the rows of all workers of pytest-xdist reach the process that scores them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from karat.runs.scoring.result import Result

_MARK = (
    "karat(*metrics, gates=None, unscored=None, baseline=None, run=None, by=None, cluster=None, map=None, "
    "confidence=0.95, seed=0): "
    "score the rows that the cases give to the fixture karat_row, all together, with these metrics. "
    "gates={SPEC: VALUE}: the session fails where a value is worse; unscored=SHARE: where more rows have no score; "
    "baseline=LABEL: where the run is worse than the one that --karat-save LABEL kept. run: the name of the run, by "
    "default the test's name."
)
_SETTINGS = ("by", "cluster", "map", "confidence", "seed")


@dataclass
class _Case:
    """What one test contributes: the settings of its run, where it stands, and its row, None before there is one."""

    run: str
    test: str
    metrics: Sequence[str]
    gates: Sequence[str] = ()
    unscored: float | None = None
    baseline: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0
    id: str = ""
    row: Mapping[str, Any] | None = None

    @property
    def plan(self) -> tuple[Any, ...]:
        """What all cases of a run have in common."""
        return self.metrics, self.gates, self.unscored, self.baseline, self.settings


_CASE = pytest.StashKey[_Case]()


@pytest.fixture
def karat_score(request: pytest.FixtureRequest) -> Callable[..., Result]:
    """`karat.score`; the values also become properties of the test in its report (JUnit XML), named by spec.

    Use it with `assert_at_least` and `assert_better` of `karat.testing`.
    """

    def score(*data: Any, **settings: Any) -> Result:
        from karat.runs.scoring.pipeline import score  # noqa: PLC0415  (heavy)

        result = score(*data, **settings)
        request.node.user_properties += [(spec, value.value) for spec, value in result.values.items()]
        return result

    return score


@pytest.fixture
def karat_row(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Give the columns of this case's row, once: `karat_row(prediction=…, reference=…)`; values as JSON holds them.

    The test needs `@pytest.mark.karat(METRIC, …)`. A case that ends without giving its row is an unscored one; one that
    is skipped is none.
    """
    if (case := request.node.stash.get(_CASE, None)) is None:
        raise pytest.UsageError(f"{request.node.nodeid}: karat_row needs @pytest.mark.karat(METRIC, …)")

    def give(**columns: Any) -> None:
        if case.row is not None:
            raise ValueError("karat_row: a case has one row; karat_score scores a table")
        for name, value in columns.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError) as error:
                raise TypeError(f"karat_row: {name}: expected text, a number, a list or a dict: {error}") from None
        case.row = json.loads(json.dumps(columns))

    return give


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("karat", "runs of tests marked with karat")
    group.addoption("--karat-save", metavar="LABEL", help="Keep each run as NAME-LABEL, in place of an earlier one.")
    group.addoption(
        "--karat-baseline", metavar="LABEL", help="Compare each run with NAME-LABEL; fail where it is worse."
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    plans: dict[str, _Case] = {}
    for number, item in enumerate(items):
        if (mark := item.get_closest_marker("karat")) is None or "karat_row" not in getattr(item, "fixturenames", ()):
            continue
        case = _read_mark(item, mark, config.getoption("karat_baseline"))
        first = plans.setdefault(case.run, case)
        if first.plan != case.plan or (first.test != case.test and not mark.kwargs.get("run")):
            name = f"the run {case.run!r} is also the run of {first.test}"
            raise pytest.UsageError(f"{case.test}: {name}: name each (run=…), or give both the same mark")
        case.number = number
        item.stash[_CASE] = case


def _read_mark(item: pytest.Item, mark: pytest.Mark, baseline: str | None) -> _Case:
    from click import UsageError  # noqa: PLC0415  (only for marked tests)

    from karat.cli.options.gates import Gates, read_gate  # noqa: PLC0415
    from karat.core.errors import KaratError, did_you_mean  # noqa: PLC0415
    from karat.core.metric.spec import parse  # noqa: PLC0415

    known = ("gates", "unscored", "baseline", "run", *_SETTINGS)
    test = item.nodeid.partition("[")[0]
    for name in mark.kwargs:
        if name not in known:
            raise pytest.UsageError(f"{test}: mark karat: there is no {name!r}{did_you_mean(name, known)}")
    if not mark.args:
        raise pytest.UsageError(f"{test}: mark karat: expected a metric, such as pytest.mark.karat('exact_match')")
    gates = [f"{gate}={value}" for gate, value in (mark.kwargs.get("gates") or {}).items()]
    try:
        metrics = [parse(metric) if isinstance(metric, str) else metric for metric in mark.args]
        Gates([read_gate(gate) for gate in gates]).check(metrics, metrics, mark.kwargs.get("by"), ())
    except (KaratError, UsageError) as error:
        raise pytest.UsageError(f"{test}: mark karat: {str(error).replace('--fail-under', 'gate')}") from None
    callspec, name = getattr(item, "callspec", None), getattr(item, "originalname", item.name)
    settings = {name: mark.kwargs[name] for name in _SETTINGS if name in mark.kwargs}
    run, label = mark.kwargs.get("run") or name, baseline or mark.kwargs.get("baseline")
    specs = [metric.spec for metric in metrics]
    return _Case(
        run, test, specs, gates, mark.kwargs.get("unscored"), label, settings, id=callspec.id if callspec else name
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    case = item.stash.get(_CASE, None)
    if (
        case is not None
        and not report.skipped
        and (report.when == "call" or (report.when == "setup" and report.failed))
    ):
        report.karat_case = asdict(case)
    return report


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_SessionRuns(session.config), "karat-runs")


class _SessionRuns:
    """The runs of a session, in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.cases: dict[str, _Case] = {}
        self.shown: dict[str, str] = {}
        self.failures: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if (case := getattr(report, "karat_case", None)) is not None:
            self.cases[report.nodeid] = _Case(**case)  # of a test that was run again, the last

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        runs: dict[str, list[_Case]] = {}
        for case in sorted(self.cases.values(), key=lambda case: case.number):
            runs.setdefault(case.run, []).append(case)
        for name, cases in runs.items():
            text = StringIO()
            with redirect_stdout(text):
                self.failures += [f"{name}: {failure}" for failure in self._finish(name, cases)]
            self.shown[name] = text.getvalue()
        if self.failures and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _finish(self, name: str, cases: Sequence[_Case]) -> Iterator[str]:
        """Score, keep and compare a run, print its values, and yield what fails the session."""
        from karat.cli.options.gates import Gates, read_gate  # noqa: PLC0415  (only for marked tests)
        from karat.cli.options.result_table import print_comparison, print_result  # noqa: PLC0415
        from karat.core.errors import KaratError  # noqa: PLC0415
        from karat.runs.compare.compare import compare  # noqa: PLC0415
        from karat.runs.match.systems import open_system  # noqa: PLC0415
        from karat.runs.scoring.pipeline import score  # noqa: PLC0415
        from karat.runs.store.folders import run_names  # noqa: PLC0415
        from karat.runs.store.kept import remove_run  # noqa: PLC0415

        first, saved = cases[0], self.config.getoption("karat_save")
        rows = [{"id": case.id, **(case.row or {})} for case in cases]
        columns = {column: [row.get(column) for row in rows] for each in rows for column in each}
        try:
            if saved and f"{name}-{saved}" in run_names():
                remove_run(f"{name}-{saved}")
            result = score(columns, first.metrics, run=saved and f"{name}-{saved}", **first.settings)
            by = first.settings.get("by")
            print_result(result, by=by)
            gates = Gates([read_gate(gate) for gate in first.gates], first.unscored)
            yield from gates.check(result.metrics, result.metrics, by, ()).failures(result)
            if first.baseline in {None, saved}:
                return
            baseline = f"{name}-{first.baseline}"
            if baseline not in run_names():
                yield f"there is no run {baseline} to compare with: pytest --karat-save {first.baseline} keeps one"
                return
            compared = compare(baseline, open_system(result, name), on="id", common=True)
            print_comparison(compared, by=None)
            yield from (f"{each.heading}: {each.decisive_sentence}" for each in compared.worse)
        except KaratError as error:
            yield str(error)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name, text in self.shown.items():
            terminalreporter.section(f"karat: {name}")
            terminalreporter.write(text)
        for failure in self.failures:
            terminalreporter.write_line(f"FAILED karat {failure}", red=True)
