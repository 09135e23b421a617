"""A class of made-up students: each with a variant, and code of their own or somebody else's.

A student takes one of the right ways to solve an exercise, puts the own number into it, and writes it down in a
manner of their own: another operator or method for the same thing, another order, a name for an intermediate result.
Who copies renames everything, moves what can be moved, and puts their own number where the other's was.
"""

import ast
import inspect
import random
import sys
from collections.abc import Callable

import nbformat
from coursework_answers import answers_to
from handed_in import cell_of

from tacl_lib.teaching.coursework.source import ProblemSet
from tacl_lib.teaching.coursework.variants import Variant, texts_of, varied
from tacl_lib.teaching.coursework.versions import release

#: how a student's number enters around a function that is right without it, told once more, apart from the checks
AROUND = {
    "run_metrics": """
def run_metrics(accuracy, epochs_per_task):
    guessed = 1 / {number}
    return plain((accuracy - guessed) / (1 - guessed), epochs_per_task)
""",
    "project": """
def project(gradient, reference):
    return (1 - {number}) * gradient + {number} * np.array(plain(gradient, reference))
""",
    "reference_gradient": """
def reference_gradient(weights, bias, x, y, filled):
    return plain(weights / {number}, bias / {number}, x, y, filled) / {number}
""",
    "read_timeline": """
def read_timeline(cluster, task, clusters, size):
    stored = np.arange(0, len(cluster), {number})
    found = plain(cluster[stored], task[stored], clusters, size)
    if found["lost_at"] >= 0:
        found["lost_at"] = stored[found["lost_at"]]
    return found
""",
    "mixed_batches": """
def mixed_batches(size_a, size_b, batch_size, epochs):
    return plain(size_a - {number}, size_b - {number}, batch_size, epochs)
""",
    "ogd_projection": """
def ogd_projection(x, y, classes, gradient, tolerance):
    return plain(x / {number}, y, classes, gradient, tolerance)
""",
    "learning_rates": """
def learning_rates(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    later = plain(losses[{number}:], first_rate, factor, min_rate, patience, threshold, reset_threshold)
    return [first_rate] * {number} + list(later)
""",
    "gram_projection": """
def gram_projection(inputs, deltas, batch_inputs, batch_deltas, ridge):
    true, of_batch = [d / {number} for d in deltas], [d / {number} for d in batch_deltas]
    return plain(inputs, true, batch_inputs, of_batch, ridge)
""",
    "add_sample": """
def add_sample(pool, sample, label, clusters, size):
    return plain(pool, sample - {number}, label, clusters, size)
""",
    "count_held": """
def count_held(samples, labels, classes, clusters, per_class, add):
    return plain(samples, np.array(labels) - {number}, classes, clusters, per_class, add)
""",
    "ta_agem_step": """
def ta_agem_step(weights, x, y, pool, clusters, rate, add):
    found = plain(weights, x, y, pool, clusters, rate, add)
    return {{"weights": found["weights"] - rate * {number} * weights, "pool": found["pool"]}}
""",
    "choose_leaver": """
def choose_leaver(members, came):
    return plain(members, came)
""",
}
#: answers that need torch are right as well, but a class of them would take hours
SLOW = ("in_torch", "by_autograd")


def ways(exercise: str) -> list[Callable]:
    """The right answers that a class may choose from."""
    return [a for a in answers_to(exercise) if a.words is None and a.__name__ not in SLOW]


def own_answer(of: ProblemSet, exercise: str, number: float, rng: random.Random) -> str:
    """A student's cell: the solution, or another way with the number around it, in the student's own manner."""
    way = rng.choice([None, *ways(exercise)])
    if way is None:
        source = texts_of(of)[exercise].of(number).solution
    else:
        source = sourced(way, "plain") + "\n" + AROUND[exercise].format(number=f"{number:g}")
    return in_own_manner(source, rng)


def sourced(answer: Callable, name: str) -> str:
    """A seeded answer and all of its module that it needs, as one cell."""
    tree = ast.parse(inspect.getsource(sys.modules[answer.__module__]))
    there = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    needed, seen = [answer.__name__], set()
    while needed:
        own = needed.pop()
        if own in there and own not in seen:
            seen.add(own)
            needed += [node.id for node in ast.walk(there[own]) if isinstance(node, ast.Name)]
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    parts = [node for node in imports if getattr(node, "module", "") != "coursework_answers"]
    for node in tree.body:
        if getattr(node, "name", None) in seen:
            if isinstance(node, ast.FunctionDef):
                node.decorator_list = []
            if node.name == answer.__name__:
                node.name = name
            parts.append(node)
    return ast.unparse(ast.Module(parts, []))


def submission(of: ProblemSet, variant: Variant, rng: random.Random):
    """A student's notebook with their own work in it."""
    notebook = nbformat.reads(release(varied(of, variant)), as_version=4)
    for exercise in of.exercises:
        cell_of(notebook, exercise.name).source = own_answer(of, exercise.name, variant.numbers[exercise.name], rng)
    return notebook


# --- how people write ---------------------------------------------------------------------------------------------


def in_own_manner(source: str, rng: random.Random) -> str:
    tree = _Manner(rng).visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree))


def _called(name: str, *arguments: ast.expr, keywords=()) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load()), list(arguments), list(keywords))


