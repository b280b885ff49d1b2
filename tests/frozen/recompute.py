"""What must not change, computed by the code at hand: signatures, flags, the Python API, what commands print, runs.

`make.py` stores what these functions give, and `test_frozen.py` compares it with what they give now.
"""

import enum
import inspect
import json
import math
import os
import re
import shlex
import shutil
import sys
import unicodedata
from contextlib import ExitStack, chdir, contextmanager
from functools import cached_property
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from unittest import mock

import click
import pyarrow.parquet as pq
from click.testing import CliRunner

import karat
import karat.adapters
from karat.cli.main import main
from karat.core.metric.registry import all_metrics
from karat.core.metric.spec import parse
from karat.judges import Judge, own_judges
from karat.models.testing.fake import FakeServer

HERE = Path(__file__).parent
DATA, RUNS, CACHES, EXPECTED, BUNDLES = (HERE / name for name in ("data", "runs", "caches", "expected", "bundles"))
BUNDLED = ("qa", "qa_b", "judged")  # runs of which bundles are stored
PORT = 47_653
ENDPOINT = f"http://127.0.0.1:{PORT}/v1"  # whose replies are stored: the key of a request holds it
PUBLIC = (
    *("karat", "karat.engines", "karat.judges", "karat.testing", "karat.metrics"),
    *(f"karat.adapters.{each.name}" for each in iter_modules(karat.adapters.__path__)),
)

SPECS = """
em; f1; mrr; map; success; accuracy; math; number; recip_rank; Rprec; token_f1(normalize=none)
token_f1(extract='answer_is'); token_f1(normalize='squad', tokenize="words", across=mean); token_f1( normalize = none )
exact_match(missing='wrong', samples="mean", across='min'); exact_match(extract=boxed)
numeric_match(relative=0.01, percent='either'); numeric_match(absolute=1); contains(whole=false); rouge_n(n=2)
rouge_l(score=recall); label_f(average=micro, labels=["a", "b"]); label_precision(positive='x', average='binary')
bleu(lowercase=true, smooth=floor, smooth_value=0.1); chrf(word_order=2); ter(normalized=true); wer(across='max')
ndcg(gain='exp2')@10; ndcg(gain='exp2', k=10); ndcg@5; precision(rel=2)@3; recall(capped=true)@100
average_precision(rel=2)@100; f_measure(beta=0.5); interpolated_precision(at=0.1)
rank_biased_precision(persistence=0.5)
semantic_similarity(model='m', endpoint=true); cross_similarity(model=m); token_similarity(model='m', part=recall)
matches_regex(pattern='^a+$', match="full"); json_match(partial=true, tolerance=0.5); math_match(seconds=1.5)
choice_match(count_from=0); levenshtein(across=mean, normalize='unicode')
P_5; P.10; recall_1000; relative_P_10; success_1; map_cut_100; ndcg_cut_10; iprec_at_recall_0.10; Rprec_mult_0.20
11pt_avg; set_P; set_recall; set_relative_P; set_F; bpref
AP; AP(rel=2)@100; MAP; RR@10; nDCG@10; nDCG(dcg='exp-log2')@20; NDCG@3; P@5; P(rel=2)@5; R@50; SetP; SetR
SetF(beta=4); Success@5; RPrec; RPrec(rel=2); IPrec@0.1; Bpref; ERR@20; RBP(p=0.9); Judged@10
judge:refusal; judge:correctness(model=small); judge:correctness(samples=3, model=["a", 'b'], temperature=null, seed=1)
judge:own.toml; judge:own.toml(temperature=0.7)
"""
SWAPPED = (
    "judge:pairwise; judge:pairwise(model='small'); judge:pairwise(model=['a', 'b'], samples=2); judge:own_swap.toml"
)

TEXT_METRICS = """
choice_match contains exact_match jaccard jaro_winkler json_match levenshtein math_match numeric_match rouge_l
rouge_lsum rouge_n(n=2) token_f1 token_precision token_recall valid_json cer wer bleu sentence_bleu
"""
JUDGES = """
answer_relevance completeness conciseness context_relevance correctness document_relevance equivalence faithfulness
hallucination pairwise refusal subquestions toxicity
"""
QA = "-m exact_match -m token_f1 --by topic --cluster document"


def _all(metrics, prefix=""):
    return " ".join(f"-m {shlex.quote(prefix + name)}" for name in metrics.split())


