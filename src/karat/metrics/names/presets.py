"""The presets: names for the metrics, with settings, that the scripts of benchmarks compute.

A preset is its specs and nothing else; the summary says what else a script does with its data.
"""

from karat.core.metric.registry import add_preset

add_preset(
    "squad",
    "em",
    "f1",
    summary=(
        "Exact match and F1 of SQuAD 2.0, the best over the references. The reference of an unanswerable question, "
        "and the prediction that declines, are the empty text; two empty texts match."
    ),
    source="evaluate-v2.0.py of SQuAD 2.0, https://worksheets.codalab.org/bundle/0x6b567e1cf2e041ec80d7098f031c5c9e",
)
add_preset(
    "squad_v1",
    "exact_match(normalize='squad')",
    "token_f1(empty='v1')",
    summary=(
        "Exact match and F1 of SQuAD 1.1, the best over the references. Two texts without a word have an F1 of 0, "
        "though they match. A question without a prediction counts as wrong: give it the empty text."
    ),
    source="evaluate-v1.1.py of SQuAD 1.1, https://github.com/allenai/bi-att-flow/blob/a315bc8/squad/evaluate-v1.1.py",
)
add_preset(
    "hotpotqa",
    "exact_match(normalize='squad')",
    "token_f1(empty='v1', yes_no='exact')",
    "token_precision(empty='v1', yes_no='exact')",
    "token_recall(empty='v1', yes_no='exact')",
    summary=(
        "Exact match, F1, precision and recall of the answers of HotpotQA. Where a side is yes, no or noanswer, the "
        "other must be the same. Supporting facts are not scored."
    ),
    source="hotpot_evaluate_v1.py, https://github.com/hotpotqa/hotpot/blob/3635853/hotpot_evaluate_v1.py",
)
add_preset(
    "nq",
    "exact_match(normalize='squad')",
    "token_f1(empty='v1')",
    summary="Exact match and F1 of short answers to the open questions of Natural Questions, the best over references.",
    source="exact_match_score of DPR and FiD, https://github.com/facebookresearch/DPR; with F1: arXiv:2305.06984",
)
add_preset(
    "triviaqa",
    "exact_match(normalize='triviaqa')",
    "token_f1(empty='v1', normalize='triviaqa')",
    summary=(
        "Exact match and F1 of TriviaQA, the best over all aliases of the answer. Map the reference to the list of "
        "aliases, such as answer.NormalizedAliases."
    ),
    source="triviaqa_evaluation.py, https://github.com/mandarjoshi90/triviaqa",
)
add_preset(
    "drop",
    "drop_f1",
    "drop_f1(score='exact')",
    summary=(
        "F1 and exact match of DROP, the best over the answers of all annotators. Spans are paired one to one, numbers "
        "must be equal, and F1 is rounded to two decimals. A date is the text day month year."
    ),
    source="drop_eval.py of AllenNLP; tasks/drop/utils.py of lm-eval 0.4.13",
)
add_preset(
    "gsm8k",
    "exact_match(extract='gsm8k_strict', missing='wrong', normalize='gsm8k')",
    "exact_match(extract='gsm8k_flexible', missing='wrong', normalize='gsm8k')",
    summary=(
        "Exact match of GSM8K's numbers: the first after #### (strict), or the last in the reply (flexible). The "
        "reference may be the whole solution. A reply without a number is wrong."
    ),
    source="tasks/gsm8k/gsm8k.yaml of lm-eval 0.4.13",
)
add_preset(
    "math",
    "exact_match(extract='dollars', missing='wrong', normalize='math')",
    summary=(
        "Equality of MATH, by spelling: what stands between the first and the last dollar sign of the reply is "
        "compared. The reference is the answer, without its box."
    ),
    source="tasks/hendrycks_math/utils.py of lm-eval 0.4.13; is_equiv of https://github.com/hendrycks/math",
)
add_preset(
    "mmlu",
    "exact_match(extract='first_line', missing='wrong', normalize='plain')",
    summary=(
        "Accuracy of MMLU: the first line of the reply is the letter of the reference, but for case and punctuation. "
        "Compare subjects with --by."
    ),
    source="tasks/mmlu/generative of lm-eval 0.4.13",
)
add_preset(
    "mmlu_cot",
    "exact_match(extract='mmlu_cot', missing='wrong', normalize='plain')",
    summary=(
        "Accuracy of MMLU after reasoning: what follows the first “answer is ” in its line, without the last "
        "character, is the letter of the reference, but for case and punctuation. Compare subjects with --by."
    ),
    source="tasks/mmlu/flan_cot_fewshot of lm-eval 0.4.13",
)
add_preset(
    "bbh",
    "exact_match(extract='bbh', missing='wrong')",
    summary=(
        "Exact match of BIG-Bench Hard: what follows the first “the answer is ” in its line, without the last "
        "character, is the reference. Compare tasks with --by."
    ),
    source="tasks/bbh/cot_fewshot of lm-eval 0.4.13",
)
add_preset(
    "qasper",
    "token_f1(empty='v1')",
    summary=(
        "Answer F1 of QASPER, the best over the annotators' answers. The text of an answer is its spans joined by "
        "commas, or Yes, No or Unanswerable. Evidence is not scored; compare types of answers with --by."
    ),
    source="qasper_evaluator.py, https://github.com/allenai/qasper-led-baseline",
)
add_preset(
    "narrativeqa",
    "bleu(order=1, smooth='none', tokenize='none')",
    "bleu(smooth='none', tokenize='none')",
    "caption_rouge_l",
    summary=(
        "BLEU-1, BLEU-4 and ROUGE-L of NarrativeQA, each with both references at once. Texts are split at spaces only: "
        "give them in lower case and tokenised, such as answer1_tokenized. METEOR is not scored."
    ),
    source="coco-caption, as in Kočiský et al. 2018, arXiv:1712.07040; pycocoevalcap 1.2",
)
add_preset(
    "simpleqa",
    "judge:simpleqa",
    "judge:simpleqa(measure='attempted')",
    "judge:simpleqa(measure='correct_given_attempted')",
    "judge:simpleqa(measure='f')",
    summary=(
        "The four figures of SimpleQA: correct, attempted, correct of those attempted, and the harmonic mean of the "
        "first and the third. A model grades each answer once, by karat's own prompt."
    ),
    source="simpleqa_eval.py, https://github.com/openai/simple-evals; arXiv:2411.04368",
)
add_preset(
    "locomo",
    "locomo_f1(compared='first')",
    summary=(
        "F1 of LoCoMo by the category of each question, as REMem scores it: of categories 2 to 4 the prediction's "
        "first comma ends it, and the first gold answer counts. `locomo_f1` compares the whole answers."
    ),
    source="QAF1ScoreLocomo of REMem, arXiv:2602.13530",
)
add_preset(
    "longmemeval",
    "judge:longmemeval",
    summary=(
        "Accuracy of LongMemEval: a model judges each answer by the rule of its question_type (one that contains _abs "
        "cannot be answered), by karat's own prompt."
    ),
    source="the rules by type of evaluate_qa.py, https://github.com/xiaowu0162/LongMemEval; arXiv:2410.10813",
)
add_preset(
    "mem0",
    "judge:mem0",
    summary=(
        "Accuracy of answers from a memory by Mem0's lenient rule, that touching on the gold is enough, with karat's "
        "own prompt. `judge:correctness` asks for the answer itself, and scores the same answers far lower."
    ),
    source="the judge of Mem0 on LoCoMo, arXiv:2504.19413",
)
add_preset(
    "spider",
    "sql_match(absolute=0, order='mentioned', relative=0, rewriting='spider', seconds=60)",
    summary=(
        "Execution accuracy of Spider's test suites: equal rows on every database of the folder, with columns in any "
        "order, DISTINCT dropped, and rows in order where the gold query has ORDER BY. Set KARAT_DATABASES."
    ),
    source="exec_eval.py, https://github.com/taoyds/test-suite-sql-eval/blob/14784c3/exec_eval.py; arXiv:2010.02840",
)
add_preset(
    "bird",
    "sql_match(absolute=0, columns='same', order='never', relative=0, rows='set')",
    summary=(
        "Execution accuracy of BIRD: the sets of rows are equal, with columns in the gold query's order. A query that "
        "takes longer than 30 seconds is wrong. Set KARAT_DATABASES to the folder of the databases."
    ),
    source="evaluation.py of BIRD, https://github.com/AlibabaResearch/DAMO-ConvAI/tree/main/bird; arXiv:2305.03111",
)
add_preset(
    "nuggetizer",
    *(
        f"judge:nuggets(empty='zero', measure='{measure}')"
        for measure in ("strict_vital", "strict_all", "vital", "all")
    ),
    summary=(
        "The four figures of nuggetizer: the vital nuggets, and all, that an answer supports, strictly or with half "
        "for partial support, by karat's own prompt. A row without such nuggets scores 0, as there; `judge:nuggets` "
        "leaves it unscored."
    ),
    source="core/metrics.py, https://github.com/castorini/nuggetizer/tree/0b58400; arXiv:2411.09607",
)
add_preset(
    "alce",
    "answer_presence(extract='uncited', missing='wrong')",
    "answer_presence(extract='uncited', missing='wrong', score='all')",
    summary=(
        "STR-EM and STR-EM-HIT of ALCE for ASQA: the share of the short answers that the first line contains without "
        "its citations. Add citation_recall(model=…) and citation_precision(model=…), which need a model."
    ),
    source="eval.py, https://github.com/princeton-nlp/ALCE; arXiv:2305.14627",
)
_RAGCHECKER = (
    *("precision", "recall", "f1", "claim_recall", "context_precision", "context_utilization"),
    *("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant"),
    *("hallucination", "self_knowledge", "faithfulness"),
)
add_preset(
    "ragchecker",
    *(f"claim_check(figure='{figure}')" for figure in _RAGCHECKER),
    summary=(
        "RAGChecker's eleven figures, from the claims that RAGChecker extracted and checked: the file that its "
        "checker writes, with answer2response, response2answer, retrieved2answer and retrieved2response."
    ),
    source="computation.py of ragchecker 0.1.9, https://github.com/amazon-science/RAGChecker",
)

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


