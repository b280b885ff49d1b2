"""Two checkouts of karat, side by side: the same work through the public API and the command line, in turn.

    python bench/revisions.py OLD NEW [rounds]

OLD and NEW are folders of built checkouts (their `src` is put on the path; kernels are compiled in place). Each task
runs in processes of its own; what is timed, by the processor, excludes the preparation, and includes the start for
whole commands.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from side_by_side import machine

ROWS = """
import random, time, json
random.seed(7)
words = [f"w{n}" for n in range(3000)]
def text(): return " ".join(random.choices(words, k=random.randint(1, 6)))
predictions = [text() for _ in range(N)]
references = [[p if random.random() < 0.4 else text() for _ in range(random.randint(1, 3))] for p in predictions]
"""
RANKINGS = """
import random, time
random.seed(7)
ids = [f"doc-{n:07}" for n in range(5000)]
retrieved = [random.sample(ids, 10) for _ in range(N)]
relevant = [{d: random.randint(0, 3) for d in random.sample(r, 4) + random.sample(ids, 3)} for r in retrieved]
"""
STORED = (
    ROWS
    + """
import karat, os, tempfile, pyarrow as pa
folder = tempfile.TemporaryDirectory()
os.environ["KARAT_RUNS"] = folder.name
names = {"id": [f"q{n * 7919 % 10**7}" for n in range(len(predictions))], "question": [f"{p}?" for p in predictions]}
table = pa.table({**names, "prediction": predictions, "references": references})
karat.score(table, ["em", "f1"], run="a")
karat.score(table.set_column(2, "prediction", pa.array(predictions[1:] + predictions[:1])), ["em", "f1"], run="b")
"""
)
TASKS = {
    "EM + F1, a million rows in memory": ROWS.replace("N)", "1_000_000)")
    + """
import karat, pyarrow as pa
table = pa.table({"prediction": predictions, "references": references})
def work(): karat.score(table, ["exact_match(normalize=squad)", "token_f1"], keep=False)
""",
    "exact_match and token_f1 called, 300,000 rows": ROWS.replace("N)", "300_000)")
    + """
import pyarrow as pa
from karat.metrics import exact_match, token_f1
columns = pa.array(predictions), pa.array(references)
def work(): exact_match(*columns, normalize="squad"); token_f1(*columns)
""",
    "one row, called": ROWS.replace("N)", "10)")
    + """
from karat.metrics import token_f1
def work():
    for _ in range(2000): token_f1(["the cat sat"], [["cat sat down", "dog"]])
""",
    "rankings, 100,000 queries, four metrics": RANKINGS.replace("N)", "100_000)")
    + """
import karat, pyarrow as pa
graded = pa.array([list(each.items()) for each in relevant], pa.map_(pa.string(), pa.float64()))
table = pa.table({"retrieved": pa.array(retrieved), "relevant": graded})
def work(): karat.score(table, ["map", "mrr", "recall@5", "ndcg@10"], keep=False)
""",
    "evaluate_dataframe, exact_match, 100,000 rows": ROWS.replace("N)", "100_000)")
    + """
import pandas
from karat.adapters.phoenix import bind_evaluator, evaluate_dataframe, exact_match
frame = pandas.DataFrame({"output": predictions, "expected": [each[0] for each in references]})
def work(): evaluate_dataframe(frame, [exact_match])
""",
    "compare, two runs of 200,000 rows": ROWS.replace("N)", "200_000)")
    + """
import karat, pyarrow as pa
table = pa.table({"id": [str(n) for n in range(len(predictions))], "prediction": predictions, "references": references})
a = karat.score(table, ["em", "f1"])
b = karat.score(table.set_column(1, "prediction", pa.array(predictions[1:] + predictions[:1])), ["em", "f1"])
def work(): karat.compare(a, b)
""",
    "compare, two stored runs of 200,000 rows": STORED.replace("N)", "200_000)")
    + """
