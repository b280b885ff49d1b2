"""False praise and blame: one definition, with its cut, of scores that exist and of judges that are asked."""

import numpy as np
import pytest

import karat

N = 120


def figures(scores, labels, *, spec="column(judge, low=0, high=1)", **more):
    """What is said of scores that exist, and of the same scores when rows are scored anew: praise, blame, the cut."""
    rows = {"id": [f"r{at}" for at in range(len(scores))], "judge": scores, "question": ["?"] * len(scores)}
    rows |= {
        "prediction": [f"answer {at}" for at in range(len(scores))],
        "page": [at // 4 for at in range(len(scores))],
    }
    order = np.random.default_rng(0).permutation(len(scores))
    people = labels if isinstance(labels, dict) else {"label": list(labels)}
    options = {"human": {"id": [f"r{at}" for at in order]}, "on": "id", **more}
    options["human"] |= {name: [each[at] for at in order] for name, each in people.items()}
    if "ann" in people:  # of several people, as columns of the rows
        rows, options = rows | people, {"human": list(people), **more}
    one = karat.examine(rows, spec, **options).judges[0].people
    other = karat.examine(rows, spec, where="judge >= 0", **options).judges[0].people
    assert [one.false_praise, one.false_blame] == [other.false_praise, other.false_blame]
    assert one == other
    return one


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["labels", "grades", "thirds", "halves", "random", "few"])
@pytest.mark.parametrize("options", [{}, {"cluster": "page", "confidence": 0.8}])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_scores_that_exist_and_rows_scored_anew_give_the_same_figures(kind, seed, options, direction):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, N).astype(float)
    scores = {
        "labels": np.where(random.random(N) < 0.8, labels, 1 - labels),
        "grades": np.clip(np.round(labels + random.normal(0, 0.4, N), 1), 0, 1),
        "thirds": random.choice([0.0, 0.5, 1.0], N),
        "halves": np.full(N, 0.5),
        "random": random.random(N),
        "few": random.choice([0.25, 0.5], N),
    }[kind]
    spec = f"column(judge, low=0, high=1, direction={direction})"
    found = figures(scores.tolist(), labels, spec=spec, **options)
    assert found.false_praise.value is not None


def test_the_same_figures_from_several_people_weights_and_graded_labels():
    random = np.random.default_rng(1)
    scores = random.choice([0.0, 0.25, 0.5, 0.75, 1.0], N).tolist()
    three = [random.choice([0.0, 1.0], N).tolist() for _ in range(3)]
    figures(scores, dict(zip(("ann", "bob", "cat"), three, strict=True)))
    figures(scores, dict(zip(("ann", "bob"), three, strict=False)))  # some rows are tied
    figures(scores, {"label": three[0], "probability": random.choice([0.2, 1.0], N).tolist()})
    for grades in ([0.0, 0.5, 1.0], [0.0, 0.1, 0.2, 0.7, 0.9]):
        figures(random.random(N).tolist(), random.choice(grades, N))


def test_a_judge_that_always_says_the_middle_is_half_wrong_both_ways():
    labels = [0.0] * 30 + [1.0] * 90
    found = figures([0.5] * N, labels)
    assert (found.false_praise.value, found.false_praise.n) == (0.5, 30)
    assert (found.false_blame.value, found.false_blame.n) == (0.5, 90)
    assert (found.error_cut, found.on_cut) == (0.5, N)
    assert found.false_praise.low > 0
    assert found.false_praise.high < 1


@pytest.mark.parametrize(("said", "praise", "blame"), [(0.4, 0.0, 1.0), (0.5, 0.5, 0.5), (0.6, 1.0, 0.0)])
def test_a_score_on_the_cut_lies_between_one_below_and_one_above(said, praise, blame):
    found = figures([said] * N, [0.0, 1.0] * (N // 2))
    assert (found.false_praise.value, found.false_blame.value) == (praise, blame)


def test_the_cut_is_said_in_words():
    labels = [0.0, 1.0] * (N // 2)
    rows = {"id": list(range(N)), "judge": [0.5] * N, "prediction": ["x"] * N, "human": labels}
    (found,) = karat.examine(rows, "column(judge, low=0, high=1)", human="human").judges
    assert "cut at 0.5, on which 120 scores lie, each half an error" in " ".join(found.sentences)