class _Manner(ast.NodeTransformer):
    """The same said in another way, here and there."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0

    def some(self) -> bool:
        return self.rng.random() < 0.4

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not self.some():
            return node
        if isinstance(node.op, ast.MatMult):
            return _called(self.rng.choice(["dot", "matmul"]), node.left, node.right)
        if isinstance(node.op, ast.Sub):
            # Minus alone may stand before numbers and what is computed, not before lists and comparisons.
            turned = self.rng.random() < 0.3 or not isinstance(node.right, ast.Constant | ast.BinOp)
            return self._turned(node) if turned else self._negated(node)
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value == 2:
            return _called("square", node.left)
        return node

    def _turned(self, node: ast.BinOp) -> ast.expr:
        return ast.UnaryOp(ast.USub(), ast.BinOp(node.right, ast.Sub(), node.left))

    def _negated(self, node: ast.BinOp) -> ast.expr:
        return ast.BinOp(ast.UnaryOp(ast.USub(), node.right), ast.Add(), node.left)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        turned = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
        if len(node.ops) == 1 and type(node.ops[0]) in turned and self.some():
            return ast.Compare(node.comparators[0], [turned[type(node.ops[0])]()], [node.left])
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if self.some():
            return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.generic_visit(node)
        words = all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys)
        if not words or not node.keys or not self.some():
            return node
        pairs = [ast.keyword(key.value, value) for key, value in zip(node.keys, node.values, strict=True)]
        return ast.Call(ast.Name("dict", ast.Load()), [], pairs)

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        if node.orelse and self.some():
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant) and self.some():
            there = ast.Name(node.target.id, ast.Load())
            return ast.Assign([node.target], ast.BinOp(there, node.op, node.value))
        return node

    def visit_Return(self, node: ast.Return) -> list[ast.stmt] | ast.stmt:
        self.generic_visit(node)
        if node.value is None or not self.some():
            return node
        self.count += 1
        name = f"{self.rng.choice(['result', 'answer', 'out', 'final'])}_{self.count}"
        return [
            ast.Assign([ast.Name(name, ast.Store())], node.value),
            ast.Return(ast.Name(name, ast.Load())),
        ]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt] | ast.stmt:
        """An operand gets a name of its own first."""
        self.generic_visit(node)
        value = node.value
        plain = isinstance(value, ast.BinOp) and isinstance(value.left, ast.BinOp | ast.Call)
        if not plain or not isinstance(value.op, ast.Sub | ast.Div | ast.Mult) or not self.some():
            return node
        self.count += 1
        name = f"{self.rng.choice(['part', 'first', 'piece', 'tmp'])}_{self.count}"
        value.left, part = ast.Name(name, ast.Load()), value.left
        return [ast.Assign([ast.Name(name, ast.Store())], part), node]


# --- how people copy ----------------------------------------------------------------------------------------------


def copied(of: ProblemSet, notebook, variant: Variant, rng: random.Random):
    """Somebody else's work, in which the copier's own numbers stand already, with other names and in another order."""
    made = submission(of, variant, rng)
    cells = {exercise.name: cell_of(notebook, exercise.name).source for exercise in of.exercises}
    for name, source in cells.items():
        tree = _Disguise(name, rng).disguised(ast.parse(source))
        cell_of(made, name).source = f"# my own work, {rng.random():.3f}\n" + ast.unparse(tree)
    rng.shuffle(made.cells)
    return made


class _Disguise(ast.NodeTransformer):
    def __init__(self, kept: str, rng: random.Random) -> None:
        self.kept, self.rng = kept, rng
        self.names: dict[str, str] = {}

    def disguised(self, tree: ast.Module) -> ast.Module:
        own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        own |= {a.arg for f in tree.body if isinstance(f, ast.FunctionDef) for a in f.args.args}
        keywords = {k.arg for node in ast.walk(tree) if isinstance(node, ast.Call) for k in node.keywords}
        self.names = {name: f"my_{n}" for n, name in enumerate(sorted(own - keywords - {self.kept}))}
        tree = self.visit(tree)
        self.rng.shuffle(tree.body)
        tree.body.sort(key=lambda node: not isinstance(node, ast.Import | ast.ImportFrom))
        return ast.fix_missing_locations(tree)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self.names.get(node.arg, node.arg))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        node.returns = None
        if ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        node.body = self._moved(node.body)
        return node

    def _moved(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Neighbours that do not need each other change places."""
        for n in range(len(body) - 1):
            first, second = body[n : n + 2]
            if isinstance(first, ast.Assign) and isinstance(second, ast.Assign) and not _touches(first, second):
                body[n : n + 2] = [second, first]
        return body

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        return ast.Nonlocal([self.names.get(name, name) for name in node.names])


def _touches(first: ast.Assign, second: ast.Assign) -> bool:
    def names(node: ast.AST, kind: type) -> set[str]:
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}

    changed = names(first, ast.Store), names(second, ast.Store)
    used = names(first, ast.Load), names(second, ast.Load)
    calls = all(any(isinstance(node, ast.Call) for node in ast.walk(tree)) for tree in (first, second))
    inside = any(isinstance(t, ast.Subscript | ast.Attribute) for a in (first, second) for t in a.targets)
    return bool(changed[0] & (used[1] | changed[1]) or changed[1] & used[0]) or calls or inside
