"""`karat.bundle`: runs in one file with all that their numbers rest on, whose digest stands for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat.core.errors import DataError, SpecError
from karat.data.storage.addresses import join_path
from karat.data.storage.files import temporary_folder
from karat.data.write import refuse_overwriting
from karat.runs.export.bundle.archive import MemberContent, write_archive
from karat.runs.export.bundle.cite import digest_manifest
from karat.runs.export.bundle.people import LABELS, collect_labels, collect_patch
from karat.runs.export.bundle.verdicts import COMPARED, VERDICTS, compare_runs
from karat.runs.labels.labels import Labels
from karat.runs.store.folders import MANIFEST
from karat.runs.store.run import Run, open_run
from karat.runs.store.verify import verify_run


@dataclass(frozen=True)
class Bundle:
    """A bundle that was written: its path, its digest, and remarks about what it lacks."""

    path: Path
    digest: str
    notes: tuple[str, ...] = ()


def bundle(
    *runs: str | Path | Run,
    output: str | Path,
    texts: bool = True,
    human: Any = None,
    label_map: Mapping[str, float] | str | None = None,
    gold_patch: str | Path | None = None,
    **compared: Any,
) -> Bundle:
    """Write runs to one file, from which `karat.verify` derives every score, value, interval and verdict again.

    A run is named as in `karat.open_run`. The file, a zip, holds its files as they are: the rows, the values, and the
    manifest with signatures, settings, seeds and versions; of judges what they were asked and replied, from the cache
    of replies; and of several runs how `karat.compare` compares them, each with the first. The same runs make the same
    bytes, and the digest of the bundle is the last link of a chain of digests of all that it holds.

    Without `texts` a digest stands in the place of each question, gold, answer and further text, ids stay, and nothing
    that judges read or said is in it: values are derived from the scores again then, and scores are not. `human`,
    `label_map`: the labels by people with which the runs were scored, or are compared, as in `karat.compare`.
    `gold_patch`: the file with which gold was patched; by default it is looked for in the working directory.
    `compared`: how runs are compared, by the arguments `metrics`, `by`, `cluster`, `on`, `margin`, `confidence` and
    `seed` of `karat.compare`; `on` also joins `human`.

    Raises `DataError` for a run that is missing, not finished or damaged, for two of one name, for labels or a patch
    with which a run was not scored, and for an output that cannot be written; `SpecError` where no run is named.

    >>> import karat, os, tempfile
    >>> rows = {"id": [1, 2], "gold": ["Paris", "Rome"], "prediction": ["Paris", "Milan"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.environ["KARAT_RUNS"] = folder
    ...     run = karat.score(rows, "em", run="first").run
    ...     written = bundle(run, output=f"{folder}/first.zip")
    ...     verified = karat.verify(f"{folder}/first.zip")
    >>> len(written.digest), verified.digest == written.digest, verified.state
    (64, True, 'equal')
    """
    if unknown := compared.keys() - set(COMPARED):
        raise SpecError(f"bundle has no argument {min(unknown)!r}; how runs are compared: {', '.join(COMPARED)}")
    opened = [_open(each) for each in runs]
    if not opened:
        raise SpecError("expected the name of a run, or several")
    for at, run in enumerate(opened):
        if run.name.casefold() in {each.name.casefold() for each in opened[:at]}:
            raise DataError(f"two runs are called {run.name}: a bundle holds each once")
    if (alone := sorted(compared.keys() - ({"on"} if human is not None else set()))) and len(opened) == 1:
        raise SpecError(f"{alone[0]} says how runs are compared, and there is one")
    refuse_overwriting(output, *(join_path(run.path, MANIFEST) for run in opened))
    with temporary_folder() as folder:
        gathering = _Gathering(opened, Path(folder), texts, Labels.of(human, label_map), gold_patch, compared)
        index = write_archive(output, *gathering.gather())
        return Bundle(Path(output), index.digest, tuple(gathering.notes))


@dataclass(frozen=True)
class _Gathering:
    """The members of a bundle, some of them written to a folder, and `notes` about what is missing."""

    runs: Sequence[Run]
    folder: Path
    texts: bool
    human: Labels | None
    gold_patch: str | Path | None
    compared: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)

    def gather(self) -> tuple[dict[str, Any], dict[str, MemberContent]]:
        """What the bundle is about, and its members by name."""
        members, lacking = dict[str, MemberContent](), dict[str, int]()
        labels = {}
        if self.human is not None:
            labels = collect_labels(self.human, self.compared.get("on"), self.runs, self.folder)
        for run in self.runs:
            files = self._digest(run) if not self.texts else self._collect(run, lacking)
            files |= {LABELS: labels[run.name]} if run.name in labels else {}
            members |= {f"runs/{run.name}/{name}": content for name, content in files.items()}
            if run.values.get("human") and run.name not in labels:
                self.notes.append(f"{run.name} was corrected by labels that are not in the bundle: add them (--human)")
        if len(self.runs) > 1:
            verdicts, refused = compare_runs(self.runs, self.compared, self.human)
            members |= {} if verdicts is None else {VERDICTS: verdicts}
            self.notes.extend([] if refused is None else [f"no verdicts are in the bundle: {refused}"])
        about = {"texts": self.texts, "runs": {run.name: digest_manifest(run) for run in self.runs}}
        return about | ({"lacking": lacking} if lacking else {}), members

    def _collect(self, run: Run, lacking: dict[str, int]) -> dict[str, MemberContent]:
        """The files of a run, and what its numbers rest on besides; `lacking`: how many scores lack a reply, by run."""
        files: dict[str, MemberContent] = {
            name: str(join_path(run.path, name)) for name in (MANIFEST, *sorted(run.manifest.files))
        }
        further: list[tuple[Mapping[str, MemberContent], str]] = [collect_patch(run, self.gold_patch, self.folder)]
        if any("judge:" in spec for spec in run.specs):
            from karat.runs.export.bundle.replies import collect_replies  # noqa: PLC0415  (only for judges)

            replies, problem, lacking[run.name] = collect_replies(run)
            further.append((replies, problem))
        for members, problem in further:
            files |= dict(sorted(members.items()))
            self.notes.extend(filter(None, [problem]))
        return files

    def _digest(self, run: Run) -> dict[str, MemberContent]:
        """The files of a run without its texts."""
        from karat.runs.export.bundle.digested import write_digested  # noqa: PLC0415  (seldom)

        read = [] if self.human is None else [*self.human.columns_of(run.schema.names), self.human.strata]
        names = write_digested(run, self.folder / run.name, read)
        return {name: self.folder / run.name / name for name in names}


def _open(run: str | Path | Run) -> Run:
    """A finished run whose files are as they were written."""
    run = run if isinstance(run, Run) else open_run(run)
    if run.state != "finished":
        raise DataError(run.note)
    if problems := verify_run(run.path).problems:
        raise DataError(problems[0])
    return run
