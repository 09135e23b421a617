"""The members of all clusters as one image: strips of thumbnails, framed in the colour of their task."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

from tacl_lib.teaching.widgets.base import TaskLook

FRAME = 3  #: pixels of colour around a thumbnail
BAND = 14  #: … and left of it, with the number of the task: it covers nothing of the image
GAP = 10  #: pixels between two strips side by side
SPACE = 3  #: pixels below a strip
SMALLEST = 24  #: pixels: smaller images are enlarged
TAG = (BAND, 14)  #: width and height of the task's number on its band


@dataclass(frozen=True)
class Sheet:
    """Where each thumbnail lies in the image, in pixels from its upper left corner."""

    clusters: int
    size: int  #: P
    rows: int  #: strips below each other; cluster c is strip c mod rows of column c // rows
    zoom: int
    cell: tuple[int, int]  #: width and height of a framed thumbnail

    @property
    def columns(self) -> int:
        return -(-self.clusters // self.rows)

    @property
    def strip(self) -> int:
        return self.size * self.cell[0]

    @property
    def width(self) -> int:
        return self.columns * (self.strip + GAP) + GAP

    @property
    def height(self) -> int:
        return self.rows * (self.cell[1] + SPACE) + SPACE

    def corner(self, cluster: int, slot: int = 0) -> tuple[int, int]:
        """Upper left corner of a framed thumbnail."""
        column, line = divmod(cluster, self.rows)
        x = GAP + column * (self.strip + GAP) + slot * self.cell[0]
        return x, SPACE + line * (self.cell[1] + SPACE)

    def box(self, cluster: int) -> tuple[list[float], list[float]]:
        """The outline of a strip: x and y of a closed line."""
        (x, y), high = self.corner(cluster), self.cell[1]
        left, right, top, low = x - 2, x + self.strip + 2, y - 2, y + high + 2
        return [left, right, right, left, left], [top, top, low, low, top]


def sheet_for(pools: int, of_pool: int, size: int, image_shape: tuple[int, ...], aspect: float) -> Sheet:
    """The sheet that comes near to ``aspect`` (width / height) and leaves little unused; no column has two pools."""
    height, width = image_shape[:2]
    zoom = max(1, -(-SMALLEST // max(height, width)))
    cell = (BAND + width * zoom + FRAME, height * zoom + 2 * FRAME)
    clusters = pools * of_pool
    possible = [rows for rows in range(1, of_pool + 1) if pools == 1 or of_pool % rows == 0]
    sheets = [Sheet(clusters, size, rows, zoom, cell) for rows in possible]

    def badness(sheet: Sheet) -> float:
        unused = 1 - clusters / (sheet.rows * sheet.columns)
        return abs(np.log(sheet.width / sheet.height / aspect)) + 2 * unused

    return min(sheets, key=badness)


def composed(
    sheet: Sheet, images: np.ndarray, tasks: np.ndarray, looks: list[TaskLook], image_shape: tuple[int, int, int]
) -> np.ndarray:
    """The image as uint8 ``[height, width, 4]``: red, green, blue and one byte without meaning.

    images: uint8 ``[C, P, features]``, anything where a place is empty. tasks: ``[C, P]``, -1 where empty.
    """
    # One whole number per pixel while it is built: several times faster than three bytes.
    wide, high = sheet.cell
    cells = np.empty((*tasks.shape, high, wide), np.uint32)
    cells[:] = np.array([_packed(look.colour) for look in looks])[tasks][:, :, None, None]
    pixels = _pixels(images.reshape(*tasks.shape, *image_shape))
    cells[:, :, FRAME : high - FRAME, BAND : wide - FRAME] = pixels.repeat(sheet.zoom, 2).repeat(sheet.zoom, 3)
    top = (high - TAG[1]) // 2
    cells[:, :, top : top + TAG[1], :BAND] = np.stack([_tag(look.task, look.colour, look.ink) for look in looks])[tasks]
    cells[:, :, -1], cells[:, :, :, -1] = PAPER, PAPER  # a line stays free between neighbours
    cells[tasks < 0] = _hole(high, wide)
    # Column by column, a strip per cluster: the axes become (column, line in it, …) and then those of an image.
    strips = np.full((sheet.columns * sheet.rows, high + SPACE, sheet.strip + GAP), PAPER)
    strips[: len(tasks), SPACE:, GAP:] = cells.swapaxes(1, 2).reshape(len(tasks), high, sheet.strip)
    grid = strips.reshape(sheet.columns, sheet.rows, *strips.shape[1:]).transpose(1, 2, 0, 3)
    picture = np.full((sheet.height, sheet.width), PAPER)
    picture[:-SPACE, :-GAP] = grid.reshape(sheet.height - SPACE, sheet.width - GAP)
    return picture.astype("<u4").view(np.uint8).reshape(sheet.height, sheet.width, 4)


def _pixels(images: np.ndarray) -> np.ndarray:
    """One number per pixel from bytes ``[..., channels]``; of one channel it is taken for all three."""
    channels = images.shape[-1]
    red, green, blue = (images[..., channel % channels].astype(np.uint32) for channel in range(3))
    return red | green << np.uint32(8) | blue << np.uint32(16)


def _packed(colour: str) -> np.uint32:
    return _pixels(np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], np.uint8))


PAPER, HOLE = _packed("#f4f4f4"), _packed("#dcdcdc")


def _hole(high: int, wide: int) -> np.ndarray:
    """An empty place: a thin frame."""
    cell = np.full((high, wide), PAPER)
    cell[:-1, :-1] = HOLE
    cell[2:-3, 2:-3] = PAPER
    return cell


@lru_cache
def _tag(task: int, colour: str, ink: str) -> np.ndarray:
    """The number of a task on its colour."""
    tag = Image.new("RGB", TAG, colour)
    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans:bold"), 13)
    ImageDraw.Draw(tag).text((TAG[0] / 2, TAG[1] / 2), str(task), fill=ink, font=font, anchor="mm")
    return _pixels(np.asarray(tag))
