"""Which answers of a row mean the same, and how they stand to the gold."""

from karat.runs.gold.answers import find_agreement
from karat.runs.gold.rows import GoldRow, SystemAnswer


def agree(gold, *answers, hits=(), same=None):
    answered = tuple(SystemAnswer(f"s{at}", text, float(at in hits), at in hits) for at, text in enumerate(answers))
    return find_agreement(GoldRow("1", "Which?", gold, None, answered), same=same)


def test_words_numbers_and_dates_that_mean_the_same_are_one_group():
    assert agree(("Bern",), "The Hague", "the hague.", "Oslo").members == (0, 1)
    assert agree(("Bern",), "1,000", "1000.0", "one").members == (0, 1)
    assert agree(("Bern",), "4 March 1961", "March 4th, 1961", "1962").members == (0, 1)


def test_a_sentence_counts_with_the_answer_that_it_contains():
    found = agree(("Bern",), "It was painted by Ada Lovelace herself", "Ada Lovelace", "Bob Ray", "ada lovelace")
    assert (found.members, found.answer, found.relation) == ((0, 1, 3), "Ada Lovelace", "apart")


def test_an_answer_that_means_the_gold_confirms_it():
    found = agree(("4 March 1961", "1961-03-04"), "March 4th, 1961", "It was on 4 March 1961", "1970")
    assert found.relations == ("same", "same", "apart")
    assert (found.confirmed, found.others) == (2, 1)
    assert agree(("New York City",), "NYC").reasons == ("it has the same name",)


def test_an_answer_that_shares_words_with_the_gold_is_near():
    assert agree(("General George Washington",), "George Washington", "George Washington").relation == "near"


def test_rows_without_an_answer_or_a_score_do_not_count():
    row = GoldRow(
        "1", None, ("Bern",), None, (SystemAnswer("a", None, 0.0, False), SystemAnswer("b", "Oslo", None, None))
    )
    assert (find_agreement(row).others, find_agreement(row).size) == (0, 0)


def test_a_metric_may_say_which_answers_mean_the_same():
    by_letter = lambda pairs: [one[0] == other[0] for one, other in pairs]  # noqa: E731
    assert agree(("Bern",), "Oslo", "Orly", "Paris", same=by_letter).members == (0, 1)
