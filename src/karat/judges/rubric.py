"""A rubric: what a judge's TOML file defines, that is, its inputs, its prompt, and the scores of replies.

```toml
name = "politeness"
summary = "Whether the prediction is polite."
source = "our style guide"
inputs = ["prediction"]        # reference and contexts are lists of texts; { tools = "json" } sets another kind

[prompt]
task = "Is the prediction polite? A refusal can be polite too."

[reply]
kind = "label"                 # or statements, fields, number, criteria, nuggets, citations
choices = { polite = 1, rude = 0 }
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast, get_args

from karat.core.context import current_context
from karat.core.errors import SpecError, did_you_mean
from karat.data.storage.files import read_small
from karat.judges.replies.citations import Citations
from karat.judges.replies.criteria import Criteria
from karat.judges.replies.forms import Fields, Label, Rating, Statements
from karat.judges.replies.items import Form, ItemForm
from karat.judges.replies.nuggets import Nuggets
from karat.judges.replies.parser import ReplyError, check
from karat.judges.settings import read_request
from karat.judges.toml_reader import TomlTable

InputKind = Literal["text", "texts", "json", "messages", "criteria", "nuggets"]
KINDS = ("label", "statements", "fields", "number", "criteria", "nuggets", "citations")
_ITEMS = ("criteria", "nuggets")
SYSTEM = (
    "You are a careful judge. You apply the criteria you are given, and nothing else, to the material you are given."
)
RESERVED = {"agreement", "consistent", "cost", "error", "explanation", "input_tokens", "label", "latency"}
RESERVED |= {"output_tokens", "raw", "repaired", "statements", "trace_id"}
_LISTS = ("reference", "contexts")


@dataclass(frozen=True, kw_only=True)
class Swap:
    """The table `swap` of a rubric: two inputs, and two labels, that are exchanged in a second request."""

    inputs: tuple[str, str]
    labels: tuple[str, str]
    tie: str

    def as_toml(self) -> dict[str, Any]:
        """The table as the file has it. Signatures contain its text, so keys and their order never change."""
        return {"inputs": list(self.inputs), "labels": list(self.labels), "tie": self.tie}

    def swap_inputs(self, material: Mapping[str, Any]) -> dict[str, Any]:
        first, second = self.inputs
        return {**material, first: material[second], second: material[first]}

    def swap_label(self, label: str) -> str:
        """The label that means the same in the other order."""
        return dict([self.labels, self.labels[::-1]]).get(label, label)


@dataclass(frozen=True, kw_only=True)
class Rubric:
    """A judge without a model: everything that its prompt and its scores depend on.

    `each`: an input that holds lists, whose items are judged one by one; the row's score is their mean.
    `request`: what is sent with each request (`karat.judges.settings`).
    """

    name: str
    summary: str
    source: str
    inputs: Mapping[str, InputKind]
    task: str
    form: Form
    version: int = 1
    direction: Literal["maximize", "minimize"] = "maximize"
    system: str = SYSTEM
    examples: Sequence[tuple[Mapping[str, Any], Any]] = ()
    swap: Swap | None = None
    each: str | None = None
    request: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[str, ...]:
        """The parts of a reply that are scores of their own."""
        return self.form.names if isinstance(self.form, Fields) else ()

    @property
    def binary(self) -> bool:
        """Whether every score is 0 or 1."""
        shares = self.each is not None or (isinstance(self.form, Fields) and len(self.form.names) > 1)
        scores = self.form.choices.values() if isinstance(self.form, Label) else ()
        return not shares and isinstance(self.form, Label | Fields) and set(scores) <= {0, 1}


@cache
def own_judges() -> dict[str, Any]:
    """The TOML files of the judges that come with karat, by name."""
    folder = files("karat.judges") / "prompts"
    return {each.name[:-5]: each for each in sorted(folder.iterdir(), key=str) if each.name.endswith(".toml")}


def is_file(name: str) -> bool:
    """Whether the name of a judge is the path of a file."""
    return name.endswith(".toml") or "/" in name or "\\" in name


def load(name: str) -> Rubric:
    """The rubric of that name, or in that file.

    Raises `SpecError` if there is none, or if the file is not a valid rubric.
    """
    if (kept := current_context().rubrics.get(name)) is not None:
        return parse(kept.encode(), name)
    if not is_file(name):
        if name not in own_judges():
            hint = did_you_mean(name, own_judges())
            raise SpecError(f"there is no judge {name!r} (a file's name ends in .toml){hint}")
        return _own(name)
    try:
        return parse(read_small(name, 1 << 20), name)
    except OSError as error:
        raise SpecError(f"{name}: {error.strerror or error}") from None
    except ValueError as error:  # no file can have this name
        raise SpecError(f"{name!r}: {error}") from None


@cache
def _own(name: str) -> Rubric:
    return parse(own_judges()[name].read_bytes(), f"{name}.toml")


def parse(content: bytes, where: str) -> Rubric:
    """The rubric in the bytes of a TOML file; `where` is the file's name in errors. `SpecError` for an invalid file."""
    try:
        values = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{where}: {error}") from None
    top = TomlTable(values, where, "")
    prompt, reply = top.table("prompt"), top.table("reply")
    request = top.table("request") if "request" in values else TomlTable({}, where, "request")
    rubric = Rubric(
        name=top.take("name", str),
        summary=top.take("summary", str).strip(),
        source=top.take("source", str),
        version=top.take("version", int, 1),
        direction=cast("Any", top.choice("direction", ("maximize", "minimize"), "maximize")),
        inputs=read_inputs(top.get("inputs"), top.path("inputs")),
        system=prompt.take("system", str, SYSTEM),
        task=prompt.take("task", str),
        form=_form(reply),
        each=top.take("each", str, None),
        request=read_request(request),
    )
    rubric = replace(rubric, swap=_swap(top, rubric) if "swap" in values else None)
    examples = [TomlTable(each, where, f"examples[{n}]") for n, each in enumerate(top.take("examples", list, []), 1)]
    rubric = replace(rubric, examples=[(e.take("inputs", dict), e.take("reply", dict)) for e in examples])
    for table in (top, prompt, reply, request, *examples):
        table.check_unknown_keys()
    return check_rubric(rubric, where)


