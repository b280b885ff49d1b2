"""TREC's runs and qrels, long tables and dicts of dicts: read exactly, ranked as trec_eval ranks, wrong lines named."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.errors import DataError, RowError
from karat.data.open import open_source
from karat.data.retrieval import trec
from karat.data.retrieval.group import group_by_query
from karat.data.retrieval.long_table import find_query_column

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytrec_eval = pytest.importorskip("pytrec_eval")

RUN = "1 Q0 a 1 3.5 x\n1 Q0 b 2 2.5 x\n2 Q0 c 1 1e1 x\n"
LONG = [{"query_id": q, "doc_id": d, "score": s} for q, d, s in (("1", "a", 3.5), ("1", "b", 2.5), ("2", "c", 10.0))]


@pytest.fixture
def write(tmp_path):
    def file(content, name="run.txt"):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return file


def rows(source):
    return [row for batch in source.batches() for row in batch.to_pylist()]


def ranked(data):
    return {row["query_id"]: row["retrieved"] for row in rows(group_by_query(open_source(data), "prediction"))}


def judged(data):
    return {row["query_id"]: dict(row["relevant"]) for row in rows(group_by_query(open_source(data), "reference"))}


@pytest.mark.parametrize("name", ["run.txt", "run", "a.run", "a.trec", "a.res", "run.txt.gz", "run.bm25.dl19"])
def test_a_run_is_known_by_its_content(name, write):
    assert rows(open_source(write(RUN, name))) == LONG


def test_qrels_are_known_by_their_content(write):
    found = rows(open_source(write("1 0 a 2\n1 0 b -1\n", "a.qrels")))
    assert [row["relevance"] for row in found] == [2.0, -1.0]


@pytest.mark.parametrize(
    "content",
    [
        RUN.replace(" ", "\t"),
        RUN.replace(" ", " \t  "),
        RUN.replace("\n", "\r\n"),
        RUN.replace("\n", "\r"),
        RUN.replace("\n", "  \n\n \t\n"),
        RUN.removesuffix("\n"),
        "\ufeff" + RUN,
        "  " + RUN.replace("\n", "\n  "),
        "# BM25\n" + RUN.replace("\n2", "\n  # the second: 1 Q0 z 1 9 x\n2") + "#",
    ],
)
def test_spaces_line_ends_and_comments_say_nothing(content, write):
    assert rows(open_source(write(content))) == LONG


def test_comments_are_counted_and_a_hash_inside_an_id_is_none(write):
    source = open_source(write("# one\n1 Q0 #a 1 3 x\n1 Q0 b#b 2 2 x # two\n".replace(" # two", "#two") + "#three\n"))
    assert [row["doc_id"] for row in rows(source)] == ["#a", "b#b"]
    assert source.notes == {"comments": 2}


def test_ids_keep_their_spelling(write):
    path = write("007 Q0 1e3 1 3 x\n7 Q0 NA 1 2 x\n7 Q0 'q\" 1 1 x\n7 Q0 caf\u00e9\u00a0\u3000z 1 0 x\n")
    assert [(row["query_id"], row["doc_id"]) for row in rows(open_source(path))] == [
        ("007", "1e3"),
        ("7", "NA"),
        ("7", "'q\""),
        ("7", "caf\u00e9\u00a0\u3000z"),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "2 Q0 c 1 1.5",
            r"line 3: expected 6 fields \(query, Q0, document, rank, score, tag\), found 5: '2 Q0 c 1 1.5'",
        ),
        ("2 Q0 c 1 1.5 x2 Q0 d 2 1.5 x", "line 3: expected 6 fields .* found 11"),
        ("2 Q0 c 1 high x", "line 3: expected a number as the score, found 'high'"),
        ("2 Q0 c 1 nan x", "line 3: expected a number as the score, found 'nan'"),
        ("2 Q0 c 1 1_0 x", "line 3: expected a number as the score, found '1_0'"),
        (b"2 Q0 \xff 1 1 x", "line 3: not UTF-8"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_wrong_line_of_a_run_is_named(line, said, end, write):
    line = line if isinstance(line, bytes) else line.encode()
    path = write(b"# mine\n1 Q0 a 1 3.5 x\n".replace(b"\n", end) + line + end + RUN.encode())
    with pytest.raises(RowError, match=f"run.txt, {said}"):
        rows(open_source(path))


def test_a_tag_may_hold_spaces(write):
    found = rows(open_source(write(b"1 Q0 a 1 3.5 my own run\n1 Q0 b 2 2.5 x\n")))
    assert [row["doc_id"] for row in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "said"),
    [("1 0 b", "expected 4 fields .* found 3"), ("1 0 b yes", "the grade, found 'yes'"), ("1 0 b 1 1", "found 5")],
)
def test_a_wrong_line_of_qrels_is_named(line, said, write):
    with pytest.raises(RowError, match=f"q.txt, line 2: .*{said}"):
        rows(open_source(write(f"1 0 a 1\n{line}\n1 0 c 0\n", "q.txt")))


def test_a_wrong_line_is_named_far_into_a_file(write, monkeypatch):
    monkeypatch.setattr(trec, "_BLOCK_BYTES", 64)
    path = write(RUN * 20 + "# a comment\n\n2 Q0 c 1\n")
    with pytest.raises(RowError, match="line 63: expected 6 fields"):
        rows(open_source(path))


@pytest.mark.parametrize("size", [1, 2, 7, 20, 64])
def test_blocks_of_any_size_give_the_same_rows(size, write, monkeypatch):
    monkeypatch.setattr(trec, "_BLOCK_BYTES", size)
    content = "\ufeff# x\r\n" + (RUN * 3).replace("\n", "\r\n")
    assert rows(open_source(write(content))) == LONG * 3


def test_a_file_that_breaks_off_is_named(write):
    path = write(gzip.compress((RUN * 10_000).encode())[:-400], "run.bin")
    path = path.rename(path.with_name("run.txt.gz"))
    with pytest.raises(DataError, match=r"run\.txt\.gz"):
        rows(open_source(path))


def test_other_files_without_a_telling_name_are_read_as_before(write):
    assert rows(open_source(write("id,answer\n1,b\n", "a.txt"))) == [{"id": "1", "answer": "b"}]
    assert rows(open_source(write('{"id": 1, "answer": 2, "c": 3}\n', "b.txt"))) == [{"id": 1, "answer": 2, "c": 3}]


def test_a_tsv_of_qrels_needs_no_header_and_one_with_a_header_keeps_it(write):
    assert judged(write("19335\t0\t1017759\t2\n19335\t0\t7\t0\n", "qrels.dev.tsv")) == {"19335": {"1017759": 2, "7": 0}}
    assert judged(write("qid\titer\tdoc\trel\n1\t0\ta\t1\n1\t0\tb\t0\n", "qrels.tsv")) == {"1": {"a": 1, "b": 0}}


def test_the_best_score_stands_first_whatever_the_ranks_say(write):
    assert ranked(write("1 Q0 a 1 1 x\n1 Q0 b 2 3 x\n1 Q0 c 3 2 x\n")) == {"1": ["b", "c", "a"]}


def test_equal_scores_stand_by_id_from_the_last_by_its_bytes(write):
    path = write("".join(f"1 Q0 {d} 1 1 x\n" for d in ("a", "\u00e9", "B", "\U0001f600", "\uffee", "a1")))
    assert ranked(path) == {"1": ["\U0001f600", "\uffee", "\u00e9", "a1", "a", "B"]}


def test_scores_are_equal_where_single_precision_has_them_equal(write):
    assert ranked(write("1 Q0 a 1 1.00000001 x\n1 Q0 b 2 1 x\n")) == {"1": ["b", "a"]}
    assert ranked(write("1 Q0 a 1 1e300 x\n1 Q0 b 2 1e200 x\n1 Q0 c 3 -1e400 x\n")) == {"1": ["b", "a", "c"]}


scores = st.sampled_from([0.0, 0.5, 0.50000001, 1.0, -2.0, 1e30]) | st.floats(-100, 100)
documents = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=3)


@given(st.dictionaries(st.sampled_from("1234"), st.dictionaries(documents, scores, min_size=1, max_size=9), min_size=1))
def test_the_order_is_pytrec_evals(run):
    # the reciprocal rank tells the rank of the one relevant document
    for query, order in ranked(run).items():
        qrels = {f"{query}-{at}": {document: 1} for at, document in enumerate(order)}
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"})
        found = evaluator.evaluate({f"{query}-{at}": run[query] for at in range(len(order))})
        assert [round(1 / found[f"{query}-{at}"]["recip_rank"]) for at in range(len(order))] == [
            *range(1, len(order) + 1)
        ]


def test_queries_keep_their_order_and_scattered_ones_are_gathered(write):
    lines = "".join(f"{q} Q0 {q}{d} 1 {d} x\n" for d in range(3) for q in (9, 1, 5))
    expected = {q: [f"{q}2", f"{q}1", f"{q}0"] for q in "915"}
    assert list(ranked(write(lines)).items()) == list(expected.items())


@pytest.mark.parametrize("scattered", [False, True])
def test_many_batches_give_what_one_gives(scattered, write, monkeypatch):
    random = np.random.default_rng(7)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(300), 20), "docno": random.integers(0, 99, 6000)})
    frame["score"] = random.integers(0, 9, 6000) / 7
    frame = frame.drop_duplicates(["qid", "docno"])
    frame = frame.sample(frac=1, random_state=1) if scattered else frame
    parts = pa.Table.from_pandas(frame, preserve_index=False).to_batches(max_chunksize=17)
    by_bytes = frame.assign(score=frame.score.astype(np.float32), text=frame.docno.astype(str)).sort_values(
        ["score", "text"], ascending=False, kind="stable"
    )
    expected = {str(q): by_bytes[by_bytes.qid == q].text.to_list() for q in frame.qid.unique()}
    found = ranked(pa.RecordBatchReader.from_batches(parts[0].schema, parts))
    assert list(found.items()) == list(expected.items())


def test_a_document_twice_is_kept_in_a_run_and_counted(write):
    run = group_by_query(open_source(write("1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n1 Q0 a 3 1 x\n2 Q0 a 1 1 x\n")), "prediction")
    assert [row["retrieved"] for row in rows(run)] == [["a", "b", "a"], ["a"]]
    assert run.notes == {"comments": 0, "duplicates": 1}


def test_a_document_twice_has_its_largest_grade_and_is_counted(write):
    path = write("1 0 b 1\n1 0 a 0\n1 0 b 2\n1 0 b -1\n2 0 a 3\n", "q.txt")
    qrels = group_by_query(open_source(path), "reference")
    assert [row["relevant"] for row in rows(qrels)] == [[("b", 2.0), ("a", 0.0)], [("a", 3.0)]]
    assert qrels.notes == {"comments": 0, "duplicates": 2}


SUBTOPICS = "2 1 x 1\n1 1 a 1\n1 2 a 3\n1 2 b -1\n1 1 b 0\n1 1 a 2\n2 3 x 0\n"


def test_qrels_of_diversity_tracks_are_grouped_by_document_and_subtopic(write):
    lines = [line.split() for line in SUBTOPICS.splitlines()]
    table = {name: [line[at] for line in lines] for at, name in enumerate(("query_id", "iteration", "doc_id", "grade"))}
    named = {"subtopic" if name == "iteration" else name: column for name, column in table.items()}
    for data in (write(SUBTOPICS, "q.txt"), pl.DataFrame(table), pd.DataFrame(named)):
        qrels = group_by_query(open_source(data), "reference")
        assert qrels.schema.names == ["query_id", "relevant", "subtopics"]
        assert [list(row.values()) for row in rows(qrels)] == [
            ["2", [("x", 1.0)], [("x", [("1", 1.0), ("3", 0.0)])]],
            ["1", [("a", 3.0), ("b", 0.0)], [("a", [("1", 2.0), ("2", 3.0)]), ("b", [("1", 0.0), ("2", -1.0)])]],
        ]
        assert qrels.notes["duplicates"] == 1


@pytest.mark.parametrize("iteration", ["0", "Q0"])
def test_an_iteration_that_never_varies_is_no_subtopic(iteration, write):
    table = {"query_id": ["1", "1"], "iteration": [iteration] * 2, "doc_id": ["a", "b"], "relevance": [1, 0]}
    for data in (write(f"1 {iteration} a 1\n1 {iteration} b 0\n", "q.txt"), pl.DataFrame(table)):
        assert group_by_query(open_source(data), "reference").schema.names == ["query_id", "relevant"]


@given(
    st.lists(
        st.tuples(st.sampled_from("12"), st.sampled_from("123"), st.sampled_from("abcd"), st.integers(-1, 3)),
        min_size=1,
    )
)
def test_judgements_by_subtopic_are_those_of_each_line(lines):
    table = pl.DataFrame(lines, ["query_id", "subtopic", "doc_id", "relevance"], orient="row")
    expected = {}
    for query, topic, document, grade in lines:
        grades = expected.setdefault(query, {}).setdefault(document, {})
        grades[topic] = max(grade, grades.get(topic, grade))
    found = rows(group_by_query(open_source(table), "reference"))
    assert {r["query_id"]: {d: dict(grades) for d, grades in r["subtopics"]} for r in found} == expected
    best = {q: {d: max(grades.values()) for d, grades in gold.items()} for q, gold in expected.items()}
    assert {row["query_id"]: dict(row["relevant"]) for row in found} == best


@pytest.mark.parametrize("query", ["query_id", "qid", "q_id", "topic", "query-id", "Query ID"])
@pytest.mark.parametrize("document", ["doc_id", "docno", "docid", "doc", "corpus-id", "document_id"])
def test_the_columns_of_other_tools_are_known(query, document):
    table = {query: [1, 1], document: ["a", "b"]}
    assert ranked({**table, "score": [1, 2]}) == {"1": ["b", "a"]}
    for grade in ("relevance", "rel", "grade", "label", "score"):
        assert judged({**table, grade: [1, 2]}) == {"1": {"a": 1, "b": 2}}


def test_pyterriers_docno_counts_and_not_its_docid():
    frame = pd.DataFrame({"qid": ["1"], "docid": [55], "docno": ["d5"], "rank": [0], "score": [2.5], "query": ["what"]})
    assert ranked(frame) == {"1": ["d5"]}


def test_a_frame_with_scores_and_labels_is_ranked_by_scores_and_judged_by_labels():
    frame = pl.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "score": [2.0, 1.0], "label": [0, 3]})
    assert ranked(frame) == {"1": ["a", "b"]}
    assert judged(frame) == {"1": {"a": 0, "b": 3}}


def test_csv_has_numbers_as_text(write):
    assert ranked(write("query-id\tcorpus-id\tscore\n1\ta\t1e0\n1\tb\t10\n", "test.tsv")) == {"1": ["b", "a"]}


def test_ids_of_any_type_are_spelled_alike():
    assert judged({"qid": [1.0, 2.0], "doc": [7, 8], "rel": [True, False]}) == {"1": {"7": 1}, "2": {"8": 0}}
    assert judged([{"qid": 1, "doc": "7", "rel": 1}, {"qid": "007", "doc": 7, "rel": 2.5}]) == {
        "1": {"7": 1},
        "007": {"7": 2.5},
    }
    frame = pd.DataFrame({"qid": pd.Categorical(["1", "1"]), "doc": pd.Categorical(["a", "b"]), "rel": [0, 1]})
    assert judged(frame) == {"1": {"a": 0, "b": 1}}
    assert judged(pl.from_pandas(frame)) == {"1": {"a": 0, "b": 1}}
    assert judged({"qid": [b"1", b"1"], "doc": [b"a", "é".encode()], "rel": [0, 1]}) == {"1": {"a": 0, "é": 1}}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"qid": None, "doc": "a", "score": 1}, "expected a query in column 'qid'"),
        ({"qid": "", "doc": "a", "score": 1}, "expected a query in column 'qid'"),
        ({"qid": "1", "doc": "a", "score": None}, "expected a number in column 'score'"),
        ({"qid": "1", "doc": "a", "score": float("nan")}, "expected a number in column 'score'"),
        ({"qid": "1", "doc": "a", "score": "high"}, "expected a number in column 'score', found 'high'"),
    ],
)
def test_a_wrong_row_of_a_long_table_is_named(row, said):
    with pytest.raises(RowError, match=f"row 3: {said}"):
        ranked([{"qid": "1", "doc": "z", "score": 2}] * 2 + [row])


def test_text_tables_are_not_grouped():
    source = open_source([{"qid": "1", "prediction": "a", "reference": "b"}])
    assert group_by_query(source, "prediction") is source


def test_a_dict_of_dicts_is_a_run_and_so_is_its_file(write):
    run = {"q1": {"d1": 0.5, "d2": 2}, "q2": {}, "7": {"x": np.float32(1)}}
    assert ranked(run) == {"q1": ["d2", "d1"], "q2": [], "7": ["x"]}
    assert judged({1: {7: 2, "b": 0}}) == {"1": {"7": 2, "b": 0}}
    path = write(json.dumps({"q1": {"d1": 0.5, "d2": 2}, "q2": {}}), "run.json")
    assert ranked(path) == {"q1": ["d2", "d1"], "q2": []}


def test_a_column_of_dicts_with_many_keys_is_json_text():
    data = [{"qid": str(at), "relevant": {f"d{at}-{n}": n for n in range(3)}} for at in range(100)]
    assert str(open_source(data).schema.field("relevant").type) == "extension<arrow.json>"
    assert pa.types.is_struct(open_source(data[:9]).schema.field("relevant").type)


def test_a_run_of_many_queries_is_not_held_in_memory(write):
    allocated = pa.total_allocated_bytes()
    source = group_by_query(
        open_source(write("".join(f"{q} Q0 {'d' * 90}{q} 1 1 x\n" for q in range(100_000)))), "prediction"
    )
    assert source.rows == 100_000
    assert pa.total_allocated_bytes() - allocated < 1 << 20
    assert find_query_column(source.schema) == "query_id"
