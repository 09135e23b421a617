"""Generated Markdown: tables, and blocks of the README (``<!-- name -->`` … ``<!-- /name -->``)."""

import re
from collections.abc import Iterable, Sequence

from tacl_lib.errors import TaclError


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence]) -> str:
    """A table with a row of heads. Cells are Markdown, but tags and bars in them are escaped: some come from files."""
    return "\n".join("| " + " | ".join(map(_shown, row)) + " |" for row in [heads, ["---"] * len(heads), *rows])


def without_tags(text: object) -> str:
    """Text with all tags but `<br>` escaped: some of it comes from other people's files."""
    return re.sub(r"<(?!br>)", "&lt;", str(text))


def _shown(cell: object) -> str:
    return without_tags(str(cell).replace("|", "&#124;"))


def block(text: str, name: str) -> str:
    """The text between the markers of a block."""
    _, start, rest = text.partition(f"<!-- {name} -->\n")
    content, end, _ = rest.partition(f"<!-- /{name} -->")
    if not (start and end):
        raise TaclError(f"README.md has no markers <!-- {name} --> and <!-- /{name} -->; add them.")
    return content


def replaced_block(text: str, name: str, content: str) -> str:
    """The text with new content between the markers of a block."""
    old = f"<!-- {name} -->\n{block(text, name)}<!-- /{name} -->"
    return text.replace(old, f"<!-- {name} -->\n{content.rstrip()}\n<!-- /{name} -->")
