"""The files of the page: no markup is parsed, nothing comes from elsewhere, every module that is named is there."""

import re
from importlib import resources

import pytest

FILES = {path.name: path for path in resources.files("karat.viewer.page").joinpath("static").iterdir()}
SCRIPTS = sorted(name for name in FILES if name.endswith(".js"))
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|createContextualFragment|DOMParser|document\.write"
    r"|\beval\b|new Function|javascript:|\.style\b|\"style\"|localStorage[.\[]|https?://(?!www\.w3\.org/2000/svg)"
)


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_file_parses_markup_or_names_another_host(name):
    assert not FORBIDDEN.findall(FILES[name].read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_file_is_longer_than_300_lines(name):
    assert FILES[name].read_text("utf-8").count("\n") <= 300


def test_every_module_that_is_imported_is_there_and_every_one_is_used():
    named = {found for name in SCRIPTS for found in re.findall(r"from \"\./(.+?)\"", FILES[name].read_text("utf-8"))}
    assert named == set(SCRIPTS) - {"main.js"}
    assert 'src="main.js"' in FILES["index.html"].read_text("utf-8")


def test_the_document_holds_no_script_and_no_style_of_its_own():
    assert not re.findall(r"<style|<script(?![^>]*src=)|\son\w+=|\sstyle=", FILES["index.html"].read_text("utf-8"))
