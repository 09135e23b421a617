"""Templates: every page and table in HTML, and the pages of evidence in Markdown."""

import base64
import hashlib
import io
import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from PIL import Image

from tacl_lib.report.figures import style

WIDTH = 1500  #: pixels across a figure of the report, enough for a sharp enlargement on a common screen


@cache
def _environment() -> Environment:
    """Whatever a template is given is escaped, be it from a result file or our own; Markdown escapes its tables."""
    environment = Environment(
        loader=PackageLoader("tacl_lib.report"),
        autoescape=lambda name: not (name or "").endswith(".md"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["code"] = code
    return environment


def code(text: str) -> Markup:
    """A text in which what stands between backticks is code, as in Markdown; all else is escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def render(template: str, **given) -> str:
    """The text of a template of `tacl_lib/report/templates`."""
    return _environment().get_template(template).render(**given)


def stylesheet(*names: str) -> Markup:
    """Stylesheets of the package as one text to stand in a page; ours, so trusted."""
    loader = _environment().loader
    return Markup("\n".join(loader.get_source(_environment(), name)[0] for name in names))


def allowed(styles: str) -> str:
    """A content security policy for a page that has nothing but this stylesheet and images inside itself."""
    digest = base64.b64encode(hashlib.sha256(styles.encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def picture(figure: Figure, width: int = WIDTH) -> str:
    """A figure as an address that holds the whole image (WebP), to stand in a page."""
    raw, packed = io.BytesIO(), io.BytesIO()
    with style.applied():
        figure.savefig(raw, format="png", dpi=width / figure.get_figwidth())
    with Image.open(raw) as image:
        image.convert("RGB").save(packed, "WEBP", quality=82, method=4)
    return "data:image/webp;base64," + base64.b64encode(packed.getvalue()).decode()
