"""Which submissions are alike: a list for the lecturer to look at, no verdict.

Code is read as a tree, in which names, numbers and the order of statements do not matter; what was handed out to all
counts for nothing, and what few write counts for much.
"""

import ast
import csv
import io
import math
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from tacl_lib.teaching.coursework.source import ProblemSet, is_test
from tacl_lib.teaching.coursework.versions import release

#: an expression or statement of fewer parts than this says nothing about who wrote it
SMALLEST = 4
#: statements, terms, factors and entries may stand in another order
_ANY_ORDER = ast.FunctionDef | ast.For | ast.While | ast.If | ast.With | ast.BoolOp | ast.Dict | ast.Set


class Pair(NamedTuple):
    left: str
    right: str
    alike: float  #: 0 to 1


def pairs(of: ProblemSet, notebooks: dict[str, NotebookNode]) -> list[Pair]:
    """All pairs of students, the most alike first."""
    given = set(_of_notebook(nbformat.reads(release(of), as_version=4)))
    features = {
        student: Counter(shape for shape in _of_notebook(notebook) if shape not in given)
        for student, notebook in notebooks.items()
    }
    rarity = _rarity(features.values())
    found = [Pair(a, b, _alike(features[a], features[b], rarity)) for a, b in combinations(sorted(features), 2)]
    return sorted(found, key=lambda pair: (-pair.alike, pair))


def _of_notebook(notebook: NotebookNode) -> list[str]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and not is_test(cell)]
    return [shape for cell in cells for shape in shapes(cell.source)]


def report(found: Iterable[Pair]) -> str:
    """As CSV: the pairs, the most alike first."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["student", "other", "alike"])
    table.writerows([pair.left, pair.right, f"{pair.alike:.2f}"] for pair in found)
    return text.getvalue()


def shapes(source: str) -> list[str]:
    """Every part of the code that is large enough, without the names that its author chose."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    own = _chosen_names(tree)
    sized = [_shape(node, own) for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt)]
    return [shape for shape, size in sized if size >= SMALLEST]


def _chosen_names(tree: ast.AST) -> set[str]:
    """What is assigned, defined or a parameter; all other names, such as those of NumPy, are the library's."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return names | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _shape(node: ast.AST, own: set[str]) -> tuple[str, int]:
    """A node and what is in it as text, and how many parts that are."""
    if isinstance(node, ast.Name):
        return ("·" if node.id in own else node.id), 1
    if isinstance(node, ast.Constant):
        return ("number" if isinstance(node.value, int | float) else type(node.value).__name__), 1
    inner = [_shape(child, own) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context)]
    if isinstance(node, _ANY_ORDER) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult)):
        inner.sort()
    label = type(node).__name__ + (f".{node.attr}" if isinstance(node, ast.Attribute) else "")
    return f"{label}({','.join(text for text, _ in inner)})", 1 + sum(size for _, size in inner)


def _rarity(features: Iterable[Counter]) -> dict[str, float]:
    features = list(features)
    written_by = Counter(shape for counts in features for shape in counts)
    return {shape: math.log((len(features) + 1) / count) for shape, count in written_by.items()}


def _alike(left: Counter, right: Counter, rarity: dict[str, float]) -> float:
    """The share of the shorter one's weight that is also in the other."""
    shared = sum(count * rarity[shape] for shape, count in (left & right).items())
    least = min(sum(count * rarity[shape] for shape, count in counts.items()) for counts in (left, right))
    return shared / least if least > 0 else 0.0
