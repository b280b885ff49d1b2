"""Labels until an interval is narrow: the order, the plan and the stop in the journal, and what they follow from."""

import json
from dataclasses import replace

import numpy as np
import pytest

import karat
from karat.core.errors import DataError, SpecError
from karat.runs.labels.narrowing import JudgeBeside, LabelRule
from karat.runs.labels.rows_to_label import RowToLabel, open_rows_to_label
from karat.runs.labels.session import Session
from karat.runs.labels.table import read_labels
from karat.runs.sampling.free_metrics import read_rule
from karat.stats.sequential.population import Population
from karat.stats.sequential.sequence import ConfidenceSequence
from karat.stats.sequential.until import Until

N = 200
ROWS = [RowToLabel(str(at), None, None) for at in range(N)]
CHOICES = {"bad": 0.0, "fair": 0.5, "good": 1.0}
NAMES = list(CHOICES)
RANDOM = np.random.default_rng(3)
TRUTH = RANDOM.choice(3, N, p=[0.2, 0.1, 0.7])
JUDGED = np.where(RANDOM.random(N) < 0.9, TRUTH / 2, 0.0)
RULE = LabelRule(Until(width=0.25))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.jsonl"


def session(path, rule=RULE, annotator="ada", seed=0):
    return Session(ROWS, path, annotator, CHOICES, seed, rule)


def label(started, rows=N):
    """Label so many rows as they come, every tenth of them skipped."""
    for _ in range(rows):
        if (at := started.current) is None:
            return
        if at % 10:
            started.label(NAMES[TRUTH[at]], at)
        else:
            started.skip(at)


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_labelling_stops_when_the_interval_is_as_narrow_as_wished(path):
    started = session(path)
    label(started)
    now = started.interval
    assert now.high - now.low <= 0.25
    assert 0 < now.finished < N
    assert now.stop == f"stopped at {now.finished} of 200 rows, by its rule (width 0.25)"
    assert now.low <= TRUTH[np.arange(N) % 10 > 0].mean() / 2 <= now.high
    assert [line["action"] for line in (lines(path)[0], lines(path)[-1])] == ["plan", "stop"]
    assert lines(path)[-1]["stop"] == now.as_dict()


def test_the_interval_is_the_one_of_the_sequence(path):
    started = session(path, LabelRule(Until(width=0.15), free={"judge": JUDGED}))
    label(started, 40)
    order = started.order
    sequence = ConfidenceSequence(Population(np.ones(N), (0.0, 1.0), JUDGED[order][:, None]), width=0.15)
    first = order[:40]
    there = np.array([at % 10 > 0 for at in first], float)
    sequence.add(TRUTH[first] / 2 * there, there)
    now = started.interval
    assert (now.value, now.low, now.high) == (sequence.value, sequence.low, sequence.high)
    assert (now.finished, now.more) == (40, sequence.rows_to(0.15))
    plain = session(path.with_name("plain.jsonl"), LabelRule(Until(width=0.15)))
    label(plain, 40)
    assert plain.interval.high - plain.interval.low > now.high - now.low


def test_where_a_judge_was_not_asked_its_mean_stands_in(path, tmp_path):
    asked = np.where(np.arange(N) % 3 == 0, JUDGED, np.nan)
    filled = np.where(np.isnan(asked), np.nanmean(asked), asked)
    intervals = []
    for at, scores in enumerate((asked, filled)):
        started = session(tmp_path / f"{at}.jsonl", LabelRule(Until(width=0.15), free={"judge": scores}))
        label(started, 30)
        intervals.append(started.interval)
    assert intervals[0] == intervals[1]


def test_after_all_rows_the_interval_is_a_number(path):
    started = session(path, LabelRule(Until(width=1e-9)))
    label(started)
    now = started.interval
    assert now.low == now.value == now.high == pytest.approx(TRUTH[np.arange(N) % 10 > 0].mean() / 2)
    assert now.stop == "stopped at 200 of 200 rows, by the end of the rows"


