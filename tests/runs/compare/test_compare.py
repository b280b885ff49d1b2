"""Systems compared row by row: which rows belong together, what is refused, and what is said of the difference."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import karat
from karat.data.storage.checksums import seal
from karat.errors import ColumnError, DataError, JoinError, SpecError
from karat.runs.compare.compare import compare
from karat.runs.match.keys import align
from karat.runs.match.systems import open_system
from karat.stats.paired.multiple import holm

random = np.random.default_rng(5)
N = 60
ROWS = {
    "id": [f"q{row}" for row in range(N)],
    "question": [f"what is {row}?" for row in range(N)],
    "gold": [[f"{row}", f"number {row}"] for row in range(N)],
    "topic": ["odd" if row % 2 else "even" for row in range(N)],
}


@pytest.fixture(autouse=True)
def _runs_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)


def answers(right):
    """The rows with a system's predictions: the gold where `right`, else a lie."""
    return {**ROWS, "prediction": [f"number {row}" if ok else "a lie" for row, ok in enumerate(right)]}


RIGHT_A, RIGHT_B = random.random(N) < 0.4, random.random(N) < 0.7
ROWS_A = answers(RIGHT_A)


def shuffled(rows, seed=3):
    order = np.random.default_rng(seed).permutation(N)
    return {name: [cells[row] for row in order] for name, cells in rows.items()}


def only(compared):
    (finding,) = compared.findings
    return finding


@pytest.fixture
def pair():
    for name, rows in (("a", answers(RIGHT_A)), ("b", shuffled(answers(RIGHT_B)))):
        karat.score(rows, ["em", "f1", "bleu"], run=name)
    return "a", "b"


def mid_p(wins, losses):
    return stats.binomtest(wins, wins + losses).pvalue - stats.binom.pmf(wins, wins + losses, 0.5)


def test_a_difference_is_tested_as_scipy_tests_it(pair):
    finding = only(compare(*pair, metrics="em"))
    wins, losses = (RIGHT_B & ~RIGHT_A).sum(), (RIGHT_A & ~RIGHT_B).sum()
    assert (finding.comparison.wins, finding.comparison.losses) == (wins, losses)
    assert finding.comparison.difference == pytest.approx(RIGHT_B.mean() - RIGHT_A.mean())
    assert finding.comparison.p == pytest.approx(mid_p(int(wins), int(losses)))


def test_runs_files_folders_and_results_say_the_same(pair, tmp_path):
    a = karat.score(answers(RIGHT_A), ["em", "f1"], output="a.jsonl", keep=False)
    b = karat.score(shuffled(answers(RIGHT_B)), ["em", "f1"])
    karat.score(answers(RIGHT_B), ["em", "f1"], output="b.csv")
    said = [
        compare(*systems, metrics=["em", "f1"]).findings
        for systems in ((*pair,), ("a.jsonl", "b.csv"), (tmp_path / "karat-runs" / "a", b), (a, "b"))
    ]
    numbers = [[each.comparison.as_dict() for each in findings] for findings in said]
    assert all(each == numbers[0] for each in numbers[1:])


def test_the_order_of_rows_does_not_matter():
    reference = compare(karat.score(answers(RIGHT_A), "f1"), karat.score(answers(RIGHT_B), "f1"))
    for seed in range(3):
        a, b = (karat.score(shuffled(answers(right), seed + at), "f1") for at, right in enumerate((RIGHT_A, RIGHT_B)))
        assert compare(a, b).findings == reference.findings


def test_swapping_the_systems_turns_the_difference_around(pair):
    for there, back in zip(compare(*pair).findings, compare(*pair[::-1]).findings, strict=True):
        assert there.comparison.difference == pytest.approx(-back.comparison.difference)
        assert (there.comparison.wins, there.comparison.p) == (back.comparison.losses, pytest.approx(back.comparison.p))


def test_each_metric_and_slice_of_each_system_is_in_one_family(pair):
    karat.score(answers(RIGHT_A), ["em", "f1", "bleu"], run="c")
    compared = compare(*pair, "c", by="topic")
    told = [(each.metric, each.system, each.slice) for each in compared.findings]
    assert told == [(m, s, p) for m in ("em", "f1", "bleu") for s in "bc" for p in (None, "even", "odd")]
    assert [each.adjusted for each in compared.findings] == holm([each.comparison.p for each in compared.findings])
    for each in compared.findings:
        assert (each.verdict != "unclear") == (each.adjusted <= 0.05)
    assert all(
        each.verdict == "unclear" and each.comparison.ties > 0 for each in compared.findings if each.system == "c"
    )
    assert "score the same on every row" in next(each.sentence for each in compared.findings if each.system == "c")


