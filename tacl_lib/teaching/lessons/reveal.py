"""reveal.js, its styles and its fonts: from npm, kept in the cache folder, to be written into a page."""

import base64
import hashlib
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from tacl_lib.data import cache as downloads
from tacl_lib.data import packages
from tacl_lib.data.catalog import Package
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole

REVEAL = Package(
    kind="npm",
    name="reveal.js",
    version="5.2.1",
    sha256="359b575dd51bbda32f89b2fd4c7dc46ad7389a805572158916c29252f7a27333",
    inside="package",
)
FONTS = (("regular", 400, "normal"), ("semibold", 600, "normal"), ("italic", 400, "italic"))


@cache
def reveal() -> dict[str, str]:
    """The parts of a page: script, notes (the lecturer's window) and style."""
    archive = downloads.folder() / REVEAL.file
    if not _is_known(archive):
        with tempfile.TemporaryDirectory() as folder:
            fetched = packages.fetch(REVEAL, Path(folder), progress=False) / REVEAL.file
            if not _is_known(fetched):
                raise TaclError(f"npm's {REVEAL.file} is not the one that the kit knows: its SHA-256 differs.")
            write_whole(archive, lambda path: path.write_bytes(fetched.read_bytes()))
    with tarfile.open(archive) as files:

        def content(path: str) -> bytes:
            return files.extractfile(f"{REVEAL.inside}/{path}").read()

        styles = [content("dist/reset.css").decode(), content("dist/reveal.css").decode()]
        for name, weight, slant in FONTS:
            font = base64.b64encode(content(f"dist/theme/fonts/source-sans-pro/source-sans-pro-{name}.woff")).decode()
            styles.append(
                f"@font-face {{ font-family: 'Source Sans Pro'; font-weight: {weight}; font-style: {slant}; "
                f"src: url(data:font/woff;base64,{font}); }}"
            )
        return {
            "script": _inline(content("dist/reveal.js").decode()),
            "notes": _inline(content("plugin/notes/notes.js").decode()),
            "style": "\n".join(styles),
        }


def _is_known(path: Path) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == REVEAL.sha256


def _inline(script: str) -> str:
    """A script within a page must not hold what would end it, not even in a string."""
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--")