def work(): karat.compare("a", "b")
""",
    "compare, two stored runs of 2,000,000 rows": STORED.replace("N)", "2_000_000)")
    + """
def work(): karat.compare("a", "b")
""",
    "report of two stored runs of 200,000 rows": STORED.replace("N)", "200_000)")
    + """
def work(): karat.report("a", "b", output=f"{folder.name}/report.html", overwrite=True)
""",
    "a run of a million rows is kept, with by": STORED.replace("N)", "1_000_000)")
    + """
import itertools
table = table.append_column("topic", pa.array([f"t{n % 40}" for n in range(len(predictions))]))
names = map("kept{}".format, itertools.count())
def work(): karat.score(table, ["em", "f1"], by="topic", run=next(names))
""",
    "a judge of 3,000 rows, in this process": ROWS.replace("N)", "3_000)")
    + """
import karat
from karat.judges.judge import Judge
from karat.models.testing.fake import FakeModel
rows = {"question": predictions, "prediction": predictions, "reference": [each[0] for each in references]}
def work(): karat.score(rows, Judge("correctness", model=FakeModel({"explanation": "e", "label": "correct"})))
""",
}
TIMED = """
work()
times = []
for _ in range(3):
    start = time.process_time(); work(); times.append(time.process_time() - start)
print(min(times))
"""


def main() -> None:
    """Print the median seconds of each task on both sides, and their ratio."""
    sides = [Path(each).resolve() for each in sys.argv[1:3]]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    print(machine())
    for name, code in TASKS.items():
        report(name, [inside(side, code + TIMED) for side in sides], rounds)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        write = "\nwith open(PATH, 'w') as f:\n    for p, r in zip(predictions, references):\n"
        write += "        f.write(json.dumps({'prediction': p, 'references': r}) + '\\n')\n"
        exec(ROWS.replace("N)", "1_000_000)") + write.replace("PATH", repr(str(rows))), {})  # noqa: S102
        few = Path(folder) / "few.jsonl"
        few.write_text("".join(rows.read_text("utf-8").splitlines(keepends=True)[:12]), "utf-8")
        metrics = ["-m", "exact_match(normalize=squad)", "-m", "token_f1"]
        commands = {
            "JSON Lines to Parquet, a million rows": ["score", str(rows), *metrics, "-o", f"{folder}/out.parquet"],
            "karat score, twelve rows": ["score", str(few), *metrics],
            "karat --help": ["--help"],
        }
        for name, words in commands.items():
            report(name, [command(side, words) for side in sides], rounds if "million" in name else 3 * rounds)


def report(name: str, sides: list[Callable[[], float]], rounds: int) -> None:
    """Run both sides in turn and print one line."""
    seconds: list[list[float]] = [[], []]
    for _ in range(rounds):
        for taken, side in zip(seconds, sides, strict=True):
            taken.append(side())
    old, new = map(median, seconds)
    ratios = [b / a for a, b in zip(*seconds, strict=True)]
    print(f"{name:48} {old:8.3f} s  {new:8.3f} s  new/old {median(ratios):5.2f}", flush=True)


def inside(side: Path, code: str) -> Callable[[], float]:
    """A process that prints the seconds its work takes."""

    def run() -> float:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], env=environment(side), check=True, capture_output=True, text=True
        )
        return float(done.stdout.split()[-1])

    return run


def command(side: Path, words: list[str]) -> Callable[[], float]:
    """A whole command, its start included."""

    def run() -> float:
        start = processor_seconds()
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "karat", *words], env=environment(side), check=True, capture_output=True
        )
        return processor_seconds() - start

    return run


def processor_seconds() -> float:
    """Seconds of all cores that the ended processes took."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def environment(side: Path) -> dict[str, str]:
    """The environment in which `import karat` is that of a checkout."""
    return {**os.environ, "PYTHONPATH": str(side / "src")}


if __name__ == "__main__":
    main()
