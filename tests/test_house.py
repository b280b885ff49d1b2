"""The rules of the house, as they can be executed."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "karat"
FLOORS = [
    {"core"},
    {"models", "text", "data"},
    {"judges", "metrics", "stats"},
    {"runs"},
    {"viewer", "adapters"},
    {"cli"},
]
HEIGHT = {room: height for height, floor in enumerate(FLOORS) for room in floor}
FILES = sorted(path for path in SOURCE.rglob("*.py*") if path.suffix in {".py", ".pyx"})


def rooms_imported(path):
    """The packages of karat that a module imports anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("karat."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("karat."))


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix == ".py"], ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down_and_never_sideways(path):
    room = path.relative_to(SOURCE).parts[0]
    if room.endswith(".py"):
        return  # karat/__init__.py names everything, lazily
    for other in rooms_imported(path):
        assert other == room or HEIGHT[other] < HEIGHT[room], f"{room} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_file_is_longer_than_300_lines_without_a_reason(path):
    text = path.read_text("utf-8")
    assert text.count("\n") <= 300 or "Longer than 300 lines because" in text


def test_every_room_has_a_floor():
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(HEIGHT)


def test_every_public_name_is_there():
    import karat

    for name in karat.__all__:
        assert getattr(karat, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = karat.scores
