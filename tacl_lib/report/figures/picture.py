"""A figure that carries its alternative text, and how it is written to files."""

import base64
import html
import io
import re
import textwrap
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.report.figures import style

LETTERS_PER_INCH = 12.5  #: of the text above a figure, on the safe side


class Picture(Figure):
    """A matplotlib figure with alt text; a notebook shows it with that text."""

    alt: str = ""

    def _repr_mimebundle_(self, include=None, exclude=None):
        png = base64.b64encode(_bytes(self, "png", self.alt)).decode()
        width = round(self.get_figwidth() * 90)
        # JupyterLab shows the HTML, the only form whose alternative text it keeps; others take the image.
        # Colours are chosen on white: in a dark theme the figure is a light card.
        card = "background:#fff;border-radius:6px"
        page = f'<img alt="{html.escape(self.alt)}" width="{width}" style="{card}" src="data:image/png;base64,{png}">'
        about = {"image/png": {"width": width, "alt": self.alt}}
        return {"text/html": page, "image/png": png, "text/plain": self.alt}, about


def new_picture(
    width: float,
    height: float,
    *,
    title: str = "",
    reduced: str | None = None,
) -> Picture:
    """An empty figure, inches wide and high, below a title and, on its face, the text of a reduced run."""
    picture = Picture(figsize=(width, height), dpi=100, layout="constrained")
    FigureCanvasAgg(picture)
    top = 0.0
    for text, size, weight, colour in ((title, 12, "bold", style.INK), (reduced, 9, "bold", style.WARNING)):
        if not text:
            continue
        lines = textwrap.fill(text, int(width * LETTERS_PER_INCH * 9 / size))
        deep = (lines.count("\n") + 1) * size * 1.3 / 72
        picture.text(
            0.5, 1 - (top + 0.08) / height, lines, ha="center", va="top", size=size, weight=weight, color=colour
        )
        top += deep + 0.06
    room = top + 0.08 if top else 0.0
    picture.get_layout_engine().set(rect=(0, 0, 1, 1 - room / height), w_pad=0.06, h_pad=0.06)
    return picture


def finished(picture: Picture, alt: str) -> Picture:
    """Give a figure its alternative text, and fix its layout: showing or saving it does not move anything again."""
    picture.alt = alt
    with style.applied():
        if picture.get_layout_engine() is not None:
            picture.get_layout_engine().execute(picture)
    picture.set_layout_engine("none")
    return picture


def alt_of(figure: Figure) -> str:
    """The alternative text of a figure of this package."""
    return getattr(figure, "alt", "")


def save(figure: Figure, folder: Path | str, name: str, alt: str | None = None, *, small: bool = False) -> list[Path]:
    """Write a figure as PNG (160 dots an inch) and SVG, and its alternative text, whole or not at all.

    The same figure gives the same bytes. alt: None takes the figure's own. small: both with less detail, the PNG
    to stand in a page that links to the SVG.
    """
    alt = alt_of(figure) if alt is None else alt
    if not alt.strip():
        raise TaclError(f"the figure {name} has no alternative text; give one as alt=….")
    folder = Path(folder)
    content = {kind: _bytes(figure, kind, alt) for kind in ("png", "svg")} | {"txt": (alt.strip() + "\n").encode()}
    if small:
        content |= {"png": _smaller(content["png"]), "svg": _rounded(content["svg"])}
    paths = {"png": folder / f"{name}.png", "svg": folder / f"{name}.svg", "txt": folder / f"{name}.alt.txt"}
    for kind, path in paths.items():
        write_whole(path, lambda temporary, kind=kind: temporary.write_bytes(content[kind]))
    return list(paths.values())


def _smaller(png: bytes) -> bytes:
    """The same image with 1,100 dots across and 256 colours."""
    with Image.open(io.BytesIO(png)) as image:
        image = image.convert("RGB")
        image.thumbnail((1100, 1100), Image.Resampling.LANCZOS)
        packed = io.BytesIO()
        # Not the usual median cut, which turns the colour of a thin line into that of its neighbours.
        few = image.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
        few.save(packed, "PNG", optimize=True)
    return packed.getvalue()


def _rounded(svg: bytes) -> bytes:
    """The same drawing to a tenth of a dot, its lines told step by step: smaller by a third."""
    return re.sub(rb'(?<= d=")[^"]*', lambda path: _steps(path[0].decode()).encode(), svg)


def _steps(path: str) -> str:
    """A path of straight lines, told in steps between rounded places, so that no error adds up."""
    tokens = re.findall(r"[A-Za-z]|-?[\d.]+", path)
    if not set(filter(str.isalpha, tokens)) <= {"M", "L", "z"}:
        return re.sub(r"(\.\d\d)\d+", r"\1", path)
    found, command, at, start, numbers = [], "M", (0, 0), (0, 0), iter(tokens)
    for token in numbers:
        if token == "z":
            found.append("z")
            at = start
            continue
        command, x = (token, next(numbers)) if token.isalpha() else (command, token)
        to = (round(10 * float(x)), round(10 * float(next(numbers))))
        x, y = to if command == "M" else (to[0] - at[0], to[1] - at[1])
        found.append(f"{'M' if command == 'M' else 'l'}{x / 10:g} {y / 10:g}")
        at, start = to, to if command == "M" else start
    return "".join(found)


def _bytes(figure: Figure, kind: str, alt: str) -> bytes:
    # Without dates and versions, so that a figure that did not change gives a file that did not change.
    about = {"Description": alt}
    about |= {"Software": None} if kind == "png" else {"Date": None, "Creator": None, "Title": alt}
    buffer = io.BytesIO()
    with style.applied():
        figure.savefig(buffer, format=kind, metadata=about)
    return buffer.getvalue()
