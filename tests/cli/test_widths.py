"""What commands print fits the width of a terminal, however long the names are."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from karat.cli.main import main

TOPICS = [
    "東京タワーの話題について" * 2,
    "e\u0301le\u0301ments " * 5,
    "short",
    "a-very-long-name-without-any-space-in-it" * 2,
]
SYSTEMS = ["before-the-change-of-the-prompt", "after", "third"]
LABELS = ["--human", "ada", "--human", "bob", "--label-map", "good=1,bad=0"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    random = np.random.default_rng(1)

    def invoke(*words, width=80):
        environment = {"COLUMNS": str(width), "KARAT_RUNS": str(folder / "runs"), "NO_COLOR": "1"}
        done = CliRunner(env=environment).invoke(main, [word.replace("FOLDER", str(folder)) for word in words])
        assert done.exit_code == 0, done.output
        return done.output

    for system, share in zip(SYSTEMS, (0.3, 0.6, 0.8), strict=True):
        rows = [
            {"id": n, "topic": TOPICS[n % 4], "gold": "yes", "prediction": ["no", "yes"][int(random.random() < share)]}
            | {who: ["bad", "good"][random.integers(2)] for who in ("ada", "bob")}
            for n in range(40)
        ]
        rows[5]["prediction"] = None
        (folder / f"{system}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        metrics = ["-m", "exact_match", "-m", "token_f1(normalize='unicode')"]
        invoke("score", f"FOLDER/{system}.jsonl", *metrics, "--by", "topic", "--run", system)
    return invoke


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize(
    "words",
    [
        ["runs", "show", "after"],
        ["runs"],
        ["score", "FOLDER/after.jsonl", "-m", "exact_match", *LABELS[:2], *LABELS[4:], "--by", "topic"],
        ["compare", *SYSTEMS, "--by", "topic", "--flipped", "1"],
        ["compare", *SYSTEMS[:2], *LABELS[:2], *LABELS[4:]],
        ["judge", "after", *LABELS, "--by", "topic", "--errors", "1"],
        ["show", "after"],
        ["power", "--run", "after", "--difference", "0.1"],
        ["metrics"],
        ["metrics", "token_f1"],
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_every_line_fits(run, words, width):
    lines = run(*words, width=width).splitlines()
    assert [line for line in lines if cell_len(line) > width and "/" not in line] == []  # a path stays whole


@pytest.mark.parametrize("width", [40, 80])
def test_the_interval_stands_at_every_width(run, width):
    (line,) = (
        line for line in run("compare", *SYSTEMS[:2], "-m", "exact_match", width=200).splitlines() if "mcnemar" in line
    )
    interval = line[line.index(" to ") - 6 : line.index(" to ") + 10]
    assert interval in run("compare", *SYSTEMS[:2], "-m", "exact_match", width=width)
