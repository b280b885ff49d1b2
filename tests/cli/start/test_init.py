"""`karat init`: what it says of a folder, and the files that it writes, which are run here."""

import json
import os
import re
import shlex
import subprocess

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.cli.start.starting_point import SCRIPT, TASK, WORKFLOW

yaml = pytest.importorskip("yaml")


def rows(*predictions, **more):
    return [
        {"id": n, "question": f"{n}?", "prediction": text, "gold": "yes"} | more for n, text in enumerate(predictions)
    ]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def init(folder, *words, code=0):
    done = CliRunner().invoke(main, ["init", str(folder), *words])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def run(karat_program):
    """Runs the script of a folder as a user does, and returns the finished process."""

    def run(folder, code=0):
        environment = {**os.environ, "PATH": f"{karat_program.parent}:/usr/bin:/bin"}
        environment.pop("KARAT_RUNS", None)
        words = ["sh", "--", f"{folder.name}/{SCRIPT}"]
        done = subprocess.run(
            words, cwd=folder.parent, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == code, done.stderr
        return done

    return run


def workflow(root):
    """The steps of the written workflow, which may write nothing but its caches."""
    written = yaml.safe_load((root / WORKFLOW).read_text("utf-8"))
    assert written["permissions"] == {"contents": "read"}
    return written["jobs"]["karat"]["steps"]


def scores(root):
    """The words of the command that scores in the written workflow."""
    (command,) = (step["run"] for step in workflow(root) if step.get("run", "").startswith("karat score"))
    return shlex.split(command)


def test_two_systems_are_scored_and_compared_by_the_script_each_time_that_it_runs(tmp_path, run):
    write(tmp_path / "in" / "a.jsonl", rows("yes", "no", "yes", "yes"))
    write(tmp_path / "in" / "b.jsonl", rows("yes", "no", "no", "no"))
    done = init(tmp_path / "in")
    assert "can be compared: a.jsonl, b.jsonl" in done.stdout
    first = run(tmp_path / "in").stdout
    assert re.search(r"em +0\.7500 .*em +0\.2500", first, re.DOTALL)
    assert re.search(r"em: (b-\S+ is worse|no difference)", first)
    write(tmp_path / "in" / "b.jsonl", rows("yes", "yes", "yes", "yes"))
    runs = tmp_path / "in" / "karat-runs"
    for path in runs.glob("a-*"):
        path.rename(f"{path}-earlier")  # as if a minute had passed
    for path in runs.glob("b-*"):
        path.rename(f"{path}-earlier")
    assert "1.0000" in run(tmp_path / "in").stdout
    assert scores(tmp_path / "in") == shlex.split("karat score a.jsonl -m em -m f1 --run candidate")


def test_the_workflow_compares_with_the_last_run_of_the_main_branch(tmp_path, run):
    write(tmp_path / "a.jsonl", rows(*["yes"] * 30))
    init(tmp_path)
    steps = workflow(tmp_path)
    assert [step["uses"] for step in steps if "uses" in step] == [
        *("actions/checkout@v4", "actions/setup-python@v5", "actions/cache/restore@v4", "actions/cache/save@v4")
    ]
    kept = [step["with"] for step in steps if "cache" in step.get("uses", "")]
    assert {each["path"] for each in kept} == {"karat-runs/candidate"}
    assert kept[0]["key"] == kept[1]["key"]
    assert kept[0]["key"].startswith(kept[0]["restore-keys"])
    assert "success()" not in str(steps[-1]["if"])
    assert steps[-1]["uses"] == "actions/cache/save@v4"  # only after all steps before, the gate too, have passed
    install, *commands = (step["run"] for step in steps if "run" in step)
    assert install == f"pip install karat=={karat.__version__}"

    def job(code=0):
        """What a job puts into its summary; its run stays where the cache keeps it."""
        steps = [f"bash -ec {shlex.quote(each)}" for each in commands]
        lines = ["set -e", "export GITHUB_STEP_SUMMARY=said", 'cd "$(dirname "$0")"', *steps]
        (tmp_path / SCRIPT).write_text("\n".join(lines))
        run(tmp_path, code)
        said = (tmp_path / "said").read_text()
        (tmp_path / "said").unlink()
        return said

    assert "| f1 | 100.0 |" in job()
    write(tmp_path / "a.jsonl", rows(*["no"] * 30))
    assert "worse" in job(code=4)
    assert sorted(path.name for path in (tmp_path / "karat-runs").iterdir()) == ["baseline", "candidate"]


def test_the_summary_is_written_where_a_gate_is_not_passed_and_the_workflow_runs_each_week(tmp_path, run):
    write(tmp_path / "a.jsonl", rows(*["no"] * 30))
    init(tmp_path)
    text = (tmp_path / WORKFLOW).read_text("utf-8")
    assert re.search(r'(?m)^    - cron: "', text)
    assert "-m judge:correctness --model NAME --max-calls" in text
    *_, scored, summary, _ = workflow(tmp_path)
    assert summary["if"] == "${{ !cancelled() }}"

    def job(scored, code):
        lines = [
            "set -e",
            "export GITHUB_STEP_SUMMARY=said",
            'cd "$(dirname "$0")"',
            "rm -f summary.md",
            f"{scored} || true",
        ]
        (tmp_path / SCRIPT).write_text("\n".join([*lines, f"bash -ec {shlex.quote(summary['run'])}"]))
        run(tmp_path, code)
        return (tmp_path / "said").read_text()

    assert "Nothing was scored" in job("false", 0)
    assert "| em | 0.0 |" in job(f"{scored['run']} --fail-under 0.5", 0)


def test_gold_in_a_second_file_is_named_by_the_script_and_the_workflow_in_the_repository(tmp_path, run):
    (tmp_path / ".git").mkdir()
    write(tmp_path / "evals" / "our answers.jsonl", [{"id": 1, "answer": "a"}, {"id": 2, "answer": "b"}])
    write(tmp_path / "evals" / "gold.jsonl", [{"id": 1, "answer": "a"}, {"id": 2, "answer": "c"}])
    init(tmp_path / "evals")
    assert re.search(r"em +0\.5000", run(tmp_path / "evals").stdout)
    words = scores(tmp_path)
    assert words[2:7] == ["evals/our answers.jsonl", "--gold", "evals/gold.jsonl", "--on", "id"]
    assert not (tmp_path / "evals" / ".github").exists()


def test_a_task_is_written_for_questions_without_answers(tmp_path, run):
    write(tmp_path / "q" / "questions.jsonl", [{"question": "a?", "gold": ["yes"]}, {"question": "b?", "gold": ["no"]}])
    assert f"next: fill in {tmp_path / 'q' / TASK}, then sh " in init(tmp_path / "q").stderr
    assert "task.py:answer: it is not filled in" in run(tmp_path / "q", code=2).stderr
    assert not list(tmp_path.rglob("manifest.json"))
    task = tmp_path / "q" / TASK
    task.write_text(task.read_text().replace("raise NotImplementedError", 'return "yes"'))
    assert re.search(r"em +0\.5000", run(tmp_path / "q").stdout)
    assert not (tmp_path / "q" / WORKFLOW).exists()


@pytest.mark.parametrize("column", ["question", "Prompt", "User Input"])
def test_a_task_gets_the_question_whatever_its_column_is_called(tmp_path, run, column):
    write(tmp_path / "q" / "questions.jsonl", [{column: "a?", "gold": ["a?"]}])
    init(tmp_path / "q")
    task = tmp_path / "q" / TASK
    parameter = column if column.isidentifier() else "question"
    task.write_text(task.read_text().replace("raise NotImplementedError", f"return {parameter}"))
    assert re.search(r"em +1\.0000", run(tmp_path / "q").stdout)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_hostile_name_of_a_file_of_questions_is_no_code_of_the_task(tmp_path, run):
    name = 'q""";open("pwned","w");"""\\.jsonl'
    write(tmp_path / "q" / name, [{"question": "a?", "gold": ["yes"]}])
    init(tmp_path / "q")
    assert "it is not filled in" in run(tmp_path / "q", code=2).stderr
    assert not list(tmp_path.rglob("pwned"))


def test_runs_of_files_with_the_same_stem_have_names_of_their_own(tmp_path, run):
    for name in ("a.jsonl", "a.b.jsonl", "a-2.jsonl"):
        write(tmp_path / "in" / name, rows("yes", "no"))
    init(tmp_path / "in")
    same = re.findall(r"^em: (\S+) and \S+ score the same", run(tmp_path / "in").stdout, re.MULTILINE)
    assert len(set(same)) == 2


def test_answers_without_gold_get_a_script_to_edit_that_says_so(tmp_path, run):
    write(tmp_path / "out" / "answers.jsonl", [{"id": 1, "question": "q", "response": "a", "contexts": ["c"]}])
    done = init(tmp_path / "out")
    assert "answers.jsonl: no gold for it was found here: --gold FILE --on COLUMN names it" in done.stdout
    script = (tmp_path / "out" / SCRIPT).read_text()
    assert "# karat score answers.jsonl --gold FILE --on COLUMN -m em -m f1\n" in script
    assert "# karat score answers.jsonl -m judge:faithfulness --model NAME --dry-run\n" in script
    assert "nothing can be scored yet" in run(tmp_path / "out", code=1).stderr
    assert not (tmp_path / "out" / WORKFLOW).exists()


def test_commented_commands_are_ones_that_karat_takes(tmp_path, run):
    write(tmp_path / "rag" / "a.jsonl", rows("yes", "no", contexts=["c"]))
    write(tmp_path / "rag" / "b.jsonl", rows("yes", "yes", contexts=["c"]))
    init(tmp_path / "rag")
    script = tmp_path / "rag" / SCRIPT
    text = script.read_text()
    assert "judge:faithfulness" in text
    script.write_text(text.replace("# karat ", "karat "))
    run(tmp_path / "rag")
    assert (tmp_path / "rag" / "report.html").exists()
    assert r"\begin{tabular}" in (tmp_path / "rag" / "table.tex").read_text()


def test_nothing_is_replaced_unless_asked_for(tmp_path):
    write(tmp_path / "a.jsonl", rows("yes"))
    (tmp_path / SCRIPT).write_text("mine\n")
    done = init(tmp_path, code=1)
    assert f"nothing was written: {tmp_path / SCRIPT} is there; --overwrite replaces it" in done.stderr
    assert (tmp_path / SCRIPT).read_text() == "mine\n"
    assert not (tmp_path / WORKFLOW).exists()
    init(tmp_path, "--overwrite")
    assert "karat score a.jsonl" in (tmp_path / SCRIPT).read_text()


def test_a_folder_without_data_is_said_to_have_none(tmp_path):
    (tmp_path / "README.md").write_text("nothing\n")
    assert "holds no data files" in init(tmp_path, code=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


NAMES = (
    *("-m.jsonl", "--help.jsonl", "it's.jsonl", 'say "x".jsonl', "$(touch pwned).jsonl", "`touch pwned`.jsonl"),
    *(
        "x;touch pwned.jsonl",
        "*.jsonl",
        "[a].jsonl",
        "ünï-日本.jsonl",
        "#c.jsonl",
        "%s{x}.jsonl",
        "~.jsonl",
        "a b.jsonl",
    ),
    "back\\slash.jsonl",
)
REFUSED = ("new\nline.jsonl", "\x1b[31mred.jsonl", "${{ secrets.KEY }}.jsonl", "line\u2028break.jsonl")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_words_of_the_script_and_the_workflow(tmp_path, run, name):
    write(tmp_path / "in" / name, rows("yes", "no"))
    init(tmp_path / "in")
    assert re.search(r"em +0\.5000", run(tmp_path / "in").stdout)
    assert not list(tmp_path.rglob("pwned"))
    answers = scores(tmp_path / "in")[2]
    assert (tmp_path / "in" / answers).exists()
    assert not answers.startswith("-")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize("name", REFUSED)
def test_names_that_a_script_cannot_hold_are_left_out_and_said(tmp_path, name):
    write(tmp_path / name, rows("yes"))
    done = init(tmp_path, code=1)
    assert "a name with a line break, a control character or ${{ is not written" in done.stderr
    assert "\x1b" not in done.output
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_hostile_column_is_left_out_too(tmp_path):
    write(tmp_path / "a.jsonl", rows("yes", **{"x\n$(touch pwned)": "a"}))
    assert "left out: a.jsonl" in init(tmp_path, code=1).stderr


LONG = "After some thought, the answer that I would give to this question is {}, as far as I know."


def test_columns_of_several_systems_are_scored_and_compared_by_one_command(tmp_path, run):
    lines = [
        {"id": n, "question": f"{n}?", "gold": "yes", "answer_good": "yes", "answer_bad": "no", "answer_type": "x"}
        for n in range(30)
    ]
    write(tmp_path / "in" / "wide.jsonl", lines)
    done = init(tmp_path / "in")
    assert "can be compared: wide.jsonl: answer_good, wide.jsonl: answer_bad" in done.stdout
    assert re.search(r"em: wide-\S+-bad is worse than wide-\S+-good", run(tmp_path / "in").stdout)
    assert "--map prediction=answer_good" in " ".join(scores(tmp_path / "in"))


def test_columns_of_several_systems_find_their_gold_in_another_file(tmp_path, run):
    write(tmp_path / "in" / "wide.jsonl", [{"id": n, "a.answer": "yes", "b.answer": "no"} for n in range(30)])
    write(tmp_path / "in" / "gold.jsonl", [{"id": n, "question": "?", "answers": ["yes", "y"]} for n in range(30)])
    init(tmp_path / "in")
    assert re.search(r"em: wide-\S+-b is worse than wide-\S+-a", run(tmp_path / "in").stdout)


def test_columns_named_after_systems_are_asked_about(tmp_path):
    lines = [{"question": f"{n}?", "gold": "the city of Rome", "gpt4": "Rome", "topic": "cities"} for n in range(9)]
    write(tmp_path / "wide.jsonl", lines)
    typed = "karat score wide.jsonl --predictions gpt4 -m em -m f1"
    assert f"wide.jsonl: are gpt4 the answers of systems? {typed}" in init(tmp_path).stdout


def test_long_answers_are_scored_by_what_they_contain_and_so_are_those_beside_them(tmp_path, run):
    write(tmp_path / "in" / "long.jsonl", rows(*[LONG.format("yes")] * 30))
    write(tmp_path / "in" / "short.jsonl", rows(*["yes"] * 30))
    done = init(tmp_path / "in")
    assert "long.jsonl: 100 % of the answers are at least 3 times as long as the gold" in done.stdout
    said = run(tmp_path / "in").stdout
    assert re.search(r"contains: short-\S+ and long-\S+ score the same on every row", said)
    assert "em +0" not in said
    assert "is worse" not in said
    assert "judge:correctness" in (tmp_path / "in" / SCRIPT).read_text()


def test_files_in_another_order_with_an_index_of_pandas_are_one_group(tmp_path, run):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows(*["yes"] * 300))
    (tmp_path / "in").mkdir()
    frame.to_csv(tmp_path / "in" / "a.csv")
    frame.assign(prediction="no").sample(frac=1, random_state=1).reset_index(drop=True).to_csv(
        tmp_path / "in" / "b.csv"
    )
    frame.assign(gold="no").to_csv(tmp_path / "in" / "c.csv")
    done = init(tmp_path / "in")
    assert "can be compared: a.csv, b.csv\n" in done.stdout
    assert "their gold differ: not compared" in done.stdout
    assert re.search(r"em: b-\S+ is worse than a-\S+ by 100\.0 points", run(tmp_path / "in").stdout)
