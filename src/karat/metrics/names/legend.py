"""What a table says of the names in it: which exact match is which, and which preset its metrics are of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

BOTH = "em is the exact match after SQuAD's normalisation, as f1 has it; exact_match compares character by character"
STRICT = "exact_match compares character by character, {} ignores case, punctuation and articles; -m em does so too"


def tell_apart(specs: Collection[str], *, hint: bool = True) -> Iterator[str]:
    """A line where a strict exact match stands beside SQuAD's; with `hint` also where it is beside SQuAD's F1 alone.

    >>> list(tell_apart(["em", "f1"])), list(tell_apart(["em", "exact_match"])) == [BOTH]
    ([], True)
    >>> [*tell_apart(["exact_match", "token_f1"])][0][-66:]
    'token_f1 ignores case, punctuation and articles; -m em does so too'
    """
    if "exact_match" not in specs:
        return
    if "em" in specs:
        yield BOTH
    elif hint and (f1 := [spec for spec in ("f1", "token_f1") if spec in specs]):
        yield STRICT.format(f1[0])


def name_recipes(recipes: Mapping[str, str]) -> Iterator[str]:
    """A line for each preset by which metrics were named; `recipes` has the preset of each spec, or an empty text.

    >>> list(name_recipes({"em": "squad", "rouge_l": "", "f1": "squad"}))
    ['recipe squad: em, f1']
    """
    for recipe in dict.fromkeys(filter(None, recipes.values())):
        yield f"recipe {recipe}: {', '.join(spec for spec, own in recipes.items() if own == recipe)}"
