"""The evaluators that ask a language model: Haystack's own, which here ask about many rows at a time.

`evaluator` holds what both kinds share and `LLMEvaluator`, `statements` the two that score statements, `rows` the
requests and results of one run. Prompts are Haystack's; limits are in `karat.models.governor`, karat's own judges in
`karat.judges`. Open `evaluator` first.
"""
