"""Markdown that is generated: tables, and blocks of the README (``<!-- name -->`` … ``<!-- /name -->``)."""

import re
from collections.abc import Iterable, Sequence

from tacl_lib.errors import TaclError


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence]) -> str:
    """A table with a line of heads. Cells are Markdown; a tag or a bar that a stored file brought in is only shown."""
    return "\n".join("| " + " | ".join(map(_shown, row)) + " |" for row in [heads, ["---"] * len(heads), *rows])


def without_tags(text: object) -> str:
    """Text whose tags, but for `<br>`, are shown and not obeyed: some of it comes from files of others."""
    return re.sub(r"<(?!br>)", "&lt;", str(text))


def _shown(cell: object) -> str:
    return without_tags(str(cell).replace("|", "&#124;"))


def block(text: str, name: str) -> str:
    """What stands between the markers of a name."""
    _, start, rest = text.partition(f"<!-- {name} -->\n")
    content, end, _ = rest.partition(f"<!-- /{name} -->")
    if not (start and end):
        raise TaclError(f"README.md has no markers <!-- {name} --> and <!-- /{name} -->; add them.")
    return content


def replaced_block(text: str, name: str, content: str) -> str:
    """The text with other content between the markers of a name."""
    old = f"<!-- {name} -->\n{block(text, name)}<!-- /{name} -->"
    return text.replace(old, f"<!-- {name} -->\n{content.rstrip()}\n<!-- /{name} -->")
