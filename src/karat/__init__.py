"""How close to gold is each answer, and is the difference between two systems real?

>>> import karat
>>> rows = [{"prediction": "Paris", "gold": ["Paris", "City of Paris"]}, {"prediction": "in Lyon", "gold": ["Lyon"]}]
>>> result = karat.score(rows, ["exact_match", "token_f1"])
>>> round(result.values["token_f1"].value, 4)
0.8333

Names are loaded on first use, so that importing karat costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat import metrics as metrics
    from karat.core.columns.kinds import Counts as Counts
    from karat.core.columns.kinds import Graded as Graded
    from karat.core.columns.kinds import Ids as Ids
    from karat.core.columns.kinds import Json as Json
    from karat.core.columns.kinds import Messages as Messages
    from karat.core.columns.kinds import Number as Number
    from karat.core.columns.kinds import Score as Score
    from karat.core.columns.kinds import Subtopics as Subtopics
    from karat.core.columns.kinds import Text as Text
    from karat.core.columns.kinds import Texts as Texts
    from karat.core.errors import ColumnError as ColumnError
    from karat.core.errors import DataError as DataError
    from karat.core.errors import JoinError as JoinError
    from karat.core.errors import KaratError as KaratError
    from karat.core.errors import MissingExtra as MissingExtra
    from karat.core.errors import RowError as RowError
    from karat.core.errors import SpecError as SpecError
    from karat.core.metric.decorator import metric as metric
    from karat.core.metric.inner import Samples as Samples
    from karat.core.metric.metric import Metric as Metric
    from karat.core.metric.rows import Rows as Rows
    from karat.core.metric.score import Inner as Inner
    from karat.core.version import __version__ as __version__
    from karat.data.open import spans as spans
    from karat.judges.judge import Judge as Judge
    from karat.models.batch.governor import BatchGovernor as BatchGovernor
    from karat.models.governor.faults import ModelError as ModelError
    from karat.models.governor.governor import Governor as Governor
    from karat.runs.compare.compare import compare as compare
    from karat.runs.compare.comparison import Compared as Compared
    from karat.runs.compare.rank import rank as rank
    from karat.runs.compare.ranked import Ranked as Ranked
    from karat.runs.compare.verdicts import rank_verdicts as rank_verdicts
    from karat.runs.experiment.experiment import experiment as experiment
    from karat.runs.judge.examination import Examination as Examination
    from karat.runs.judge.examine import examine as examine
    from karat.runs.labels.labels import Labels as Labels
    from karat.runs.sampling.next_rows import label_next as label_next
    from karat.runs.scoring.pipeline import score as score
    from karat.runs.scoring.result import Result as Result
    from karat.runs.scoring.wide import score_systems as score_systems
    from karat.stats.value import Value as Value
    from karat.viewer.report.report import report as report
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".": "metrics",
            ".core.columns.kinds": "Counts Graded Ids Json Messages Number Score Subtopics Text Texts",
            ".core.errors": "ColumnError DataError JoinError KaratError MissingExtra RowError SpecError",
            ".core.metric.decorator": "metric",
            ".core.metric.inner": "Samples",
            ".core.metric.metric": "Metric",
            ".core.metric.rows": "Rows",
            ".core.metric.score": "Inner",
            ".core.version": "__version__",
            ".data.open": "spans",
            ".judges.judge": "Judge",
            ".models.batch.governor": "BatchGovernor",
            ".models.governor.faults": "ModelError",
            ".models.governor.governor": "Governor",
            ".runs.compare.compare": "compare",
            ".runs.compare.comparison": "Compared",
            ".runs.experiment.experiment": "experiment",
            ".runs.labels.labels": "Labels",
            ".runs.judge.examination": "Examination",
            ".runs.judge.examine": "examine",
            ".runs.compare.rank": "rank",
            ".runs.compare.ranked": "Ranked",
            ".runs.compare.verdicts": "rank_verdicts",
            ".runs.sampling.next_rows": "label_next",
            ".runs.scoring.pipeline": "score",
            ".runs.scoring.result": "Result",
            ".runs.scoring.wide": "score_systems",
            ".stats.value": "Value",
            ".viewer.report.report": "report",
        },
    )
