"""Formulas that need no web: LaTeX in Markdown becomes MathML, which browsers show by themselves."""

import html
import re

from latex2mathml.converter import convert

_CODE = r"(?P<code>```.*?```|`[^`\n]+`)"
_FORMULA = re.compile(_CODE + r"|\$\$(?P<block>.+?)\$\$|(?<![\\$])\$(?P<inline>[^$\n]+?)\$", re.S)


def with_formulas(text: str) -> str:
    """Markdown with its formulas as MathML."""
    return _FORMULA.sub(_as_mathml, text)


def _as_mathml(found: re.Match) -> str:
    if found["code"]:
        return found["code"]
    formula = found["block"] or found["inline"]
    try:
        return convert(" ".join(formula.split()), display="block" if found["block"] else "inline")
    except Exception:  # a formula that it does not know is shown as it was written
        return f"<code>{html.escape(formula)}</code>"