RANKINGS = _all("ndcg@3 map mrr bpref P_2 R@3 AP(rel=2)@100 err judged@2 RBP(p=0.9) 11pt_avg Rprec success_1 set_F")
KEPT = {  # runs by name, and the commands that keep them
    "qa": f"score a.jsonl {QA}",
    "qa_b": f"score b.jsonl {QA}",
    "qa_c": f"score c.jsonl {QA}",
    "corpus": "score a.jsonl -m bleu -m wer -m exact_match --by topic",
    "corpus_b": "score b.jsonl -m bleu -m wer -m exact_match --by topic",
    "ranked": "score run.txt --gold qrels.txt -m ndcg@3 -m map",
    "ranked_b": "score run_b.txt --gold qrels.txt -m ndcg@3 -m map",
    "joined": "score predictions.csv --gold gold.jsonl --on qid=id -m exact_match --map prediction=said --limit 9 "
    "--seed 3 --confidence 0.9",
    "judged": "score judged.jsonl -m judge:correctness -m exact_match --model small",
    "tried": "experiment task.py:answer --data questions.jsonl -m exact_match -m token_f1 --by topic",
    "tried_twice": "experiment task.py:answer --data questions.jsonl -m exact_match --repetitions 2",
}
ASKING = {  # commands that ask judges: they print the same where replies come from a stored cache
    "judges": f"score judged.jsonl {_all(JUDGES, 'judge:')} --model small --json",
    "panel": "score judged.jsonl -m judge:conciseness -m judge:own.toml --model small --model large --json",
    "samples": "score judged.jsonl -m 'judge:refusal(samples=2, seed=5, temperature=0.5)' --model small --json",
    "tool_calls": "score calls.jsonl -m judge:tool_call_correctness --model small --json",
}
COMMANDS = {
    "qa": f"score a.jsonl {QA} --json",
    "part": """score a.jsonl -m "token_f1(extract='answer_is')" --where "topic = 'geography'" --limit 4 --json""",
    "nothing": "score a.jsonl -m exact_match --where false --json",
    "floor": "score a.jsonl -m exact_match --confidence 0.9 --fail-under 0.99 --json",
    "csv": "score a.jsonl -m exact_match -m token_f1 -o a_scored.csv --json",
    "jsonl": "score a.jsonl -m exact_match -m bleu -o a_scored.jsonl --json",
    "parquet": "score c.jsonl -m exact_match -m token_f1 -o c_scored.parquet --json",
    "joined": "score predictions.csv --gold gold.jsonl --on qid=id -m exact_match -m token_f1 --map prediction=said "
    "--by level --json",
    "mapped": "score predictions.csv --gold gold.jsonl --on qid=id -m token_f1 --map prediction=said "
    "--map reference=answers --json",
    "texts": f"score texts.jsonl {_all(TEXT_METRICS)} --by split --json",
    "translation": f"score texts.jsonl {_all('chrf ter')} --json",
    "labels": "score labels.jsonl -m 'label_f(average=micro)' -m 'label_precision(labels=[\"a\",\"b\"])' "
    "-m 'label_recall(average=binary, positive=a)' -m accuracy --by kind --json",
    "trec": f"score run.txt --gold qrels.txt {RANKINGS} --json",
    "rankings": f"score ranked.jsonl {RANKINGS} --by query --json",
    "spans": "score spans.jsonl -m exact_match --map reference=attributes.metadata.gold --kind CHAIN --json",
    "experiment": "experiment task.py:answer --data questions.jsonl -m exact_match -m token_f1 --by topic --json",
    "repetitions": "experiment task.py:answer --data questions.jsonl -m exact_match --repetitions 3 --json",
    "two": "compare qa qa_b --json",
    "three": "compare qa qa_b qa_c --by topic --flipped 2 --json",
    "clusters": "compare qa_c qa_b -m f1 --cluster document --confidence 0.9 --seed 4 --json",
    "corpora": "compare corpus corpus_b -m bleu -m wer --by topic --json",
    "retrieval": "compare ranked ranked_b --flipped 1 --json",
    "files": "compare a_scored.csv c_scored.parquet --on id --fail-if-worse --json",
    "worse": "compare qa_c qa -m f1 --confidence 0.5 --fail-if-worse --json",
    "power": "power --run qa --difference 0.05 --json",
    "power_of_two": "power --run corpus --run corpus_b --difference 0.1 --power 0.9 --level 0.01 --json",
    "list": "runs --json",
    **{f"show {name}": f"runs show {name} --json" for name in ("qa", "corpus", "judged", "joined", "tried_twice")},
    **{
        f"export {name}.{end}": f"runs export {name} -o {name}_exported.{end}"
        for name in ("qa", "corpus", "judged")
        for end in ("md", "xml", "jsonl")
    },
}
FILES = {name: words.split(" -o ")[1].split()[0] for name, words in COMMANDS.items() if " -o " in words}
del FILES["parquet"]  # bytes that depend on Arrow's version


