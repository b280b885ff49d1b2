"""A run as a record of Every Eval Ever, the EvalEval coalition's format for results of language models.

`record` writes what `eval.schema.json` of https://github.com/evaleval/every_eval_ever defines, version 0.2.1. It needs
no package. Open `record` first.
"""

from karat.adapters.every_eval_ever.record import write_record

__all__ = ["write_record"]
