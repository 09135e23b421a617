"""Blocks of the README that are generated: ``<!-- name -->`` … ``<!-- /name -->``."""

from tacl_lib.errors import TaclError


def block(text: str, name: str) -> str:
    """What stands between the markers of a name."""
    try:
        return text.split(f"<!-- {name} -->\n")[1].split(f"<!-- /{name} -->")[0]
    except IndexError:
        raise TaclError(f"README.md has no markers <!-- {name} --> and <!-- /{name} -->; add them.") from None


def replaced_block(text: str, name: str, content: str) -> str:
    """The text with other content between the markers of a name."""
    old = f"<!-- {name} -->\n{block(text, name)}<!-- /{name} -->"
    return text.replace(old, f"<!-- {name} -->\n{content.rstrip()}\n<!-- /{name} -->")
