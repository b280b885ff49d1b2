"""Errors for documents that cannot be compared."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import math

import pytest

pytest.importorskip("haystack")


from karat.adapters.haystack import (
    DocumentMAPEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)

pd = pytest.importorskip("pandas")
Document = pytest.importorskip("haystack").Document

DOCUMENTS = [DocumentMAPEvaluator, DocumentMRREvaluator, DocumentRecallEvaluator, DocumentNDCGEvaluator]


def documents(*contents):
    return [Document(content=content) for content in contents]


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_the_error_names_what_is_not_a_document(kind):
    with pytest.raises(ValueError, match=r"^retrieved_documents, question 2: a Document is expected, found None"):
        kind().run([documents("a")] * 2, [documents("a"), [*documents("b"), None]])
    with pytest.raises(ValueError, match=r"^ground_truth_documents, question 1: a Document is expected, found None"):
        kind(document_comparison_field="id").run([[None]], [documents("a")])


def test_a_list_that_grows_while_it_is_read_is_an_error():
    class Page:
        def __hash__(self):
            if len(found[0]) < 100:
                found[0].append(found[0][0])
            return 1

    found = [[Document(content="a", meta={"page": Page()})]]
    with pytest.raises((IndexError, ValueError)):
        DocumentMAPEvaluator("meta.page").run([documents("a")], found)


def test_a_value_without_a_truth_value_cannot_be_compared():
    missing = [Document(content="a", meta={"page": pd.NA})]
    with pytest.raises(ValueError, match="documents cannot be compared by <NA>"):
        DocumentMAPEvaluator("meta.page").run([missing], [missing])


def test_an_infinite_ground_truth_score_is_refused():
    gold = [documents("a"), [Document(content="a", score=math.inf)]]
    with pytest.raises(ValueError, match="question 2: a finite score is expected"):
        DocumentNDCGEvaluator().run(gold, [documents("a")] * 2)
