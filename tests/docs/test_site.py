"""The documentation builds into a site: no warnings, no broken links, every public name, search and dark mode."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from urllib.parse import unquote, urlsplit

import pytest

from karat import adapters
from karat.core.metric.registry import all_metrics

pytest.importorskip("sphinx")
ROOT = Path(__file__).parents[2]
MODULES = ["karat", "karat.kinds", "karat.errors", "karat.engines", "karat.judges", "karat.testing"]
MODULES += [f"karat.adapters.{each.name}" for each in iter_modules(adapters.__path__)]


class Page(HTMLParser):
    """The anchors of a page, what it links to, and its tooltips."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.tooltips = set(), [], []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, _tag, attrs):
        values = dict(attrs)
        self.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        self.links.extend(values[key] for key in ("href", "src") if values.get(key))
        if values.get("title"):
            self.tooltips.append(values["title"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [ROOT / "scripts" / "site", folder],
        env={**os.environ, "PYTHON": sys.executable, "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_of_docs_is_in_the_site(site):
    sources = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert [path for path in sources if not (site / path.with_suffix(".html")).exists()] == []


def broken_links(pages):
    for path, page in pages.items():
        for link in page.links:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            file = (path.parent / unquote(target.path)).resolve() if target.path else path
            if not file.exists():
                yield f"{path.name}: {link}: no such file"
            elif target.fragment and file in pages and unquote(target.fragment) not in pages[file].anchors:
                yield f"{path.name}: {link}: no such anchor"


def test_internal_links_and_anchors_lead_somewhere(pages):
    assert len(pages) > 20
    assert list(broken_links(pages)) == []


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="here"></h1><a href="b.html#there">1</a><a href="c.html">2</a>')
    (tmp_path / "b.html").write_text('<a href="a.html#here">3</a>')
    pages = {path: Page(path) for path in tmp_path.glob("*.html")}
    assert sorted(broken_links(pages)) == ["a.html: b.html#there: no such anchor", "a.html: c.html: no such file"]


def test_search_and_dark_mode(site):
    assert "token_f1" in (site / "searchindex.js").read_text("utf-8")
    assert (site / "search.html").exists()
    assert "theme-toggle" in (site / "index.html").read_text("utf-8")
    assert "data-theme=dark" in (site / "_static" / "styles" / "furo.css").read_text("utf-8")


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module, pages):
    documented = set().union(*(page.anchors for path, page in pages.items() if path.parent.name == "api"))
    loaded = import_module(module)
    own = [name for name, value in list(vars(loaded).items()) if getattr(value, "__module__", None) == module]
    functions = [name for name in own if callable(vars(loaded)[name]) and not hasattr(vars(loaded)[name], "spec")]
    names = [name for name in getattr(loaded, "__all__", functions) if name[0] != "_"]
    names = [name for name in names if f"karat.{name}" not in {*MODULES, "karat.metrics"}]
    aliases = {("karat.judges", "Judge"): "karat.Judge", ("karat.errors", "KaratError"): "karat.KaratError"}
    wanted = [aliases.get((module, name), f"{module}.{name}") for name in names]
    assert [name for name in wanted if name not in documented] == []


def test_every_metric_is_in_the_reference(site):
    anchors = Page(site / "reference" / "metrics.html").anchors
    import_module("karat.metrics")
    own = [each.name for each in all_metrics() if each.definition.function.__module__.startswith("karat.metrics.")]
    assert len(own) > 40
    assert [name for name in own if name.replace("_", "-") not in anchors] == []


def test_signatures_name_no_internal_module(pages):
    internal = re.compile(r"\bkarat\.(core|data|models|runs|stats|text|cli)\.")
    shown = {title for path, page in pages.items() if path.parent.name == "api" for title in page.tooltips}
    anchors = {anchor for path, page in pages.items() if path.parent.name == "api" for anchor in page.anchors}
    assert [name for name in shown if internal.search(name)] == []
    text = "".join(path.read_text("utf-8") for path in pages if path.parent.name == "api")
    assert re.findall(r".{30}(?:~typing|&lt;factory&gt;|\*args, \*\*kw).{30}", text) == []
    assert "karat.score" in anchors
