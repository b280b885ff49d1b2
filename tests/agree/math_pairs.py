"""Writes pairs of answers whose verdict is known by construction: values in many spellings, nested in many shapes.

`generate(count, seed)` yields `Pair`s. Half of them are equal: the same values in other spellings, another order where
order does not matter, other marks and words around them. In the others one value, end, sign, name or letter differs.
"""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple


class Pair(NamedTuple):
    """The shape of both answers, the answers, and whether they are equal."""

    shape: str
    gold: str
    prediction: str
    equal: bool


class Value(NamedTuple):
    """Spellings of one value, and spellings of values that are not equal to it."""

    same: list[str]
    other: list[str]


def whole(rng: Random) -> Value:
    n = rng.randint(2, 400)
    same = [f"{n}", f"{n}.0", rf"\frac{{{3 * n}}}{{3}}", f"({n - 1}+1)", rf"{n}.00"]
    return Value(same, [f"{n + 1}", f"-{n}", f"{n}.5", rf"\frac{{1}}{{{n}}}", f"{n}.0000001"])


def fraction(rng: Random) -> Value:
    a, b = rng.choice([(1, 3), (2, 7), (5, 6), (11, 13), (-4, 9), (22, 7)])
    sign, a = ("-" if a < 0 else ""), abs(a)
    same = [rf"{sign}\frac{{{a}}}{{{b}}}", rf"{sign}\dfrac{{{2 * a}}}{{{2 * b}}}", rf"{sign}{a}/{b}"]
    same += [f"{sign}{a / b:.8f}", rf"{sign}\tfrac{{{a}}}{{{b}}}"]
    return Value(same, [rf"{sign}\frac{{{b}}}{{{a}}}", rf"{sign}\frac{{{a + 1}}}{{{b}}}", f"{sign}{a / b:.2f}", f"{a}"])


def decimal(rng: Random) -> Value:
    n, places = rng.randint(11, 999) * 10 + rng.randint(1, 9), rng.randint(1, 3)
    text = f"{n / 10**places:.{places}f}"
    bottom = 10**places
    same = [text, text + "0", rf"\frac{{{n}}}{{{bottom}}}", rf"{n} \times 10^{{-{places}}}"]
    return Value(same, [f"{(n + 1) / 10**places:.{places}f}", f"{n}", f"{n // 10**places}"])


def small(rng: Random) -> Value:
    a, b, power = rng.randint(1, 9), rng.randint(11, 98), rng.randint(9, 40)
    same = [f"{a}.{b}e-{power}", rf"{a}.{b} \times 10^{{-{power}}}", rf"{a}.{b}\cdot 10^{{-{power}}}"]
    other = [f"{a}.{b + 1}e-{power}", "0", rf"{a}.{b} \times 10^{{-{power + 1}}}", f"{a + 1}.{b}e-{power}"]
    return Value(same, other)


def root(rng: Random) -> Value:
    k, m = rng.randint(2, 6), rng.choice([2, 3, 5, 7])
    same = [
        rf"{k}\sqrt{{{m}}}",
        rf"\sqrt{{{k * k * m}}}",
        rf"\frac{{{k * m}}}{{\sqrt{{{m}}}}}",
        rf"{k}\cdot {m}^{{1/2}}",
    ]
    same += [rf"{k}\sqrt {m}"]
    return Value(same, [rf"{k}\sqrt{{{m + 1}}}", rf"{k + 1}\sqrt{{{m}}}", rf"-{k}\sqrt{{{m}}}", f"{k * m**0.5:.2f}"])


def circle(rng: Random) -> Value:
    n = rng.randint(2, 30)
    same = [rf"{n}\pi", rf"\pi \cdot {n}", rf"\frac{{{2 * n}\pi}}{{2}}", f"{n}π"]
    return Value(same, [rf"{n + 1}\pi", f"{n}", rf"\frac{{\pi}}{{{n}}}", f"{n * 3.14159:.2f}"])


