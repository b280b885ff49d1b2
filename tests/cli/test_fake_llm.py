import json
import signal
import subprocess
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from karat.cli.main import main


def test_it_serves_until_it_is_interrupted(python):
    words = ["-m", "karat", "fake-llm", "--answer", "yes", "--latency", "0.01", "--fault", "order=1"]
    with python(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        name, _, url = process.stdout.readline().strip().partition("=")
        assert name == "OPENAI_BASE_URL"
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "?"}]}).encode()
        with urlopen(Request(f"{url}/chat/completions", body)) as response:  # noqa: S310
            assert json.load(response)["choices"][0]["message"]["content"] == "yes"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "1 calls" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fault", "hong=0.1"], "did you mean 'hang'"),
        (["--fault", "hang"], "expected NAME=SHARE"),
        (["--fault", "hang=often"], "expected NAME=SHARE"),
        (["--fault", "hang=2"], "at most 1"),
        (["--latency", "-1"], "--latency"),
    ],
)
def test_what_cannot_be_served_says_why(words, said):
    result = CliRunner().invoke(main, ["fake-llm", *words])
    assert result.exit_code == 2
    assert said in result.stderr
