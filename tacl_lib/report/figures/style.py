"""How the figures look: colours, dashes, markers and fonts, all in one place.

Colours stay apart for the three common kinds of colour blindness, and in grey by their dash and marker.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.colors import ListedColormap, to_hex

from tacl_lib import names
from tacl_lib.errors import TaclError

Dash = tuple[float, ...]  #: lengths of ink and gap in line widths; empty: solid


@dataclass(frozen=True)
class Look:
    """What a line looks like."""

    label: str
    colour: str
    dash: Dash
    marker: str
    width: float = 1.5
    aware: bool = False  #: told when a task ends: drawn grey and thin, for context

    def line(self) -> dict:
        """Arguments for ``Axes.plot``."""
        style = {"linestyle": (0, self.dash) if self.dash else "-", "marker": self.marker, "linewidth": self.width}
        open_marker = {"markerfacecolor": "white", "markeredgewidth": 1.0} if self.aware else {}
        return style | open_marker | {"color": self.colour, "markersize": 4.5, "zorder": 2 if self.aware else 3}


#: The methods in the order of the paper's tables; the task-aware ones last, in grey, as there.
METHODS: dict[str, Look] = {
    name: Look(method.title + " (task-aware)" * method.aware, *method[1:]) for name, method in names.METHODS.items()
}

#: TA-A-GEM with clustering (warm, circles) and with random assignment (cold, squares), by sampling rate.
STUDY: dict[tuple[str, float], Look] = {
    ("clustering", 1.0): Look("clustering, rate 1", "#7a1f00", (), "o", 2.0),
    ("clustering", 0.1): Look("clustering, rate 0.1", "#d0480b", (6, 1.5), "o", 2.0),
    ("clustering", 0.01): Look("clustering, rate 0.01", "#f0954a", (1.2, 1.2), "o", 2.0),
    ("random", 1.0): Look("random, rate 1", "#00315f", (9, 2, 1, 2), "s"),
    ("random", 0.1): Look("random, rate 0.1", "#1c6fb5", (3, 1.5), "s"),
    ("random", 0.01): Look("random, rate 0.01", "#6fb1e0", (3, 1, 1, 1, 1, 1), "s"),
}

DATASETS = names.EMBEDDED | {name: dataset.title for name, dataset in names.DATASETS.items()}
SPLITS = {name: split.title for name, split in names.SPLITS.items()}
EXPERIMENTS = names.EXPERIMENTS

INK = "#222222"
FAINT = "#8a8a8a"
GROUND = "#e4e4e4"  #: between things, where white already means something
WARNING = "#8c1c00"
EMPTY_COLOUR = "#ffffff"
MOST_TASKS = 10

#: Colour, dash and marker of learners that a user has registered, in this order.
_SPARE = (
    ("#3d7a3a", (2, 1), ">"),
    ("#7b6fd0", (8, 1, 1, 1), "<"),
    ("#4f3b1d", (1, 2), "p"),
    ("#e0709a", (5, 1, 2, 1), "h"),
)


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """The look of each method, in the order of the paper's tables; learners of a user get spare looks, after them."""
    methods = set(methods)
    own = sorted(methods - set(METHODS))
    spare = {name: Look(name, *_SPARE[number % len(_SPARE)]) for number, name in enumerate(own)}
    return {name: METHODS[name] for name in METHODS if name in methods} | spare


def task_colours(count: int) -> list[str]:
    """Colours of the tasks 0 … count - 1, from dark (the oldest) to light; lightness alone tells their order."""
    if not 1 <= count <= MOST_TASKS:
        raise TaclError(f"there are colours for 1 to {MOST_TASKS} tasks, not for {count}; show fewer tasks.")
    # The same five colours serve the usual five tasks and fewer, so that a task keeps its colour.
    of = max(count, 5)
    return [to_hex(colour) for colour in mpl.colormaps["viridis"](np.linspace(0, 0.97, of))[:count]]


def task_colour_map(count: int) -> ListedColormap:
    """A colour map for task numbers from -1 (empty) to count - 1."""
    return ListedColormap([EMPTY_COLOUR, *task_colours(count)])


@contextmanager
def applied() -> Iterator[None]:
    """The fonts and lines of all figures, while they are built and while they are written."""
    own = {
        "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters on every machine
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.labelsize": 9,
        "axes.titleweight": "bold",
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "legend.fontsize": 8.5,
        "grid.color": "#e6e6e6",
        "grid.linewidth": 0.6,
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "savefig.dpi": 160,
        "svg.fonttype": "path",
        "svg.hashsalt": "tacl",
        "image.composite_image": False,
    }
    with mpl.rc_context():
        mpl.rcdefaults()
        sns.set_theme(context="paper", style="ticks", rc=own)
        yield
