"""The run that was stopped halfway: in a file of its own, as a run goes on with the same code of its metrics only."""

import json
from pathlib import Path

import pyarrow as pa

import karat


def score_half(*, resume, stop=None):
    """Score rows as the run `half`, until row `stop`, where a metric of ours is interrupted: how many rows it sees."""
    seen = 0

    @karat.metric(source="a test of stored runs", register=False, remote=True)
    def length(question: karat.kinds.Text) -> karat.kinds.Score:
        """How long the question is, in hundreds of characters."""
        nonlocal seen
        if seen == stop:
            raise KeyboardInterrupt
        seen += len(question)
        return [len(text) / 100 for text in question.to_pylist()]

    table = pa.Table.from_pylist([json.loads(line) for line in Path("a.jsonl").read_text("utf-8").splitlines()])
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=5))
    karat.score(reader, ["exact_match", "token_f1", "bleu", length], by="topic", run="half", resume=resume)
    return seen