@contextmanager
def workspace(folder, *stored, serve=True, port=0):
    """Work in `folder`, which gets the data and copies of what is stored; `serve`: with a fake model to ask."""
    shutil.copytree(DATA, folder, dirs_exist_ok=True)
    for source in stored:
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / source.name)
    told = {"KARAT_RUNS": RUNS.name, "KARAT_CACHE": "replies.sqlite", "KARAT_VECTORS": "vectors.sqlite"}
    with ExitStack() as stack:
        url = stack.enter_context(FakeServer(price=(1.0, 2.0), port=port)).url if serve else ENDPOINT
        told |= {"OPENAI_API_KEY": "sk-of-the-tests", "OPENAI_BASE_URL": url}
        stack.enter_context(mock.patch.dict(os.environ, told))
        stack.enter_context(chdir(folder))
        yield


def call(words):
    """Call the command line in this process: its exit code and what it prints."""
    url = ["--base-url", os.environ["OPENAI_BASE_URL"]] if "--model" in words else []
    argv = [*shlex.split(words), *url]
    with mock.patch.object(sys, "argv", ["karat", *argv]):
        done = CliRunner().invoke(main, argv)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def printed(words):
    """The exit code of a command and the JSON that it prints, Unicode's version aside; None where it prints none."""
    done = call(words)
    lines = [json.loads(line) for line in done.stdout.splitlines()] if words.endswith("--json") else []
    if done.exit_code and not lines:
        raise AssertionError(f"karat {words}: {done.output}")
    return {"exit": done.exit_code, "json": mask(lines)}


