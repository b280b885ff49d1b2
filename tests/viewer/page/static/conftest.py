"""Runs of two systems with a judge, and of answers that attack the page."""

import pytest

import karat
from karat.judges import Judge
from karat.models.testing.fake import FakeModel

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "abc\u202edcba\u202c \u2066x\u2069",
    "nul \0 and a tab\tend",
    "tag\U000e0041 and no break\ufeff",
    "word " * 200_000,
    "",
]


def _rows(n, answers):
    topics = ["place", "time", "person"]
    return [
        {"id": f"q{i:02}", "question": f"Where is {i}?", "reference": ["in the north", "north"], "topic": topics[i % 3],
         "contexts": ["The north is where it is."], "prediction": answers[i % len(answers)]}
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory):
    """`first` and `second` on 120 rows, with a judge; `hostile-a` and `hostile-b`, whose answers attack the page."""
    folder = tmp_path_factory.mktemp("view") / "karat-runs"
    judge = Judge("correctness", model=FakeModel({"explanation": "It names the north.", "label": "correct"}))
    systems = {"first": ["in the south", "north", "I do not know"], "second": ["in the north", "south", "in a house"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder))
        for name, answers in systems.items():
            karat.score(_rows(120, answers), ["exact_match", "token_f1", judge], run=name)
        for name, answers in (("hostile-a", HOSTILE), ("hostile-b", [text[:40] for text in HOSTILE])):
            karat.score(_rows(len(HOSTILE), answers), ["exact_match"], run=name)
    return folder


@pytest.fixture(scope="session")
def served(runs_folder, serve):
    """The page over these runs, without labels."""
    return serve(runs_folder)


@pytest.fixture
def labelling(runs_folder, serve, tmp_path):
    """Start the page with a file of labels, as often as it is called; the file is `labelling.file`."""

    def start(*more):
        options = ["--labels", start.file, "--label-map", "right=1,wrong=0", "--annotator", "ada"]
        return serve(runs_folder, *options, *more)

    start.file = tmp_path / "labels.jsonl"
    return start