def test_killed_and_continued_it_is_the_same_and_no_row_comes_twice(path, tmp_path):
    whole = session(tmp_path / "whole.jsonl")
    label(whole)
    seen = list[int]()
    while (at := (again := session(path)).current) is not None:  # each time as if it had been killed
        seen.append(at)
        label(again, 7)
    assert again.interval == whole.interval
    assert len(seen) == len(set(seen))
    assert [line["action"] for line in lines(path)].count("plan") == 1
    assert [line["action"] for line in lines(path)].count("stop") == 1


def test_a_label_that_is_corrected_counts_as_if_it_had_been_right_at_once(path, tmp_path):
    right, started = session(tmp_path / "right.jsonl"), session(path)
    label(right)
    end, wrong = right.interval.finished, next(at for at in right.order[3:] if at % 10)
    for at in right.order[:end]:
        marked = right.mark(at)
        if marked.label is None:
            started.skip(at)
        else:
            started.label("bad" if at == wrong else marked.label, at)
    assert started.interval != right.interval
    started.undo(wrong)
    assert started.interval.finished == right.order.index(wrong)  # later labels wait for it
    assert started.current == wrong
    started.label(NAMES[TRUTH[wrong]], wrong)
    assert started.interval == right.interval
    label(started)
    assert lines(path)[-1]["action"] == "stop"


def test_rows_that_are_labelled_before_their_turn_wait(path):
    started = session(path)
    label(started, 20)
    before = started.interval
    later = [at for at in started.order[30:50] if at % 10]
    for at in later:
        started.label("good", at)
    assert started.interval == before


def test_annotators_have_intervals_of_their_own(path):
    ada, bob = session(path), session(path, LabelRule(Until(width=0.5)), "bob", seed=4)
    label(ada)
    label(bob, 5)
    assert bob.interval.finished == 5
    label(bob)
    assert {line["annotator"] for line in lines(path) if line["action"] == "stop"} == {"ada", "bob"}
    labels = read_labels(str(path), on="id")
    assert labels.annotators == ("ada", "bob")
    assert [stop.split(":")[0] for stop in labels.notes] == [
        f"{name} {each.interval.stop}" for name, each in (("ada", ada), ("bob", bob))
    ]
    assert len(labels) == sum(~np.isnan(labels.mean))


def test_money_ends_it_too(path):
    rule = LabelRule(Until(width=0.1, cost=20), price=0.3)
    started = session(path, rule)
    label(started)
    assert started.interval.finished == 66
    assert started.interval.spent == 19.8
    assert started.interval.stop == "stopped at 66 of 200 rows, by its rule (cost $20)"


def test_a_smaller_width_goes_on_with_the_same_bets(path):
    label(session(path))
    stopped = session(path).interval
    further = session(path, LabelRule(Until(width=0.2)))
    assert (further.interval.low, further.interval.high) == (stopped.low, stopped.high)
    assert further.current is not None
    label(further)
    assert further.interval.high - further.interval.low <= 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, r"was begun with the seed \(--seed\) 0, now it is 1"),
        ({"rule": replace(RULE, free={"judge": JUDGED})}, r"with the metrics \(-m\) none, now it is judge"),
    ],
)
def test_another_plan_is_refused(path, change, message):
    label(session(path), 3)
    with pytest.raises(DataError, match=message):
        session(path, **change)


def test_scores_that_came_later_do_not_change_an_interval(path):
    asked = np.where(np.arange(N) % 3 == 0, JUDGED, np.nan)
    label(session(path, replace(RULE, free={"judge": asked})), 3)
    session(path, replace(RULE, free={"judge": asked.copy()}))
    with pytest.raises(DataError, match="begun with the scores of its metrics, by their digest, "):
        session(path, replace(RULE, free={"judge": JUDGED}))


def test_a_plan_that_is_none_says_where(path):
    path.write_text('{"id": "", "annotator": "ada", "action": "plan", "plan": {"seed": 0}}\n')
    with pytest.raises(DataError, match="expected the plan of an interval"):
        session(path)


