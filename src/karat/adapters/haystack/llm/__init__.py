"""The evaluators that ask a language model: any instructions, faithfulness, and relevance of contexts.

`evaluator` is the component that writes prompts and returns results; `statements` holds two evaluators built on it;
`rows` sends the requests of one run, `checks` checks parameters and inputs, `json_types` reads replies. Limits and
retries are in `karat.models.governor`, karat's own judges in `karat.judges`, not here. Open `evaluator` first.
"""
