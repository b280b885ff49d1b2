"""The quickstarts in the README of an installed package, run statement by statement."""

import ast
import asyncio
import contextlib
import inspect
import io
import re
from importlib.metadata import metadata

import pytest


def blocks_of(distribution):
    """The blocks of Python in a package's README."""
    readme = metadata(distribution).get_payload()
    return re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)


def run_statements(code, names, **ours):
    """Run code in a namespace, where `ours` takes the place of what it imports; return the errors of its statements."""
    errors = []
    for statement in ast.parse(code).body:
        compiled = compile(ast.Module([statement], []), "README", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                if inspect.iscoroutine(result := eval(compiled, names)):  # noqa: S307
                    asyncio.run(result)
        except Exception as error:  # noqa: BLE001  (compared with others)
            errors.append(error)
        names |= {name: value for name, value in ours.items() if name in names}
    return errors


@pytest.fixture(scope="session")
def quickstarts():
    """The blocks of a package's README, and what runs one of them."""
    return blocks_of, run_statements