def check_rubric(rubric: Rubric, where: str) -> Rubric:
    """The same rubric; `SpecError` if `each` or an example does not match its inputs and its reply."""
    if rubric.each is not None and rubric.inputs.get(rubric.each) != "texts":
        lists = [name for name, kind in rubric.inputs.items() if kind == "texts"]
        hint = did_you_mean(rubric.each, lists)
        raise SpecError(f"{where}: each = {rubric.each!r}: an input of lists is expected{hint}")
    wanted = [rubric.form.input] if isinstance(rubric.form, ItemForm) and rubric.form.input else []
    if (listed := [kind for kind in rubric.inputs.values() if kind in _ITEMS]) != wanted:
        kind = (wanted or listed)[0]
        expected = f"one input of the kind {kind!r} goes with replies of the kind {kind!r}"
        raise SpecError(f"{where}: {expected}, such as inputs = {{ prediction = 'text', {kind} = '{kind}' }}")
    cited = {"prediction": "text", "contexts": "texts"}
    if isinstance(rubric.form, Citations) and rubric.inputs != cited:
        raise SpecError(f"{where}: replies of the kind 'citations' go with inputs = ['prediction', 'contexts']")
    if isinstance(rubric.form, Statements) and rubric.inputs.get(rubric.form.split) not in ("text", "texts"):
        texts = [name for name, kind in rubric.inputs.items() if kind in ("text", "texts")]
        raise SpecError(f"{where}: reply.split: an input of texts is expected{did_you_mean(rubric.form.split, texts)}")
    names = dict.fromkeys(rubric.inputs)
    for number, (material, reply) in enumerate(rubric.examples, 1):
        at = f"{where}: examples[{number}]"
        for name in material.keys() ^ names.keys():
            what = "misses the input" if name in names else "has an unknown input"
            raise SpecError(f"{at} {what} {name!r}" + ("" if name in names else did_you_mean(name, names)))
        form = replace(rubric.form, count=len(reply)) if isinstance(rubric.form, ItemForm) else rubric.form
        form = form.number(material)[1] if isinstance(form, Statements) else form
        try:
            check(reply, form.schema, "its reply")
            form.verdict(reply)
        except ReplyError as error:
            raise SpecError(f"{at}: {error}") from None
    return rubric


