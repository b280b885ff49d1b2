"""The names of `phoenix.evals.utils`, so that an import of Phoenix's needs only another package before it."""

from __future__ import annotations

from karat.adapters.phoenix.mapping import extract_with_jsonpath, remap_eval_input
from karat.adapters.phoenix.server.frame_annotations import to_annotation_dataframe

__all__ = ["extract_with_jsonpath", "remap_eval_input", "to_annotation_dataframe"]
