"""How close to gold is each answer, and is the difference between two systems real?

>>> import karat
>>> rows = [{"prediction": "Paris", "gold": ["Paris", "City of Paris"]}, {"prediction": "in Lyon", "gold": ["Lyon"]}]
>>> result = karat.score(rows, ["em", "f1"])
>>> round(result.values["f1"].value, 4)
0.8333

`karat.kinds` has the annotations of metrics of your own, `karat.errors` the errors, `karat.metrics` the metrics and
`karat.judges` the judges. Names are loaded on first use, so that importing karat costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat import errors as errors
    from karat import kinds as kinds
    from karat import metrics as metrics
    from karat.core.errors import KaratError as KaratError
    from karat.core.metric.decorator import metric as metric
    from karat.core.metric.metric import Metric as Metric
    from karat.core.version import __version__ as __version__
    from karat.data.open import spans as spans
    from karat.judges.judge import Judge as Judge
    from karat.models.governor.governor import Governor as Governor
    from karat.runs.compare.compare import compare as compare
    from karat.runs.compare.comparison import Compared as Compared
    from karat.runs.compare.ranking.rank import rank as rank
    from karat.runs.compare.ranking.ranked import Ranked as Ranked
    from karat.runs.compare.ranking.verdicts import rank_verdicts as rank_verdicts
    from karat.runs.experiment.experiment import experiment as experiment
    from karat.runs.export.bundle.bundle import bundle as bundle
    from karat.runs.export.bundle.verify import verify as verify
    from karat.runs.gold.check import gold as gold
    from karat.runs.gold.doubtful import DoubtfulGold as DoubtfulGold
    from karat.runs.judge.exam.exam import exam as exam
    from karat.runs.judge.exam.figures import Exam as Exam
    from karat.runs.judge.examination import Examination as Examination
    from karat.runs.judge.examine import examine as examine
    from karat.runs.labels.labels import Labels as Labels
    from karat.runs.sampling.next_rows import label_next as label_next
    from karat.runs.scoring.pipeline import score as score
    from karat.runs.scoring.result import Result as Result
    from karat.runs.scoring.wide import score_systems as score_systems
    from karat.runs.store.kept import list_runs as list_runs
    from karat.runs.store.run import open_run as open_run
    from karat.stats.sequential.until import Until as Until
    from karat.stats.value import Value as Value
    from karat.viewer.report.report import report as report
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".": "errors kinds metrics",
            ".core.errors": "KaratError",
            ".core.metric.decorator": "metric",
            ".core.metric.metric": "Metric",
            ".core.version": "__version__",
            ".data.open": "spans",
            ".judges.judge": "Judge",
            ".models.governor.governor": "Governor",
            ".runs.compare.compare": "compare",
            ".runs.compare.comparison": "Compared",
            ".runs.experiment.experiment": "experiment",
            ".runs.export.bundle.bundle": "bundle",
            ".runs.export.bundle.verify": "verify",
            ".runs.labels.labels": "Labels",
            ".runs.gold.check": "gold",
            ".runs.gold.doubtful": "DoubtfulGold",
            ".runs.judge.examination": "Examination",
            ".runs.judge.exam.exam": "exam",
            ".runs.judge.exam.figures": "Exam",
            ".runs.judge.examine": "examine",
            ".runs.compare.ranking.rank": "rank",
            ".runs.compare.ranking.ranked": "Ranked",
            ".runs.compare.ranking.verdicts": "rank_verdicts",
            ".runs.sampling.next_rows": "label_next",
            ".runs.store.kept": "list_runs",
            ".runs.store.run": "open_run",
            ".runs.scoring.pipeline": "score",
            ".runs.scoring.result": "Result",
            ".runs.scoring.wide": "score_systems",
            ".stats.sequential.until": "Until",
            ".stats.value": "Value",
            ".viewer.report.report": "report",
        },
    )