def read_inputs(inputs: Any, where: str) -> dict[str, InputKind]:
    """The kind of each input, from a list of names, a dict from name to kind, or Haystack's pairs of name and type.

    >>> read_inputs(["question", "contexts"], "inputs")
    {'question': 'text', 'contexts': 'texts'}
    >>> read_inputs([("answers", list[str]), ("documents", list[list[str]])], "inputs")
    {'answers': 'text', 'documents': 'texts'}
    """
    if isinstance(inputs, list | tuple) and inputs:
        pairs = [each if isinstance(each, tuple) else (each, "texts" if each in _LISTS else "text") for each in inputs]
        inputs = dict(pairs) if all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs) else None
    if not isinstance(inputs, Mapping) or not inputs:
        expected = "the names of the columns a judge reads are expected, such as ['question', 'prediction']"
        raise SpecError(f"{where}: {expected}")
    kinds: dict[str, InputKind] = {}
    for name, kind in inputs.items():
        if not isinstance(kind, str):  # a type: list[str], or list[list[str]]
            kind = "texts" if str(kind).lower().count("list[") > 1 else "text"  # noqa: PLW2901
        if kind not in get_args(InputKind):
            raise SpecError(f"{where}.{name}: {kind!r}{did_you_mean(kind, get_args(InputKind))}")
        kinds[name] = cast("InputKind", kind)
    return kinds


def _form(reply: TomlTable) -> Form:
    kind = reply.choice("kind", KINDS)
    if kind == "label":
        choices = reply.scores("choices")
        declined = reply.choice("declined", tuple(choices), None)
        return Label(choices=choices, explanation=reply.take("explanation", bool, True), declined=declined)
    if kind == "statements":
        verdicts, uncounted = reply.scores("verdicts"), reply.take("uncounted", str, None)
        if uncounted in verdicts:
            raise SpecError(f"{reply.path('uncounted')} = {uncounted!r}: a verdict that is not counted has no score")
        counted = {"empty": reply.take("empty", float, None), "alternatives": reply.take("alternatives", bool, False)}
        return Statements(split=reply.take("split", str), verdicts=verdicts, uncounted=uncounted, **counted)
    if kind == "fields":
        return Fields(names=field_names(reply.take("names", list), reply.path("names")),
                      explanation=reply.take("explanation", bool, True))  # fmt: skip
    if kind in _ITEMS:
        return Criteria() if kind == "criteria" else Nuggets()
    if kind == "citations":
        return Citations()
    low, high = reply.take("low", float), reply.take("high", float)
    if not low < high:
        raise SpecError(f"{reply.path('low')} = {low:g} is not below high = {high:g}")
    flags = {name: reply.take(name, bool, True) for name in ("whole", "normalize", "explanation")}
    return Rating(low=low, high=high, **flags)


def field_names(names: Any, where: str) -> tuple[str, ...]:
    """The names of the 0/1 fields of a reply; `SpecError` for a name that is reserved, repeated or empty."""
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) and name for name in names):
        raise SpecError(f"{where}: the names of one or more fields are expected")
    for name in names:
        if name in RESERVED or names.count(name) > 1:
            raise SpecError(f"{where}: the name {name!r} is taken")
    return tuple(names)


def _swap(top: TomlTable, rubric: Rubric) -> Swap:
    table = top.table("swap")
    if not isinstance(rubric.form, Label):
        raise SpecError(f"{table.path('labels')}: only replies of the kind 'label' can be swapped")
    swap = Swap(
        inputs=table.pair("inputs", rubric.inputs),
        labels=table.pair("labels", rubric.form.choices),
        tie=table.choice("tie", tuple(rubric.form.choices)),
    )
    table.check_unknown_keys()
    return swap