def _all_trec(*settings: str) -> list[str]:
    """What `trec_eval -m all_trec` prints, in its order; `settings` are interpolated precision's."""

    def cut(spec: str) -> list[str]:
        return [f"{spec}@{k}" for k in _CUTOFFS]

    counts = [f"document_count(of='{what}')" for what in ("relevant", "relevant_retrieved", "nonrelevant_retrieved")]
    levels = [f"interpolated_precision({', '.join((f'at={tenth / 10}', *settings))})" for tenth in range(11)]
    multiples = [f"r_precision(multiple={fifth / 5})" for fifth in range(1, 11) if fifth != 5]
    return [
        *("document_count(of='queries')", "document_count", *counts[:2], "average_precision", "geometric_mean"),
        *("r_precision", "bpref", "reciprocal_rank", *levels, *cut("precision"), *cut("recall")),
        *("inferred_average_precision", "geometric_mean(bpref)", *multiples, "utility"),
        f"interpolated_precision({', '.join(settings)})",
        *("binary_gain", "normalized_gain", "ndcg", "ndcg_at_relevant", "ndcg_at_levels"),
        *(*cut("ndcg"), *cut("average_precision"), *cut("recall(capped=True)")),
        *("hit_rate@1", "hit_rate@5", "hit_rate@10", "precision", "recall(capped=True)", "recall"),
        *("set_average_precision", "f_measure", counts[2]),
    ]


add_preset(
    "trec_eval",
    *_all_trec(),
    summary=(
        "All that `trec_eval -m all_trec` prints, in its order, but the texts `runid` and `relstring`, and "
        "`Rprec_mult_1.00`, which is `Rprec`. Interpolated precision is version 9's."
    ),
    source="trec_eval 9.0.8, https://github.com/usnistgov/trec_eval/tree/v9.0.8",
)
add_preset(
    "trec_eval_10",
    *_all_trec("rounding='nearest'"),
    summary="As `preset:trec_eval`, with the interpolated precision of version 10.",
    source="trec_eval 10, https://github.com/usnistgov/trec_eval/tree/f4253652c8",
)
