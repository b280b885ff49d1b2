"""Sphinx settings: how the pages of docs/ become a site. `scripts/site` builds it.

Docstrings are Markdown. Autodoc writes reStructuredText, so each docstring is wrapped in a `markdown` directive,
which parses it with MyST. Public names are imported from where users import them; the module that defines an object is
private and never shown.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import import_module
from inspect import isclass, isroutine
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.util.docutils import SphinxDirective
from sphinx.util.inspect import signature, stringify_signature

import karat
import karat.adapters

if TYPE_CHECKING:
    from sphinx.application import Sphinx

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # nothing is sent while pages are built

project = "karat"
author = "The karat authors"
copyright = author  # noqa: A001  (Sphinx's name)
release = version = karat.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
nitpicky = True

myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "furo"
html_title = f"karat {release}"
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
maximum_signature_line_length = 88
python_use_unqualified_type_names = True

PUBLIC = [  # what reference/api documents; tests/docs/test_site.py checks that it is complete
    *("karat", "karat.kinds", "karat.errors", "karat.judges", "karat.testing"),
    *(f"karat.adapters.{each.name}" for each in iter_modules(karat.adapters.__path__)),
]


def public_names(module: str) -> list[str]:
    """The names that a public module offers: its `__all__`, else the classes and functions that it defines."""
    loaded = import_module(module)
    own = [
        name
        for name, value in vars(loaded).items()
        if (isclass(value) or isroutine(value)) and value.__module__ == module
    ]
    return [name for name in getattr(loaded, "__all__", own) if not name.startswith("_")]


@cache
def public_homes() -> dict[str, str]:
    """The name by which users import an object, for the module and name where it is defined."""
    homes: dict[str, str] = {}
    for module in PUBLIC:
        for name in public_names(module):
            value = getattr(import_module(module), name)
            defined = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', None)}"
            homes.setdefault(defined, f"{module}.{name}")
    return homes


def fence_doctests(text: str) -> str:
    """Put each `>>>` example of a docstring in a fence; in Markdown it would be a quotation."""
    return re.sub(r"^>>> .*?(?=\n\s*\n|\Z)", r"```pycon\n\g<0>\n```", text, flags=re.DOTALL | re.MULTILINE)


def name_publicly(text: str) -> str:
    """Replace the module where a public object is defined by the one that users import it from."""
    homes = public_homes()

    def import_line(found: re.Match[str]) -> str:
        public = homes.get(f"{found[1]}.{found[2]}")
        return f"from {public.rpartition('.')[0]} import {found[2]}" if public else found[0]

    text = re.sub(r"\bfrom (karat\.[a-z_.]+) import (\w+)$", import_line, text, flags=re.MULTILINE)
    return re.sub(r"\bkarat\.[a-z_.]+\.\w+", lambda found: homes.get(found[0], found[0]), text)


class Markdown(SphinxDirective):
    """A block of Markdown inside of reStructuredText."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        document = new_document(self.get_source_info()[0], self.state.document.settings)
        MystParser().parse("\n".join(self.content), document)
        return list(document.children)


def wrap_docstring(_app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Have MyST parse a docstring."""
    text = fence_doctests(name_publicly("\n".join(lines).strip()))
    lines[:] = [".. markdown::", "", *(f"    {line}" for line in text.splitlines()), ""] if text else []


def clean_signature(_app: Sphinx, what: str, _name: str, obj: Any, _options: Any, text: str | None, gives: Any) -> Any:
    """Show the parameters of a class itself, and `...` for a default that cannot be written down."""
    if what != "class" or text is None:
        return None
    if type(obj).__name__ == "ComponentMeta":  # else Haystack's components show the parameters of their metaclass
        text = stringify_signature(signature(obj.__init__, bound_method=True), unqualified_typehints=True)
    if re.match(r"\(\*args, \*\*kw", text):  # there are none, or they are an enumeration's
        text = ""
    return re.sub(r"EnvVarSecret\(.*?>\)|<factory>", "...", text), gives


def skip_member(_app: Sphinx, _what: str, name: str, obj: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave out the metric that an adapter's class holds, and constants."""
    return True if isinstance(obj, karat.Metric) or name.isupper() else None


def find_public(app: Sphinx, env: Any, node: Any, content: Any) -> Any:
    """Link a type of an annotation to its public name; show it unlinked where it has no page."""
    if node.get("refdomain") != "py":
        return None
    public = public_homes().get(node["reftarget"])
    if public is None:
        return content
    domain = env.domains.python_domain
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public, node, content) or content


def show_public_titles(_app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Give links to types their public name as a tooltip; one that no public module has is shown by its name alone."""
    for link in doctree.findall(nodes.reference):
        title = link.get("reftitle", "")
        if title.startswith("karat."):
            link["reftitle"] = public_homes().get(title, title.rpartition(".")[2])


def setup(app: Sphinx) -> None:
    """Register the hooks."""
    app.add_directive("markdown", Markdown)
    app.connect("autodoc-process-docstring", wrap_docstring)
    app.connect("autodoc-process-signature", clean_signature)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("missing-reference", find_public)
    app.connect("doctree-resolved", show_public_titles)
