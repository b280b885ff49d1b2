"""What people type: specs, conditions, paths, maps, gates, judges' files, and answers that metrics parse."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any

import pyarrow as pa

from targets import decode, take_single_rows

COLUMNS: dict[str, list[Any]] = {
    "id": [1, 2, None, -3],
    "answer": ["Paris", None, "", "O'Neil é"],
    "score": [0.5, float("nan"), None, -1e300],
    "ok": [True, None, False, True],
    "tags": [["a"], [], None, ["b", None]],
    "meta": [
        {"tier": "x", "n": 1, "in": [{"k": "a", "v": 2}]},
        None,
        {"tier": None, "n": -1, "in": []},
        {"tier": "", "n": 2**40, "in": None},
    ],
}
UNSTEADY = ("random", "uuid", "now", "current", "today", "seed", "nextval", "time", "transaction", "gen_")


def spec(data: bytes) -> None:
    """A spec that is read is written so that it is read as the same metric, with the same signature."""
    import karat.judges
    import karat.metrics  # noqa: F401  (they register the names)
    from karat.core.errors import KaratError
    from karat.core.metric.spec import expand, parse

    text = decode(data)
    with suppress(KaratError):
        for each in expand(text):
            metric = parse(each)
            assert parse(metric.spec).spec == metric.spec
            assert parse(metric.spec).signature == metric.signature


def where(data: bytes) -> None:
    """A condition keeps the rows that DuckDB keeps, and in batches of one row the same."""
    import duckdb

    from karat.core.errors import KaratError
    from karat.data.filter import filter_rows
    from karat.data.formats.frames import open_frame
    from karat.data.storage import query_limits

    query_limits.SECONDS, query_limits.MEMORY = 2, 512 << 20

    condition, source = decode(data), open_frame(COLUMNS)
    kept = []
    for each in (source, take_single_rows(source)):
        try:
            kept.append(_rows(filter_rows(each, condition, None)))
        except KaratError:
            kept.append([{"refused": True}])
    if any(word in condition.lower() for word in UNSTEADY):
        return
    if {"refused": True} not in kept[0] + kept[1]:  # a row may be refused before or after others were read
        assert repr(kept[0]) == repr(kept[1])
        connection = duckdb.connect(config={"enable_external_access": "false"})
        connection.register("t", pa.Table.from_batches(source.batches()))
        with suppress(duckdb.Error):
            query = f"SELECT * FROM t WHERE CAST(({condition}\n) AS BOOLEAN)"  # noqa: S608
            assert repr(kept[0]) == repr(connection.sql(query).to_arrow_table().to_pylist())


def path(data: bytes) -> None:
    """A path into objects leads to the same values whether they are Arrow's or JSON text; rows by themselves, too."""
    from karat.core.columns.json_text import RAW
    from karat.core.errors import KaratError
    from karat.data.formats.frames import open_frame
    from karat.data.paths.nested import check_paths, extract_nested

    text = decode(data)
    objects = COLUMNS["meta"]
    texts = pa.array([None if each is None else json.dumps(each) for each in objects]).cast(RAW)
    found = []
    for source in (open_frame({"m": objects}), open_frame(pa.table({"m": texts}))):
        with suppress(KaratError):
            check_paths(source, [text])
        rows, again = (
            [row.get(text) for row in _rows(extract_nested(each, [text], keep_json=False))]
            for each in (source, take_single_rows(source))
        )
        assert rows == again
        found.append([_spell(cell) for cell in rows])
    if text != "m":
        assert found[0] == found[1], found


def short(data: bytes) -> None:
    """Gates, maps of labels, pairs of names, patterns of fields, and times: read, or refused."""
    import click

    from karat.cli.options.gates import read_gate
    from karat.cli.options.scoring import read_pair
    from karat.core.errors import KaratError
    from karat.data.open import spans
    from karat.metrics.answers.json.paths import read_pattern
    from karat.runs.labels.choices import parse_label_map

    text = decode(data)
    for read in (read_gate, lambda text: read_pair(text, "--map"), read_pattern):
        with suppress(KaratError, click.UsageError):
            read(text)
    with suppress(KaratError):
        choices = parse_label_map(text)
        assert parse_label_map(",".join(f"{name}={score!r}" for name, score in choices.items())) == choices
    rows = [{"span_id": "a", "trace_id": "t", "span_kind": "LLM", "attributes.output.value": "Paris"}]
    with suppress(KaratError):
        spans(rows, since=text)


def judge(data: bytes) -> None:
    """A judge's file is read, or refused. A reply that its schema describes is read, and has a score in its range."""
    from karat.core.errors import KaratError
    from karat.judges.replies.parser import read_reply
    from karat.judges.rubric import parse
    from karat.models.testing.schema_sample import sample_value

    with suppress(KaratError):
        form = parse(data, "judge.toml").form
        low, high = form.range
        assert low <= high
        assert form.outline
        with suppress(KaratError):
            score = form.verdict(read_reply(json.dumps(sample_value(form.schema, Random(0))), form.schema)).score
            assert score is None or low <= score <= high


def text(data: bytes) -> None:
    """Metrics that parse what is in a text end in time, whatever is in it; a text is equal to itself."""
    import karat.metrics

    prediction, _, gold = decode(data).partition("\n")
    for name in ("math_match", "numeric_match", "json_match", "json_fields", "tool_call_f1"):
        metric = getattr(karat.metrics, name)
        metric([prediction], [gold])
        (score,) = metric([gold], [gold]).to_pylist()
        assert score in (None, 1.0) or name == "tool_call_f1", name


def _rows(source: Any) -> list[dict[str, Any]]:
    return [row for batch in source.batches() for row in batch.to_pylist()]


def _spell(cell: Any) -> Any:
    """A cell without the JSON that it may be, and text for all that is in it."""
    with suppress(ValueError, TypeError):
        cell = json.loads(cell)
    if isinstance(cell, dict):
        return {key: _spell(each) for key, each in cell.items() if each is not None}
    if isinstance(cell, list):
        items = [_spell(each) for each in cell]
        return "None" if set(map(str, items)) <= {"None"} else items  # whether nothing is there at all is open
    return str(cell)
