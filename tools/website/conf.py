"""How Sphinx makes the site. No page asks another host for anything: formulas are MathML, fonts those of the system."""

import re

from docutils.nodes import SkipNode, Text, problematic
from latex2mathml.converter import convert

import tacl_lib

project = "TACL"
author = "The TACL authors"
copyright = "the TACL authors"
release = version = tacl_lib.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
]
root_doc = "index"
exclude_patterns = []
html_theme = "furo"
html_title = "TACL"
html_favicon = "static/icon.svg"
html_css_files = ["site.css"]
html_js_files = [("live.js", {"type": "module"})]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

nb_execution_mode = "off"  # they come executed (execution.py)
nb_merge_streams = True
nb_render_markdown_format = "myst"
nb_mime_priority_overrides = [("html", "text/html", 0), ("html", "image/png", 10), ("html", "text/markdown", 5)]
myst_enable_extensions = ["dollarmath", "amsmath", "html_image"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

autodoc_default_options = {"members": True, "show-inheritance": True, "member-order": "bysource"}
autodoc_typehints = "none"
autoclass_content = "both"  # the settings of a learner are told by its __init__
autodoc_preserve_defaults = True
autodoc_mock_imports = ["avalanche"]  # of an extra; the pages need its names only
default_role = "code"
toc_object_entries = False  # thousands of names would stand beside every page
html_domain_indices = False
suppress_warnings = ["myst.header", "docutils", "ref.python", "mystnb.unknown_mime_type", "misc.highlighting_failure"]


def _formula(self, node, block: bool) -> None:
    """A formula as MathML, which browsers show by themselves."""
    self.body.append(convert(" ".join(node.astext().split()), display="block" if block else "inline"))


def _inline(self, node) -> None:
    _formula(self, node, block=False)
    raise SkipNode


def _display(self, node) -> None:
    self.body.append('<div class="formula">')
    _formula(self, node, block=True)
    self.body.append("</div>")
    raise SkipNode


def _plain(app, document) -> None:
    """Docstrings are not written for Sphinx: a star that it takes for the start of emphasis is a star."""
    for node in list(document.findall(problematic)):
        node.parent.replace(node, Text(node.astext()))


def _listed(app, what, name, thing, options, lines: list[str]) -> None:
    """Settings, which docstrings tell in lines such as ``size: P, members of a cluster``, become a list."""
    found, within = [], False
    for line in lines:
        if "Create new instance of" in line:  # Python's own words on a named tuple
            continue
        setting = re.match(r"([a-z_]\w*(?:, [a-z_]\w*)*): ", line)
        if setting:
            found += [*([] if within else [""]), f"* **{setting[1]}**: {line[setting.end() :]}"]
        else:
            found.append(f"  {line.strip()}" if within and line.strip() else line)
        within = bool(setting or (within and line.strip()))
    lines[:] = found


def setup(app) -> None:
    app.connect("autodoc-process-docstring", _listed)
    app.connect("doctree-read", _plain)
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))


html_math_renderer = "mathml"
