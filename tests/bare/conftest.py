"""An environment with the core alone: karat and the packages it requires without extras, linked from this one."""

import os
import re
import subprocess
import venv
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest

import karat


def requirements(name):
    """The names of the packages that a package requires without extras, and so on."""
    found = set()
    for line in requires(name) or []:
        requirement, _, condition = line.partition(";")
        if "extra" not in condition and "python_version" not in condition and "platform" not in condition:
            needed = re.match(r"[\w.-]+", requirement)[0]
            found |= {needed} | requirements(needed)
    return found


@pytest.fixture(scope="session")
def bare(tmp_path_factory, resident):
    """Runs karat's command in the environment, in a folder: from arguments to the finished process."""
    root = tmp_path_factory.mktemp("bare")
    venv.create(root, with_pip=False, symlinks=True)
    packages = next(root.glob("lib/python*/site-packages"))
    for name in requirements("karat"):
        package = distribution(name)
        for entry in {Path(str(file)).parts[0] for file in package.files} - {"..", "__pycache__"}:
            if not (packages / entry).exists():
                (packages / entry).symlink_to(package.locate_file(entry))
    metadata = Path(str(distribution("karat")._path))
    (packages / metadata.name).symlink_to(metadata)
    (packages / "karat").symlink_to(Path(karat.__file__).parent)
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "COLUMNS": "100"}
    with resident(root / "bin" / "python", env=environment) as command:

        def run(*arguments, cwd):
            words = [*command, "0", "-m", "karat", *arguments]
            return subprocess.run(
                words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
            )

        run.packages = packages
        yield run