def mask(value):
    """The value without Unicode's version, the port of the fake model and the signatures that `swapped` keeps."""
    if isinstance(value, dict):
        return {key: mask(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [mask(inner) for inner in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"\|unicode=[\d.]+", "|unicode=*", value)
    value = re.sub(r"(127\.0\.0\.1:)\d+", r"\1*", value)
    return re.sub(r"(judge:pairwise\([^|]*\|version=\d+\|prompt=)[0-9a-f]+", r"\1*", value)


def signatures():
    """Specs and signatures by what was written; of each metric also all that its definition says."""
    own = [metric for metric in all_metrics() if metric.definition.function.__module__.startswith("karat.metrics.")]
    written = [each.strip() for line in SPECS.strip().splitlines() for each in line.split(";")]
    judges = [Judge(name) for name in own_judges() if name != "pairwise"]
    with chdir(DATA):
        return mask({
            "written": {text: [parse(text).spec, parse(text).signature] for text in written if text},
            "metrics": {metric.name: _defined(metric) for metric in own},
            "judges": {judge.name: _defined(judge) for judge in judges},
        })  # fmt: skip


def swapped():
    """Specs and signatures of judges that ask in both orders."""
    with chdir(DATA):
        found = {text: parse(text) for text in SWAPPED.split("; ")}
        return {text: [judge.spec, judge.signature] for text, judge in found.items()}


def _defined(metric):
    said = metric.definition
    settings = {name: [each.default, sorted(each.choices or ())] for name, each in said.settings.items()}
    return {
        "spec": metric.spec, "signature": metric.signature, "columns": {k: v.name for k, v in said.columns.items()},
        "settings": settings, "details": {name: str(kind) for name, kind in metric.details.items()},
        "range": [said.low, said.high], "direction": said.direction, "aliases": list(said.aliases),
        "version": said.version, "finish": said.finish is not None, "source": said.source,
    }  # fmt: skip


def flags(command=main, name="karat"):
    """Every command and, of each of its options and arguments, all but the help."""
    found = {name: [_flag(each) for each in command.params]}
    if isinstance(command, click.Group):
        for sub in command.list_commands(None):
            found |= flags(command.get_command(None, sub), f"{name} {sub}")
    return found


def _flag(each):
    kind = {key: value for key, value in each.type.to_info_dict().items() if key != "name"}
    default = each.default if isinstance(each.default, str | int | float) else None
    return {
        "name": each.name, "is": each.param_type_name, "spelled": [*each.opts, *each.secondary_opts], "type": kind,
        "default": bool(default) if getattr(each, "is_flag", False) else default, "multiple": each.multiple,
        "is_flag": getattr(each, "is_flag", False), "required": each.required, "nargs": each.nargs,
    }  # fmt: skip


def api(name=None, *, names=()):
    """By module, each public name and how it is called; of classes also their members. `name`: of this module alone."""
    if name is None:
        return {each: api(each) for each in PUBLIC}
    module = import_module(name)
    return {each: _called(getattr(module, each, "is gone")) for each in names or _public(module)}


def _public(module):
    if module.__name__ == "karat.metrics":
        return [metric.name for metric in all_metrics() if metric.definition.function.__module__.startswith("karat.")]
    here = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return sorted(getattr(module, "__all__", [name for name in here if not name.startswith("_")]))


def _called(value):
    if inspect.isroutine(value) or isinstance(value, karat.Metric):
        return _parameters(value)
    if isinstance(value, str | type(sys)) or not (inspect.isclass(value) or _is_ours(type(value))):
        return value if value == "is gone" else "value"
    kind = value if inspect.isclass(value) else type(value)
    if issubclass(kind, enum.Enum):
        return {each.name: each.value for each in kind}
    own = [vars(each) for each in kind.__mro__ if _is_ours(each)]
    found = {name: _parameters(getattr(kind, name)) for name in _MADE_BY if any(name in each for each in own)}
    for name in sorted({name for each in own for name in each if not name.startswith("_")}):
        if inspect.isroutine(member := getattr(kind, name)):
            found[name] = _parameters(member)
        elif isinstance(inspect.getattr_static(kind, name), property | cached_property):
            found[name] = "property"
    return found


_MADE_BY = ("__init__", "__new__", "__call__")


def _is_ours(kind):
    return "karat" in kind.__module__.split(".")  # also that of Haystack's integrations


class _Unwritten:
    def __repr__(self):
        return "…"


def _parameters(function):
    """The names and defaults of the parameters as they would be written."""
    plain = str | int | float | tuple | None
    called, empty = inspect.signature(function), inspect.Parameter.empty
    shown = [
        each.replace(annotation=empty)
        if each.default is empty or isinstance(each.default, plain)
        else each.replace(annotation=empty, default=_Unwritten())
        for each in called.parameters.values()
    ]
    return str(called.replace(parameters=shown, return_annotation=inspect.Signature.empty))


def kept(name):
    """Keep a run anew in the workspace: its folder."""
    done = call(f"{KEPT[name]} --run {name}")
    assert done.exit_code == 0, done.output
    return Path(os.environ["KARAT_RUNS"], name)


def contents(run):
    """What a run's folder holds, by file; masked where it differs from run to run."""
    found = {}
    for path in sorted(run.iterdir()):
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            rows = [
                {k: "*" if k.endswith(".latency") else _count(v) for k, v in row.items()} for row in table.to_pylist()
            ]
            found[path.name] = {"schema": repr(pq.read_schema(path)), "rows": rows}
        else:
            found[path.name] = mask(json.loads(path.read_text("utf-8")))
    said = found["manifest.json"]
    for since in ("files", "checksum", "lengths", "clusters_in"):  # the stored runs are older than these
        said.pop(since, None)
    for entry in found["values.json"]["metrics"]:
        entry.pop("caution", None)
        for each in (entry, *entry.get("groups", {}).values()):
            members = list(each.items())
            each.clear()
            each.update(("unscored" if name == "failed" else name, value) for name, value in members)  # of format 1
    said["settings"].pop("endpoints", None)
    said.pop("format")
    said["digests"] = {role: digest for role, digest in said["digests"].items() if role in said["mapping"]}
    said["created"], said["machine"] = "*", sorted(said["machine"])
    said["versions"] = sorted({"karat", "python"} & said["versions"].keys())
    if said["models"]:
        said["models"]["seconds"] = "*"
    return found


def _count(value):
    """The counts of a row without a score are NaN; in the stored runs, which are older, they are null."""
    return (
        None
        if isinstance(value, list) and value and all(isinstance(each, float) and math.isnan(each) for each in value)
        else value
    )


_spec = spec_from_file_location("frozen_half", Path(__file__).with_name("half.py"))
half = sys.modules[_spec.name] = module_from_spec(_spec)
_spec.loader.exec_module(half)


def this_unicode(folder):
    """Let the signatures of a stored manifest be those of this Python, whose Unicode may be another one."""
    path = folder / "manifest.json"
    path.write_text(re.sub(r"\|unicode=[\d.]+", f"|unicode={unicodedata.unidata_version}", path.read_text("utf-8")))


def similar():
    """Similarity by vectors of the endpoint, which are stored."""
    return printed("score texts.jsonl -m \"semantic_similarity(model='tiny', endpoint=true)\" --max-calls 1 --json")
