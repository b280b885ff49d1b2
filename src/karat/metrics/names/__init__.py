"""Names that stand for metrics: benchmarks, each for several metrics, and the names that other tools have.

`presets` has the benchmarks, `other_tools` what some thirty tools call their metrics, from the table
`other_tools.toml`, and `trec_eval` the spellings of trec_eval and ir_measures; `legend` tells `em` and `exact_match`
apart. No metric is defined here. Open
`other_tools.toml` first.
"""
