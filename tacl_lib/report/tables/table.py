"""A table before it is written: what stands where, and nothing about a format."""

from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd


class Cell(NamedTuple):
    """What one place of a table shows."""

    text: str
    bold: bool = False
    deviation: str = ""  #: one standard deviation, where there is one
    hint: str = ""  #: shown when the pointer rests on it, in HTML
    paper: str = ""  #: the paper's number, to stand below ours
    far: bool = False  #: further from it than the tolerance
    own: bool = False  #: has runs of the user's own among those that come with the project


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    cells: tuple[Cell, ...]
    grey: bool = False  #: a task-aware method, given for context
    line: bool = False  #: a line above


@dataclass(frozen=True)
class Table:
    """Everything a rendering needs. `tacl_lib.report.tables` has one function for each format."""

    name: str  #: stem of the file names, and the LaTeX label
    kind: str  #: result, comparison or settings
    caption: str
    notice: str  #: on the face of every rendering; says that a profile is reduced. Empty: the paper's settings
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    data: pd.DataFrame  #: for the CSV file: the same table in full precision
    text_columns: tuple[int, ...]  #: aligned to the left; the others hold numbers
    footnotes: tuple[str, ...] = ()
    title: str = ""  #: in few words, where a page says the rest once for all tables
    groups: tuple[tuple[str, int], ...] = ()  #: a row of headings above ``head``: text and how many columns

    def starts(self) -> set[int]:
        """The columns with which a group begins, but the first."""
        starts, column = set(), 0
        for _, span in self.groups:
            starts.add(column)
            column += span
        return starts - {0}

    def flat_head(self) -> list[str]:
        """One heading a column, those of the groups put in front: ``"MNIST perm"``."""
        if not self.groups:
            return list(self.head)
        above = [text for text, span in self.groups for _ in range(span)]
        return [" ".join(filter(None, pair)) for pair in zip(above, self.head, strict=True)]

    def full_caption(self) -> str:
        """The caption, with the notice in front where there is one."""
        return f"{self.notice}. {self.caption}" if self.notice else self.caption
