from concurrent.futures import ThreadPoolExecutor

import pytest

from karat.adapters.dataflow import match_answers


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("The answer is 4.", "4", True),
        ("Paris", "Paris", True),
        ("The answer is Paris.", "paris", True),
        ("The tower is in the capital.", "Paris", False),
        (r"so \boxed{\text{Paris}}", "Paris", True),
        ("Paris", r"\boxed{\text{Paris}}", True),
        ("The answer is the Eiffel Tower.", "Eiffel Tower", True),
        ("A", "A", True),
        (r"so \boxed{\frac{1}{2}}", r"\frac{1}{2}", True),
        (r"so \boxed{m}", "m", True),
        ("Apollo 11", "Apollo 11", True),
        ("Apollo 11", "Gemini 11", False),
        ("x+1", "x+1", True),
        ("Hence\n\\[\nx =\n\\frac{3}{4}\n\\]", "0.75", True),
        ("x + 1", "1", False),
        ("4", r"Adding up we get \boxed{4}.", True),
        ("18 - 3 = 15\n#### 15", "15", True),
        ("5", "There are 5 apples.", True),
        ("The answer is 15", "1", False),
        ("I know", "no", False),
        ("cat", "a", False),
        ("C++", "C", False),
        ("C++", "C#", False),
        ("-5", "5", False),
        ("-cos(x)", "cos(x)", False),
        ("H0", "A0", False),
        ("5:30 p.m.", "4:30 p.m.", False),
        ("10 m/s", "10", True),
        ("2x", "2", False),
        ("", "4", False),
        (" ", "4", False),
        (None, "4", False),
    ],
)
def test_the_final_answer_is_compared_whole(answer, gold, same):
    assert match_answers([answer], [[gold]]) == [same]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(match_answers, [answer], [[gold]]).result() == [same]


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("7.0000001", "7", False),
        ("7.0000001", "7.0", False),
        ("2.5000001", "2.5", False),
        ("0.30000000000000004", "0.3", True),
        ("0.333333", "1/3", True),
        ("0.33", "1/3", False),
        ("3.1415927", "3.14159265", True),
        ("1,234.50", "1234.5", True),
        ("50%", "0.5", True),
    ],
)
def test_a_decimal_of_six_places_may_be_rounded_and_a_shorter_one_is_exact(answer, gold, same):
    assert match_answers([answer], [[gold]]) == [same]


SENTENCES = [
    "The work is done: 3² = 9. Therefore, the simplified result is {}.",
    "We add 3 and 4, so it equals {}!",
    "After simplifying we arrive at {}.",
    "Step 1: add 7.\nStep 2: divide by 3.\n\nThe solution is {}",
    "When a = 1 and b = 2, the value becomes {}.",
    "The value is {}. I hope this helps!",
    "The final expression is {}, as required.",
    "This is equal to {} (after simplification, as 2 + 3 = 5).",
    "My answer is {}, I think.",
    "The answer is {} because 2 + 2 = 4.",
    "So our value is **{}**.",
    "Conclusion\n{}",
    "Hence, {}.",
    "It's {}.",
]
ANSWERS = [  # a gold answer, the same in other words, and others
    ("x = 4", "4", ["5", "y = 4", "x = -4"]),
    ("2x", "2·x", ["3x", "2", "x"]),
    ("x + 1", "1 + x", ["x - 1", "1"]),
    ("x² + 6x + 9", "(x + 3)^2", ["x² + 6x", "9"]),
    ("2ab + c", "c + 2ba", ["2ab", "c"]),
    ("cos(x)", r"\cos x", ["sin(x)", "-cos(x)"]),
    ("(-1, 0)", "(-1,0)", ["(1, 0)", "0"]),
    ("25π", "25π square units", ["10π", "25"]),
    ("-7/3", r"-\frac{7}{3}", ["7/3", "-3/7"]),
    ("6 cm", "6", ["7 cm"]),
    ("New York", "New York", ["York", "New Jersey"]),
    ("Boeing 747", "Boeing 747", ["Airbus 747", "Boeing 737"]),
    ("CO2", "CO2", ["C2", "O2"]),
    ("12:45 pm", "12:45 pm", ["12:45 am", "1:45 pm"]),
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_conclusion_of_a_worked_answer_is_compared(sentence):
    for gold, right, wrong in ANSWERS:
        verdicts = match_answers([sentence.format(each) for each in (gold, right, *wrong)], [[gold]] * (2 + len(wrong)))
        assert verdicts == [True, True, *[False] * len(wrong)], gold