def test_what_no_interval_is_valid_for_is_refused(path):
    drawn = [RowToLabel("a", None, 0.5), RowToLabel("b", None, 0.5)]
    with pytest.raises(SpecError, match="drawn with probabilities"):
        Session(drawn, path, "ada", CHOICES, rule=RULE)
    with pytest.raises(SpecError, match="one system, found several"):
        Session([RowToLabel("a", "x", None), RowToLabel("a", "y", None)], path, "ada", CHOICES, rule=RULE)
    with pytest.raises(SpecError, match="labels of two scores expected"):
        Session(ROWS, path, "ada", {"good": 1.0}, rule=RULE)
    with pytest.raises(SpecError, match="scores of 200 rows expected, found 3"):
        session(path, LabelRule(Until(width=0.1), free={"judge": np.ones(3)}))
    with pytest.raises(SpecError, match="a price of a label above 0 and up to the cost of 2"):
        LabelRule(Until(cost=2))
    with pytest.raises(SpecError, match="at most 3 metrics narrow an interval, found 4: a, b, c, d"):
        LabelRule(Until(width=0.1), free=dict.fromkeys("abcd", JUDGED))
    with pytest.raises(SpecError, match="width=0: expected a number above 0"):
        Until(width=0)
    with pytest.raises(SpecError, match="expected a width, a cost or a decision"):
        Until()


def test_metrics_of_a_run_narrow_it_and_its_labels_correct_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": at, "question": "?", "prediction": "a" if JUDGED[at] > 0.5 else f"b{at}", "gold": "a"} for at in range(N)
    ]
    result = karat.score(rows, ["em", "bleu", "rouge_l", "token_f1", "token_recall"], run="first")
    assert list(read_rule(["first"], (), Until(width=0.1)).free) == ["em", "rouge_l", "token_f1"]
    rule = read_rule(["first"], ["token_f1", "judge:correctness"], Until(width=0.25))
    np.testing.assert_array_equal(rule.free["token_f1"], result.run.scores("token_f1"))
    assert list(rule.free) == ["token_f1"]  # the judge has scored nothing, and offers its labels
    with pytest.raises(SpecError, match="cannot narrow the interval of a mean"):
        read_rule(["first"], ["bleu"], Until(width=0.1))
    with pytest.raises(SpecError, match="wer was not scored"):
        read_rule(["first"], ["wer"], Until(width=0.1))
    with pytest.raises(SpecError, match="about the rows of one system, found 2"):
        read_rule(["first", "first"], (), Until(width=0.1))
    path = tmp_path / "labels.jsonl"
    started = Session(open_rows_to_label(["first"]).rows, path, "ada", CHOICES, rule=rule)
    label(started)
    scored = karat.score(rows, "token_f1", human=str(path), on="id")
    assert scored.corrected["token_f1"].labelled == sum(line["action"] == "label" for line in lines(path))
    note = f"ada {started.interval.ended}"
    assert note in scored.as_dict()["human"]["notes"]
    assert note in karat.examine("first", human=str(path), metrics="token_f1").notes
    started.undo()  # and the rule has not ended the labelling any more
    assert read_labels(str(path), on="id").notes == []


# a judge that is asked meanwhile


def beside(ratio=2, known=None, lacking=(), calls=None):
    """A judge who knows JUDGED, and keeps in `calls` what it is asked."""

    def ask(rows):
        if calls is not None:
            calls.extend(rows)
        return np.array([np.nan if at in lacking else JUDGED[at] for at in rows])

    nothing = np.full(N, np.nan)
    return JudgeBeside("judge:fake", "judge:fake|version=1", ratio, 0.01, nothing if known is None else known, ask)


def by_hand(order, rows, verdicts, ratio=2, width=0.15, seed=0):
    """The sequence of the first rows, fed with their verdicts and those of rows drawn by a seed of their own."""
    draws = np.random.default_rng([seed, 1]).integers(N, size=(N, ratio))[:rows]
    sequence = ConfidenceSequence(Population(np.ones(N), cheap=True), width=width)
    first = order[:rows]
    there = np.array([at % 10 > 0 for at in first], float)
    cheap = np.column_stack([verdicts[first], verdicts[draws].mean(axis=1)])
    sequence.add(TRUTH[first] / 2 * there, there, cheap)
    return sequence, set(first) | set(draws.ravel().tolist())