def test_a_slice_is_what_its_rows_alone_say(pair):
    found = {each.slice: each.comparison for each in compare(*pair, metrics="em", by="topic").findings}
    odd = np.arange(N) % 2 == 1
    assert found["odd"].difference == pytest.approx(RIGHT_B[odd].mean() - RIGHT_A[odd].mean())
    assert found["odd"].n + found["even"].n == found[None].n == N


def test_a_corpus_metric_is_compared_by_its_counts(pair):
    finding = only(compare(*pair, metrics="bleu"))
    whole = [karat.score(answers(right), "bleu").values["bleu"].value for right in (RIGHT_A, RIGHT_B)]
    assert (finding.comparison.a, finding.comparison.b) == tuple(whole)
    assert finding.comparison.test == "student"


def test_a_result_in_memory_has_no_counts_and_says_so():
    results = [karat.score(answers(right), "bleu") for right in (RIGHT_A, RIGHT_B)]
    with pytest.raises(DataError, match="counts"):
        compare(*results)


def test_clusters_are_those_the_runs_were_scored_with():
    a, b = ({**answers(right), "passage": [row // 6 for row in range(N)]} for right in (RIGHT_A, RIGHT_B))
    karat.score(a, "em", cluster="passage", run="a")
    karat.score(b, "em", cluster="passage", run="b")
    by_default, asked = compare("a", "b"), compare(karat.score(a, "em"), karat.score(b, "em"), cluster="passage")
    assert only(by_default).comparison == only(asked).comparison
    assert (only(by_default).comparison.units, only(by_default).comparison.test) == (10, "student")
    assert "passage" in by_default.notes[0]


# which rows belong together


def both(left, right, **how):
    return compare(karat.score(left, "em"), karat.score(right, "em"), **how)


def without(rows, *names):
    return {name: cells for name, cells in rows.items() if name not in names}


@pytest.mark.parametrize(
    ("left_out", "by"),
    [((), "id"), (("id",), "question"), (("id", "question"), "order")],
    ids=["id", "question", "order"],
)
def test_rows_belong_together_by_id_else_by_question_else_by_order(left_out, by):
    compared = both(without(answers(RIGHT_A), *left_out), without(answers(RIGHT_B), *left_out))
    assert compared.by == by
    assert only(compared).comparison.wins == (RIGHT_B & ~RIGHT_A).sum()


def test_an_id_that_is_not_unique_is_none_and_the_question_is_taken():
    a, b = ({**answers(right), "id": ["same"] * N} for right in (RIGHT_A, RIGHT_B))
    assert both(a, b).by == "question"
    with pytest.raises(JoinError, match="column 'id' has 'same' more than once"):
        both(a, b, on="id")


def test_an_id_that_is_a_list_is_none():
    a, b = ({**answers(right), "id": [[row] for row in range(N)]} for right in (RIGHT_A, RIGHT_B))
    assert both(a, b).by == "question"


def test_ids_compare_as_text():
    a, b = ({**answers(right), "id": ids} for right, ids in ((RIGHT_A, range(N)), (RIGHT_B, map(str, range(N)))))
    assert only(both(a, {**b, "id": list(b["id"])})).comparison.n == N


def test_rows_that_one_side_only_has_are_an_error_that_counts_them():
    few = {name: cells[:-2] for name, cells in answers(RIGHT_B).items()}
    with pytest.raises(JoinError, match=r"2 of 60 rows only in A \(such as q58, q59\); 0 of 58 rows only in B"):
        both(answers(RIGHT_A), few)


def test_nothing_to_align_by_is_an_error_that_names_the_flag():
    a = without(answers(RIGHT_A), "id", "question")
    b = without(shuffled(answers(RIGHT_B)), "id", "question")
    with pytest.raises(JoinError, match="--on"):
        both(a, b)
    with pytest.raises(ColumnError, match="no column 'nr'"):
        both(a, b, on="nr")


def test_a_null_id_is_none():
    with pytest.raises(JoinError, match="column 'id' is null or empty in row 1"):
        both({**answers(RIGHT_A), "id": [None, *ROWS["id"][1:]]}, answers(RIGHT_B), on="id")


def test_an_alignment_gives_the_rows_of_each_run():
    runs = [open_system(karat.score(rows, "em"), name) for name, rows in (("a", ROWS_A), ("b", shuffled(ROWS_A)))]
    rows = align(runs)
    for run, order in zip(runs, rows.orders, strict=True):
        assert run.column("id").take(pa.array(order)).to_pylist() == rows.ids.to_pylist() == sorted(ROWS["id"])


# what is refused


def test_other_settings_are_refused_by_name():
    a, b = karat.score(answers(RIGHT_A), "f1(normalize=none)"), karat.score(answers(RIGHT_B), "f1")
    with pytest.raises(DataError, match=r"scored differently in A and B: normalize='none' and normalize='squad'"):
        compare(a, b)
    assert only(compare(a, b, allow_different=True)).metric == "token_f1(normalize='none')"


def test_another_version_of_a_metric_is_refused(pair, tmp_path):
    path = tmp_path / "karat-runs" / "b" / "manifest.json"
    manifest = re.sub(r"(token_f1\(.*?)\|version=\d+", r"\1|version=99", path.read_text())
    path.write_text(json.dumps(seal(json.loads(manifest))))
    with pytest.raises(DataError, match="f1 was scored differently in a and b: version=1 and version=99"):
        compare(*pair)
    assert only(compare(*pair, metrics="em")).verdict == "better"


def test_other_gold_is_refused_and_named():
    other = {**answers(RIGHT_B), "gold": [*ROWS["gold"][:7], ["another"], *ROWS["gold"][8:]]}
    with pytest.raises(DataError, match=r"different gold: it differs in 1 of 60 rows, first in the row with id q7\b"):
        both(answers(RIGHT_A), shuffled(other))
    assert both(answers(RIGHT_A), other, allow_different=True).n == N


def test_one_reference_is_the_same_gold_as_a_list_of_it():
    single = {**answers(RIGHT_A), "gold": [each[1] for each in ROWS["gold"]]}
    listed = {**answers(RIGHT_B), "gold": [each[1:] for each in ROWS["gold"]]}
    assert both(single, listed).n == N


def test_metrics_that_only_one_has_are_left_out_and_named():
    compared = compare(karat.score(ROWS_A, ["em", "f1"]), karat.score(answers(RIGHT_B), ["em", "contains"]))
    assert [each.metric for each in compared.findings] == ["em"]
    assert "not compared: f1, contains" in compared.notes
    with pytest.raises(SpecError, match="no metric was scored in all"):
        compare(karat.score(ROWS_A, "f1"), karat.score(ROWS_A, "em"))
    with pytest.raises(SpecError, match="f1 was not scored"):
        compare(karat.score(ROWS_A, "f1"), karat.score(ROWS_A, "em"), metrics="f1")


def test_a_file_that_does_not_say_how_it_was_scored_is_noted(pair):
    karat.score(answers(RIGHT_B), "em", output="b.parquet")
    assert "b.parquet: a file does not say how it was scored" in compare("a", "b.parquet").notes[-1]


def test_what_is_not_there_is_named():
    with pytest.raises(DataError, match="no run 'nothing'"):
        compare("nothing", "nowhere")
    with pytest.raises(ColumnError, match="no column 'topics'; did you mean 'topic'"):
        both(ROWS_A, ROWS_A, by="topics")
    with pytest.raises(ColumnError, match="'gold' holds list"):
        both(ROWS_A, ROWS_A, by="gold")
    with pytest.raises(SpecError, match="found list"):
        compare([1, 2], "a")
    with pytest.raises(SpecError, match="em is given twice"):
        both(ROWS_A, ROWS_A, metrics=["em", "exact_match(normalize=squad)"])


# what is said


def test_rows_without_a_score_that_could_turn_the_verdict_are_told():
    gaps = {**answers(RIGHT_B)}
    gaps["prediction"] = [None if row < 30 else said for row, said in enumerate(gaps["prediction"])]
    finding = only(both(answers(RIGHT_A), gaps))
    assert finding.could_turn
    assert "the 30 rows without a score in A or B could turn this" in finding.sentence
    assert (finding.comparison.missing_b, finding.comparison.scored) == (30, 30)


def test_where_no_difference_shows_the_smallest_visible_is_told():
    finding = only(both(answers(RIGHT_A), answers(np.roll(RIGHT_A, 1))))
    assert finding.verdict == "unclear"
    points = float(re.search(r"the smallest this data could show is ([\d.]+) points", finding.sentence)[1])
    assert points == pytest.approx(100 * finding.smallest_visible, abs=0.05)
    assert points > 100 * abs(finding.comparison.difference)


def test_with_more_tests_less_can_be_seen(pair):
    alone, among = only(compare(*pair, metrics="f1")), compare(*pair, by="topic").findings[3]
    assert among.metric == alone.metric
    assert among.smallest_visible >= alone.smallest_visible
    assert "after Holm over 9" in among.sentence
    assert "Holm" not in alone.sentence


def test_fewer_errors_are_better():
    rows = {"id": range(40), "gold": ["a b c d"] * 40}
    karat.score({**rows, "prediction": ["a b c x"] * 40}, "wer", run="bad")
    karat.score({**rows, "prediction": ["a b c d"] * 40}, "wer", run="good")
    finding = only(compare("bad", "good"))
    assert finding.comparison.difference < 0
    assert finding.verdict == "better"
    assert finding.sentence.startswith("good is better than bad by 0.25 [")
    assert compare("good", "bad").worse == compare("good", "bad").findings


def test_the_rows_that_flipped_are_losses_then_gains_with_what_both_said(pair):
    compared = compare(*pair, metrics="em", flipped=3)
    lost, won = compared.flipped[:3], compared.flipped[3:]
    assert [flip.scores for flip in lost] == [(1.0, 0.0)] * 3
    assert [flip.scores for flip in won] == [(0.0, 1.0)] * 3
    for flip in compared.flipped:
        row = int(flip.id[1:])
        assert flip.question == f"what is {row}?"
        assert flip.predictions == tuple(f"number {row}" if right[row] else "a lie" for right in (RIGHT_A, RIGHT_B))
    assert json.loads(json.dumps(compared.as_dict()))["flipped"][0]["id"] == lost[0].id


def test_json_holds_every_finding(pair):
    said = json.loads(json.dumps(compare(*pair, by="topic").as_dict(), allow_nan=False))
    assert (said["systems"], said["n"], said["aligned_by"], said["family"]) == (["a", "b"], N, "id", 9)
    finding = said["findings"][0]
    assert finding["verdict"] == "better"
    assert finding["slice"] is None
    assert finding["p_adjusted"] >= finding["p"]


def test_a_comparison_shows_itself(pair):
    assert re.match(r"<karat.Compared of a, b on 60 rows\n  em: b is better than a by", repr(compare(*pair)))


def test_no_rows_are_no_difference():
    nothing = {"id": pa.array([], pa.string()), "prediction": pa.array([], pa.string())}
    finding = only(both(*[pa.table({**nothing, "gold": pa.array([], pa.string())})] * 2))
    assert finding.comparison.p is None
    assert finding.sentence.startswith("nothing can be said of A and B: no row is scored in both")


def test_systems_without_any_score_leave_the_others_as_they_are(pair):
    unscored = {**ROWS_A, "prediction": pa.nulls(N, pa.string())}
    for name in ("null", "null_too"):
        karat.score(unscored, "bleu", run=name)
    nothing = "nothing can be said of null and {}: no row is scored in both"
    found = [each.sentence for each in compare("null", "b", "null_too").findings]
    assert found == [nothing.format(name) for name in ("b", "null_too")]
    alone = only(compare("a", "b", metrics="bleu")).comparison
    among = [each.comparison for each in compare("a", "null", "null_too", "b", metrics="bleu").findings]
    assert [each.scored for each in among] == [0, 0, N]
    assert among[-1] == alone


def test_a_result_in_memory_never_reads_a_folder(pair):
    results = [karat.score(answers(right), ["em", "bleu"]) for right in (RIGHT_A, RIGHT_B)]
    before = compare(*results, metrics="em").findings
    for name, run in (("A", "b"), ("B", "a")):
        Path("karat-runs", run).rename(name)
    assert compare(*results, metrics="em").findings == before
    with pytest.raises(DataError, match="counts"):
        compare(*results, metrics="bleu")


@pytest.mark.parametrize("there", [False, True], ids=["neither", "one"])
def test_counts_that_no_row_has_in_both_say_nothing(pair, there):
    karat.score({**ROWS_A, "prediction": pa.nulls(N, pa.string())}, "bleu", run="null")
    finding = only(compare("a" if there else "null", "null", metrics="bleu"))
    assert (finding.sentence, finding.verdict) == (
        f"nothing can be said of {finding.first} and {finding.system}: no row is scored in both",
        "unclear",
    )


def test_runs_of_one_name_are_told_apart(pair):
    compared = compare("a", "a", "b", metrics="em")
    assert compared.systems == ("a", "a (2)", "b")


# real systems


def test_gold_that_differs_between_two_published_files_is_found(real_data):
    """The file of EviGen has 95 questions with references that the others have not."""
    folder = real_data("qa_human_openqa_eval") / "model_outputs"
    a, b = (karat.score(folder / f"NQ_{name}.jsonl.gz", "em") for name in ("DPR", "EviGen"))
    with pytest.raises(DataError, match="differs in 95 of 3610 rows, first in the row with question "):
        compare(a, b)


def test_published_systems_compare_as_scipy_says(real_data):
    folder = real_data("qa_human_openqa_eval") / "model_outputs"
    results = [karat.score(folder / f"NQ_{name}.jsonl.gz", "em(normalize=squad)") for name in ("FiD", "FiD-KD")]
    a, b = (
        dict(zip(r.table["question"].to_pylist(), r.table[r.metrics[0].spec].to_pylist(), strict=True)) for r in results
    )
    wins, losses = (sum(b[q] - a[q] == sign for q in a) for sign in (1, -1))
    found = only(compare(*results)).comparison
    assert (found.wins, found.losses) == (wins, losses)
    assert found.p == pytest.approx(mid_p(wins, losses))