def polynomial(rng: Random) -> Value:
    a, b = rng.sample(range(1, 7), 2)
    same = [
        f"(x+{a})(x-{b})",
        f"x^2 + {a - b}x - {a * b}".replace("+ -", "- "),
        f"(x-{b})(x+{a})",
        f"x(x+{a})-{b}(x+{a})",
    ]
    return Value(same, [f"(x+{a})(x+{b})", f"(x+{a + 1})(x-{b})", f"x^2 - {a * b}", f"(y+{a})(y-{b})"])


def power(rng: Random) -> Value:
    n = rng.randint(5, 12)
    same = [f"2^{{{n}}} - 1", f"{2**n - 1}", f"-1 + 2^{{{n}}}", rf"2\cdot 2^{{{n - 1}}} - 1"]
    return Value(same, [f"2^{{{n}}} + 1", f"{2**n}", f"2^{{{n + 1}}} - 1"])


NUMBERS = [whole, fraction, decimal, root, circle, power]
ANY = [*NUMBERS, small, polynomial]


def pick(rng: Random, value: Value, *, equal: bool) -> tuple[str, str]:
    gold = rng.choice(value.same)
    return gold, rng.choice([text for text in value.same if text != gold] if equal else value.other)


def several(rng: Random, count: int, *, equal: bool, kinds: list = NUMBERS) -> tuple[list[str], list[str]]:
    """Distinct values for both sides, of which one differs if the sides are to differ."""
    chosen = rng.sample(kinds, count)
    bad = rng.randrange(count)
    pairs = [pick(rng, kind(rng), equal=equal or at != bad) for at, kind in enumerate(chosen)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def shuffled(rng: Random, items: list[str]) -> list[str]:
    return rng.sample(items, len(items))


def tuple_(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = several(rng, 3, equal=equal)
    return f"$({', '.join(a)})$", rf"$\left({','.join(b)}\right)$"


def turned_tuple(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = several(rng, 2, equal=True)
    return f"$({', '.join(a)})$", f"$({', '.join(b if equal else b[::-1])})$"


def set_(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = several(rng, rng.randint(2, 4), equal=equal)
    b = shuffled(rng, [*b, rng.choice(b)] if rng.random() < 0.5 else b)
    return rf"$\{{{', '.join(a)}\}}$", rf"$\left\{{{', '.join(b)}\right\}}$"


def listed(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = several(rng, 3, equal=equal)
    return f"${', '.join(a)}$", f"${', '.join(shuffled(rng, b))}$"


def named(rng: Random, *, equal: bool) -> tuple[str, str]:
    """Several names with values; the prediction has the names in another order, or the values without names."""
    names = rng.choice([["AB", "CD"], ["p", "q"], ["a", "b", "c"], [r"\angle A", r"\angle B"], ["|AB|", "|CD|"]])
    a, b = several(rng, len(names), equal=equal)
    gold = ", ".join(f"{name} = {value}" for name, value in zip(names, a, strict=True))
    bare = rf"$({', '.join(b)})$", rf"\boxed{{{', '.join(b)}}}"
    turned = ", ".join(shuffled(rng, [f"{name}={value}" for name, value in zip(names, b, strict=True)]))
    return f"${gold}$", rng.choice([*bare, f"${turned}$"])


def roots(rng: Random, *, equal: bool) -> tuple[str, str]:
    """Several values of one unknown, in any order."""
    a, b = several(rng, 2, equal=equal)
    b = shuffled(rng, b)
    gold = rng.choice([f"$x_1 = {a[0]}, x_2 = {a[1]}$", f"$x = {a[0]}$ or $x = {a[1]}$", f"$x = {a[0]}, {a[1]}$"])
    forms = [
        f"${b[0]}, {b[1]}$",
        rf"\boxed{{x = {b[0]} \text{{ or }} x = {b[1]}}}",
        f"$x_{{1}}={b[0]},\\; x_{{2}}={b[1]}$",
    ]
    forms += [f"The roots are $x=\\boxed{{{b[0]}}}$ and $x=\\boxed{{{b[1]}}}$."]
    return gold, rng.choice(forms)


def left_side(rng: Random, *, equal: bool) -> tuple[str, str]:
    name = rng.choice(
        ["x", "AB", "|AB|", "f(x)", "a_n", "S_{ABC}", "P(A)", r"\tan A", "f'(x)", "V_1 : V_2", r"\frac{a}{b}"]
    )
    a, b = pick(rng, rng.choice(ANY)(rng), equal=equal)
    sides = [f"${name} = {a}$", f"$\\boxed{{{b}}}$"]
    if rng.random() < 0.3:
        sides = [f"${a}$", f"${name} = {b}$"]
    return sides[0], sides[1]


def other_name(rng: Random, *, equal: bool) -> tuple[str, str]:
    one, two = rng.sample(["x", "y", "AB", "CD", "k", "f(2)", "g(2)"], 2)
    a, b = pick(rng, rng.choice(NUMBERS)(rng), equal=True)
    return f"${one} = {a}$", f"${one if equal else two} = {b}$"


def interval(rng: Random, *, equal: bool) -> tuple[str, str]:
    low, high = rng.randint(-20, 0), rng.randint(1, 20)
    left, right = rng.choice("(["), rng.choice(")]")
    gold = f"${left}{low}, {high}{right}$"
    if not equal:
        if rng.random() < 0.5:
            left = {"(": "[", "[": "("}[left]
        else:
            high += 1
    return gold, rf"$\left{left}{low},\frac{{{2 * high}}}{{2}}\right{right}$"


def inequality(rng: Random, *, equal: bool) -> tuple[str, str]:
    """A gold inequality of a symbol or function, and an interval."""
    low, high = rng.randint(-20, 0), rng.randint(1, 20)
    name = rng.choice(["x", "a", "f(x)", r"\lambda"])
    left, right = rng.choice(["<", r"\le", r"\leq"]), rng.choice(["<", r"\le", r"\leqslant"])
    gold = f"${low} {left} {name} {right} {high}$"
    opening, closing = "(" if left == "<" else "[", ")" if right == "<" else "]"
    if not equal:
        opening = {"(": "[", "[": "("}[opening]
    return gold, f"${opening}{low}, {high}{closing}$"


def half_line(rng: Random, *, equal: bool) -> tuple[str, str]:
    n = rng.randint(-20, 20)
    sign, opening = rng.choice([(">", "("), (r"\geq", "[")])
    same = [
        f"${opening}{n}, +\\infty)$",
        f"${n} {'<' if sign == '>' else chr(92) + 'leq'} x$",
        f"$x \\in {opening}{n}, \\infty)$",
    ]
    other = [f"${opening}{n + 1}, +\\infty)$", f"$(-\\infty, {n})$", f"$x < {n}$"]
    return f"$x {sign} {n}$", rng.choice(same if equal else other)


def union(rng: Random, *, equal: bool) -> tuple[str, str]:
    a = sorted(rng.sample(range(-30, 30), 4))
    gold = rf"$({a[0]}, {a[1]}) \cup [{a[2]}, {a[3]}]$"
    same = [rf"$[{a[2]}, {a[3]}] \cup ({a[0]}, {a[1]})$"]
    same += [rf"$({a[0]}, {a[3]}] \setminus [{a[1]}, {a[2]})$"]
    other = [
        rf"$({a[0]}, {a[1]}] \cup [{a[2]}, {a[3]}]$",
        rf"$({a[0]}, {a[3]}]$",
        rf"$({a[0]}, {a[1]}) \cup [{a[2]}, {a[3] + 1}]$",
    ]
    return gold, rng.choice(same if equal else other)


def equation(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b, c = rng.randint(2, 9), rng.randint(2, 9), rng.randint(1, 9)
    forms = [
        f"${2 * a}x + {2 * b}y = {2 * c}$",
        f"${a}x+{b}y-{c}=0$",
        f"${c} = {a}x + {b}y$",
        f"$-{a}x - {b}y + {c} = 0$",
    ]
    others = [f"${a}x+{b}y+{c}=0$", f"${a + 1}x+{b}y-{c}=0$", f"${a}x+{b}y$"]
    return f"${a}x + {b}y = {c}$", rng.choice(forms if equal else others)


def chain(rng: Random, *, equal: bool) -> tuple[str, str]:
    """A value with what it approximately is."""
    number, k = rng.choice([2, 3, 5, 7]), rng.randint(2, 5)
    exact = rf"{k}\sqrt{{{number}}}"
    text = rf"{exact} \approx {k * number**0.5:.3f}"
    other = rf"{k + 1}\sqrt{{{number}}}"
    sides = [f"${text}$", f"${exact if equal else other}$"]
    return (sides[0], sides[1]) if rng.random() < 0.5 else (sides[1], sides[0])


def standing_sum(rng: Random, *, equal: bool) -> tuple[str, str]:
    terms = [rng.randint(1, 60) for _ in range(3)]
    total = sum(terms) + (not equal)
    return f"${total}$", rng.choice([f"${'+'.join(map(str, terms))}$", f"{' + '.join(map(str, terms))}"])


def ratio(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = rng.choice([(11, 21), (3, 4), (5, 2), (7, 9)])
    same = [f"{a}:{b}", rf"\frac{{{a}}}{{{b}}}", f"{2 * a} : {2 * b}", f"V_1 : V_2 = {a} : {b}"]
    return rng.choice(
        [f"${a}:{b}$", f"$V_1 : V_2 = {a} : {b}$"]
    ), f"${rng.choice(same if equal else [f'{b}:{a}', f'{a}:{b + 1}'])}$"


def matrix(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = several(rng, 4, equal=equal)
    forms = [
        rf"\begin{{{kind}}}{x[0]} & {x[1]} \\ {x[2]} & {x[3]}\end{{{kind}}}"
        for kind, x in (("pmatrix", a), ("bmatrix", b))
    ]
    return f"${forms[0]}$", f"${forms[1]}$"


def sentence(rng: Random, *, equal: bool) -> tuple[str, str]:
    """A number in a sentence of one of several languages."""
    n = rng.randint(2, 900)
    frame = rng.choice([
        "The answer is {}.", "Therefore, the final answer is {}. I hope it is correct.", "So the total is ${}.",
        "#### {}", "答案是 {}。", "所以答案为${}$。", "La réponse est {}.", "Réponse : ${}$", "Die Antwort ist {}.",
        "La respuesta es {}.", "Ответ: {}", "答えは{}です。", "정답은 {}입니다.", "**{}**",
        "Adding 3 and 4 gives \\boxed{{{}}}.",
        "The answer is {} apples, not 3.", "We get x = {}.", "It costs \\${}.",
        "$5 + {}$ is more, so the answer is ${}$.", "그러므로 \\boxed{{{}}}입니다.",
    ])  # fmt: skip
    return f"{n}", frame.replace("{}", str(n if equal else n + 1)).replace("{{", "{").replace("}}", "}")


def letter(rng: Random, *, equal: bool) -> tuple[str, str]:
    right, wrong = rng.sample("ABCDE", 2)
    gold = rng.choice([right, f"({right})", rf"\text{{({right})}}", rf"$\text{{{right}}}$", f"\\boxed{{{right}}}"])
    frame = rng.choice([
        "({}) Alina", "{}. 12 cm", "\\boxed{{}}", "\\boxed{\\textbf{({})}\\ 12}", "The answer is {}.", "答案是{}。",
        "选{}", "La réponse est {}.", "Réponse : {}", "Die richtige Antwort ist {}.", "Ответ: {}",
        "The correct option is ({}).", "**{}**", "A short check shows that {} is correct.",
        "So the answer is $\\mathrm{{}}$.", "La respuesta es {}", "{}: Alina", "정답: {}",
    ])  # fmt: skip
    return gold, frame.replace("{}", right if equal else wrong)


def unit(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = pick(rng, rng.choice([whole, decimal])(rng), equal=equal)
    frame = rng.choice([
        r"${} \text{ cm}$", r"${} \mathrm{~km} / \mathrm{h}$", r"${}\ \text{m}^2$", "${}$ units",
        r"\boxed{{} \text{ hours}}", r"$\${}$",
    ])  # fmt: skip
    return f"${a}$", frame.replace("{}", b)


def clock(rng: Random, *, equal: bool) -> tuple[str, str]:
    hour, minute = rng.randint(1, 11), rng.randint(10, 58)
    half, late = rng.choice(["am", "pm"]), minute + (not equal)
    gold = f"{hour}:{minute} {half[0]}.m."
    return gold, rng.choice(
        [f"{hour}:{late} {half.upper()}", rf"\boxed{{{hour}:{late}\text{{ {half[0]}.m.}}}}", f"${hour}:{late}$ {half}"]
    )


def words(rng: Random, *, equal: bool) -> tuple[str, str]:
    right, wrong = rng.sample(["Paris", "Evelyn", "even", "no solution", "Yes", "obtuse"], 2)
    frame = rng.choice(["{}", r"\boxed{\text{{}}}", "The answer is {}.", r"$\text{{}}$", "**{}**"])
    return rng.choice([right, rf"\text{{{right}}}"]), frame.replace("{}", right if equal else wrong)


def prose(rng: Random, *, equal: bool) -> tuple[str, str]:
    """A formula between words without marks."""
    a, b = rng.randint(2, 9), rng.randint(2, 9)
    forms = [
        f"{a}x + {b}",
        f"{a}x^2 - {b}",
        f"x² + {a}x + {b}",
        f"(x + {a})/(x - {b})",
        f"cos({a}x)",
        f"{a}π",
        f"{a}√{b}",
        f"x > {b}",
    ]
    formula = rng.choice(forms)
    frame = rng.choice(
        ["Therefore, the simplified result is {}.", "So we get {}", "Hence f'(x) = {}.", "The value is {} in total."]
    )
    if ">" in formula:
        frame = "Therefore {}."
    other = formula.replace(str(b), str(b + 1)) if str(b) in formula else formula.replace(str(a), str(a + 1))
    return formula, frame.replace("{}", formula if equal else other)


def plain(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = pick(rng, rng.choice(ANY)(rng), equal=equal)
    marks = ["${}$", r"\boxed{{}}", r"\({}\)", r"\[{}\]", "The answer is ${}$.", r"Thus $x = \boxed{{}}$.", "$${}$$"]
    return rng.choice(marks).replace("{}", a), rng.choice(marks).replace("{}", b)


def signs(rng: Random, *, equal: bool) -> tuple[str, str]:
    a, b = rng.randint(1, 9), rng.choice([2, 3, 5])
    same = [
        rf"${a}+\sqrt{{{b}}}, {a}-\sqrt{{{b}}}$",
        rf"$\{{{a}-\sqrt{b}, {a}+\sqrt{b}\}}$",
        rf"$x = {a} \pm \sqrt{{{b}}}$",
    ]
    other = [rf"${a}+\sqrt{{{b}}}$", rf"${a} \pm \sqrt{{{b + 5}}}$", rf"$-{a} \pm \sqrt{{{b}}}$"]
    return rf"${a} \pm \sqrt{{{b}}}$", rng.choice(same if equal else other)


def quantified(rng: Random, *, equal: bool) -> tuple[str, str]:
    a = rng.randint(2, 9)
    gold = rf"$x = \frac{{\pi}}{{{a}}} + k\pi, k \in \mathbb{{Z}}$"
    other = a if equal else a + 1
    return gold, rng.choice(
        [rf"$x = \frac{{\pi}}{{{other}}} + k\pi$", rf"\boxed{{\frac{{\pi}}{{{other}}} + \pi k \ (k\in\mathbb{{Z}})}}"]
    )


SHAPES = [
    plain, tuple_, turned_tuple, set_, listed, named, roots, left_side, other_name, interval, inequality, half_line,
    union, equation, chain, standing_sum, ratio, matrix, sentence, letter, unit, clock, words, prose, signs,
    quantified,
]  # fmt: skip


def generate(count: int, seed: int) -> Iterator[Pair]:
    """Pairs of every shape in turn, of both verdicts; the same seed gives the same pairs."""
    rng = Random(seed)  # noqa: S311  (no secret)
    for number in range(count):
        shape = SHAPES[number % len(SHAPES)]
        equal = rng.random() < 0.5
        yield Pair(shape.__name__, *shape(rng, equal=equal), equal)