@pytest.mark.parametrize("lacking", [(), range(0, N, 4)])
def test_a_judge_is_asked_about_rows_that_are_labelled_and_others(path, lacking):
    calls = list[int]()
    rule = LabelRule(Until(width=0.15), 0.5, judge=beside(lacking=lacking, calls=calls))
    label(session(path, rule), 17)
    started = session(path, rule)  # as if it had been killed
    started.prepare(started.current)
    label(started, 23)
    verdicts = JUDGED.copy()
    verdicts[list(lacking)] = 0.5  # the middle of the scale
    sequence, wanted = by_hand(started.order, 40, verdicts)
    now = started.interval
    assert (now.value, now.low, now.high) == (sequence.value, sequence.low, sequence.high)
    assert sorted(calls) == sorted(wanted)  # no row twice
    assert (now.verdicts, now.spent) == (len(wanted), pytest.approx(40 * 0.5 + len(wanted) * 0.01))
    assert f" after 40 of 200 rows, {len(wanted)} verdicts, ${now.spent:.2f}; about " in str(now)
    assert session(path, rule).interval == now
    at = started.order[5]
    mark = started.mark(at)
    started.undo(at)
    started.skip(at) if mark.label is None else started.label(mark.label, at)
    assert started.interval == now
    assert len(calls) == len(wanted)
    assert len(read_labels(str(path), on="id")) == sum(line["action"] == "label" for line in lines(path)[:-2])


def test_verdicts_that_are_known_are_not_asked_for(path, tmp_path):
    calls = list[int]()
    known = np.where(np.arange(N) % 3 == 0, JUDGED, np.nan)
    started = session(path, LabelRule(Until(width=0.15), judge=beside(known=known, calls=calls)))
    label(started, 30)
    assert calls
    assert all(at % 3 for at in calls)
    sequence, _ = by_hand(started.order, 30, JUDGED)
    assert (started.interval.low, started.interval.high) == (sequence.low, sequence.high)
    with pytest.raises(DataError, match=r"begun with the judge \(--model\) judge:fake, now it is none"):
        session(path)


def test_where_all_rows_are_asked_first_the_verdicts_are_a_free_metric(path, tmp_path):
    calls = list[int]()
    rule = LabelRule(Until(width=0.15), judge=beside(0, lacking={3, 4}, calls=calls))
    started = session(path, rule)
    assert calls == list(range(N))
    label(started, 30)
    again = session(path, replace(rule, judge=beside(4, calls=calls)))  # other prices: the plan stays
    assert len(calls) == N
    verdicts = JUDGED.copy()
    verdicts[[3, 4]] = np.nan
    free = session(tmp_path / "free.jsonl", LabelRule(Until(width=0.15), free={"judge:fake": verdicts}))
    label(free, 30)
    for each in (started.interval, again.interval):
        assert (each.low, each.high, each.verdicts) == (free.interval.low, free.interval.high, N)
    with pytest.raises(DataError, match="has no verdict on any of 200 rows: raise --budget"):
        session(tmp_path / "none.jsonl", LabelRule(Until(width=0.15), judge=beside(0, lacking=range(N))))


def test_money_is_for_labels_and_verdicts(path):
    started = session(path, LabelRule(Until(width=0.01, cost=10), 0.3, judge=beside()))
    label(started)
    now = started.interval
    assert now.stop == f"stopped at {now.finished} of 200 rows, by its rule (cost $10)"
    assert now.spent == pytest.approx(now.finished * 0.3 + now.verdicts * 0.01)
    assert 10 - 0.33 < now.spent <= 10
    with pytest.raises(SpecError, match=r"found 0\.33"):
        LabelRule(Until(cost=0.3), 0.3, judge=beside())


def test_verdicts_in_a_journal_that_are_none_say_where(path):
    path.write_text('{"id": "", "annotator": "ada", "action": "judge", "judge": {"rows": ["x"], "scores": [1]}}\n')
    with pytest.raises(DataError, match="line 1: expected verdicts on these rows"):
        session(path)
