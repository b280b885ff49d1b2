"""What the commands that read labels by people share: their flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from click import Context, Parameter, UsageError

from karat.cli.options.completion import COLUMN, LABELS
from karat.cli.options.scoring import option_group
from karat.cli.options.sections import options_under

if TYPE_CHECKING:
    from karat.runs.labels.labels import Labels


def _read_threshold(_: Context, __: Parameter, text: str | None) -> float | str | None:
    if text is None or text == "fit":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--human-threshold {text!r}: a number or fit expected") from None


option = options_under("Labels by people")
_OPTIONS = [
    option("--human", multiple=True, type=LABELS, help="Labels by people: a file, joined by --on, or a column."),
    option("--label-map", metavar="MAP", help="The score of each label: good=1,bad=0, or bad<fair<good."),
    option("--label-column", "label_columns", multiple=True, type=COLUMN, help="A column of labels in the file."),
]
_CORRECTION = [
    option("--strata", type=COLUMN, help="Rows to label were drawn separately from each of its values."),
    option("--these-rows", is_flag=True, help="Correct to the value of exactly these rows, not of rows like them."),
    option(
        "--human-threshold", metavar="NUMBER|fit", callback=_read_threshold,
        help="Scores from here on count as yes, where people's labels are yes and no; fit: find it from the labels.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class LabelOptions:
    """The options of labels by people, and of how they correct."""

    human: tuple[str, ...]
    label_map: str | None
    label_columns: tuple[str, ...]
    strata: str | None = None
    these_rows: bool = False
    human_threshold: float | Literal["fit"] | None = None

    def read(self, system: str | None = None, *, systems: Sequence[str] = ()) -> Labels | None:
        """The labels; None where there is no `--human`.

        `system` is the run whose rows are scored. Of several `systems`, each may have a file of its own, SYSTEM=FILE;
        of one, that says which of the systems in a file is meant.
        """
        if not self.human:
            if self.strata or self.these_rows or self.human_threshold is not None:
                raise UsageError("--strata, --these-rows and --human-threshold say how labels correct: --human LABELS")
            return None
        from karat.runs.labels.labels import Labels  # noqa: PLC0415  (only where people labelled rows)

        source: Any = self.human
        files = _name_files(source)
        if systems and files:
            source = _by_system(files, systems)
        else:
            if len({name for name, _ in files}) == 1:
                system, source = files[0][0], [file for _, file in files]
            source = source[0] if len(source) == 1 else list(source)
        return Labels(
            source, self.label_map, self.label_columns, system, self.strata, self.these_rows, self.human_threshold
        )


label_options = option_group("people", LabelOptions, _OPTIONS)
"""Give a command the flags of labels; it gets them as `people`."""
correction_options = option_group("people", LabelOptions, [*_OPTIONS, *_CORRECTION])
"""The same, with options of how labels correct."""


def _by_system(files: Sequence[tuple[str, str]], systems: Sequence[str]) -> dict[str, str]:
    """The file of each system; an error for one that is not compared."""
    from karat.runs.labels.systems import find_system  # noqa: PLC0415  (only where people labelled rows)

    for name, file in files:
        if find_system(name, systems) is None:
            known = ", ".join(systems)
            raise UsageError(f"--human {name}={file}: there is no system {name!r}; there are {known}")
    return dict(files)


def _name_files(texts: Sequence[str]) -> list[tuple[str, str]]:
    """The system and the file of each text, where all are SYSTEM=FILE; else []."""
    from karat.data.storage.addresses import is_file  # noqa: PLC0415

    pairs = [text.partition("=") for text in texts]
    named = [(name, file) for name, equals, file in pairs if equals and is_file(file)]
    return named if len(named) == len(pairs) and not any(is_file(text) for text in texts) else []


def read_choices(label_map: str | None, metric: str | None, most: int) -> Mapping[str, float]:
    """The labels that are offered, and their scores, in the order of their keys: at most `most`."""
    from karat.core.metric.spec import parse  # noqa: PLC0415  (heavy)
    from karat.runs.labels.choices import judge_choices, parse_label_map  # noqa: PLC0415

    if (label_map is None) == (metric is None):
        raise UsageError("which labels? --label-map good=1,bad=0, or -m judge:NAME for a judge's labels")
    judged = judge_choices([parse(metric)]) if metric else []
    if metric and not judged:
        raise UsageError(f"-m {metric}: expected a judge that answers with a label; --label-map says others")
    choices = judged[0] if judged else parse_label_map(label_map or "")
    if len(choices) > most:
        raise UsageError(f"expected at most {most} labels, found {len(choices)}")
    return choices
