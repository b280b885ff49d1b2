"""The presets of benchmarks in other languages than English, as in `presets`."""

from karat.core.metric.registry import add_preset

_CMRC = (
    "exact match without marks, and F1 of the longest run that prediction and reference share, the best over the "
    "references. Han characters are tokens; other text is split as by NLTK, as one sentence. A question without a "
    "prediction counts as wrong: give it the empty text."
)
add_preset(
    "cmrc",
    "exact_match(normalize='cmrc')",
    "longest_match_f1",
    summary=f"CMRC 2018: {_CMRC}",
    source="cmrc2018_evaluate.py, https://github.com/ymcui/cmrc2018/blob/5c81039/squad-style-data/cmrc2018_evaluate.py",
)
add_preset(
    "drcd",
    "exact_match(normalize='cmrc')",
    "longest_match_f1",
    summary=f"DRCD by the script of CMRC 2018, for none of its own was found: {_CMRC}",
    source="as preset:cmrc; the data are of https://github.com/DRCKnowledgeTeam/DRCD, arXiv:1806.00920",
)
add_preset(
    "korquad",
    "exact_match(normalize='korquad')",
    "token_f1(empty='v1', normalize='korquad', tokenize='chars')",
    summary="Exact match and F1 over characters of KorQuAD 1.0, the best over the references.",
    source="evaluate-v1.0.py of KorQuAD 1.0, https://korquad.github.io/KorQuad%201.0/; arXiv:1909.07005",
)
add_preset(
    "jsquad",
    "exact_match(normalize='jsquad')",
    "token_f1(normalize='jsquad', tokenize='characters')",
    summary=(
        "Exact match and F1 over characters, spaces among them, of JSQuAD, the best over the references. Only full "
        "stops at the end are dropped; two empty texts match."
    ),
    source="squad_metrics.py as patched by JGLUE, https://github.com/yahoojapan/JGLUE/tree/ef23e3c/fine-tuning/patch",
)
add_preset(
    "fquad",
    "exact_match(normalize='fquad')",
    "token_f1(empty='v1', normalize='fquad')",
    summary=(
        "Exact match and F1 for FQuAD, the best over the references: SQuAD 1.1's with French articles (le, la, les, "
        "l', du, des, au, aux, un, une). No script of the authors was found to compare it with."
    ),
    source="ours, for the data of arXiv:2002.06071; fquad_metric.py of GRAAL-Research/COLE keeps les and au",
)
add_preset(
    "germanquad",
    "em",
    "f1",
    summary=(
        "Exact match and F1 for GermanQuAD as in its authors' library, the best over the references: SQuAD 2.0's, "
        "which drops the English articles and keeps the German ones. `preset:mlqa_de` drops those."
    ),
    source="squad.py of Haystack 1, https://github.com/deepset-ai/haystack/tree/3e72633/haystack/modeling/evaluation",
)
add_preset(
    "xquad",
    "exact_match(normalize='squad')",
    "token_f1(empty='v1')",
    summary=(
        "Exact match and F1 of XQuAD in its eleven languages: the script of SQuAD 1.1, which drops ASCII punctuation "
        "and English articles, and splits at white space, so that an answer in Chinese or Thai is one token."
    ),
    source="evaluate-v1.1.py, as https://github.com/google-deepmind/xquad says; arXiv:1910.11856",
)


def _mlqa(code: str) -> tuple[str, str]:
    return f"exact_match(normalize='mlqa{code}')", f"token_f1(empty='v1', normalize='mlqa{code}')"


def _about_mlqa(language: str) -> dict[str, str]:
    summary = (
        f"Exact match and F1 of MLQA for answers in {language}, without the punctuation of any script and the "
        "articles of the language, the best over the references."
    )
    source = "mlqa_evaluation_v1.py, https://github.com/facebookresearch/MLQA; arXiv:1910.07475"
    return {"summary": summary, "source": source}


# one call each, with its name as it is: the completion of commands reads names from this source
add_preset("mlqa", *_mlqa(""), **_about_mlqa("English"))
add_preset("mlqa_ar", *_mlqa(":ar"), **_about_mlqa("Arabic"))
add_preset("mlqa_de", *_mlqa(":de"), **_about_mlqa("German"))
add_preset("mlqa_en", *_mlqa(":en"), **_about_mlqa("English"))
add_preset("mlqa_es", *_mlqa(":es"), **_about_mlqa("Spanish"))
add_preset("mlqa_hi", *_mlqa(":hi"), **_about_mlqa("Hindi"))
add_preset("mlqa_vi", *_mlqa(":vi"), **_about_mlqa("Vietnamese"))
add_preset("mlqa_zh", *_mlqa(":zh"), **_about_mlqa("Chinese"))
