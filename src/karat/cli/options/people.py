"""What the commands that read labels by people share: their flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from click import UsageError, option

from karat.cli.options.completion import COLUMN, LABELS
from karat.cli.options.scoring import Command, add_options

if TYPE_CHECKING:
    from karat.runs.labels.labels import Labels

_OPTIONS = [
    option("--human", multiple=True, type=LABELS, help="Labels by people: a file, joined by --on, or a column."),
    option("--label-map", metavar="MAP", help="The score of each label: good=1,bad=0, or bad<fair<good."),
    option("--label-column", "label_columns", multiple=True, type=COLUMN, help="A column of labels in the file."),
]
_CORRECTION = [
    option("--strata", type=COLUMN, help="Rows to label were drawn separately from each of its values."),
    option("--these-rows", is_flag=True, help="Correct to the value of exactly these rows, not of rows like them."),
    option(
        "--human-threshold", metavar="NUMBER|fit",
        help="Scores from here on count as yes, where people's labels are yes and no; fit: find it from the labels.",
    ),
]  # fmt: skip


def correction_options(command: Command) -> Command:
    """Give a command the flags of labels, and of how they correct."""
    return add_options(command, [*_OPTIONS, *_CORRECTION])


def label_options(command: Command) -> Command:
    """Give a command the flags of labels."""
    return add_options(command, _OPTIONS)


def read_label_options(
    options: dict[str, Any], system: str | None = None, *, systems: Sequence[str] = ()
) -> Labels | None:
    """Take the flags of labels out of a command's options; None where there is no `--human`.

    `system` is the run whose rows are scored. Of several `systems`, each may have a file of its own, SYSTEM=FILE; of
    one, that says which of the systems in a file is meant.
    """
    source, label_map, columns = (options.pop(name) for name in ("human", "label_map", "label_columns"))
    strata, finite = options.pop("strata", None), options.pop("these_rows", False)
    threshold = _read_threshold(options.pop("human_threshold", None))
    if not source:
        if strata or finite or threshold is not None:
            raise UsageError("--strata, --these-rows and --human-threshold say how labels correct: --human LABELS")
        return None
    from karat.runs.labels.labels import Labels  # noqa: PLC0415  (only where people labelled rows)

    files = _name_files(source)
    if not systems and len({name for name, _ in files}) == 1:
        system, source = files[0][0], [file for _, file in files]
    human = Labels(source[0] if len(source) == 1 else list(source), label_map, columns, system)
    if systems and files:
        human = replace(human, source=_by_system(files, systems))
    return replace(human, strata=strata, finite=finite, threshold=threshold)


def _read_threshold(text: str | None) -> float | Literal["fit"] | None:
    if text is None or text == "fit":
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--human-threshold {text!r}: a number or fit expected") from None


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
        raise UsageError("which labels? --label-map good=1,bad=0, or -m judge:NAME for those of a judge")
    judged = judge_choices([parse(metric)]) if metric else []
    if metric and not judged:
        raise UsageError(f"-m {metric}: expected a judge that answers with a label; --label-map says others")
    choices = judged[0] if judged else parse_label_map(label_map or "")
    if len(choices) > most:
        raise UsageError(f"expected at most {most} labels, found {len(choices)}")
    return choices
