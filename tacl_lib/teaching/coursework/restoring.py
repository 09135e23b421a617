"""Making of what a student handed in a notebook that can be marked: every answer found, every test as it was made."""

import ast
import copy
import textwrap

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tacl_lib.teaching.coursework.source import ProblemSet, grade_id, is_answer, is_test, is_written, without_number
from tacl_lib.teaching.coursework.versions import release, solution


def restore(notebook: NotebookNode, of: ProblemSet) -> list[str]:
    """Change the notebook so that it has each graded cell of the set exactly once, and say what was odd.

    Answers are found by the function that they define, wherever they stand: in their own cell, a copy, a new cell, a
    cell of text, or two cells. Test cells are put back whole: text, place, metadata and tags.
    """
    originals = _graded_cells(release(of))
    remarks = _odd_tests(notebook, of, originals)
    notebook.cells = _without_tests(notebook.cells, of, originals)
    remarks += _join_split_cells(notebook, of)
    remarks += _choose_answers(notebook, of, originals)
    _put_back(notebook, of, originals)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = str(number)  # a cell that was put back must not share its id with another
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = NotebookNode()
    return remarks


def defined(source: str) -> set[str]:
    """The names that code defines at its top level; none if it is not Python."""
    try:
        tree = ast.parse(_plain(source))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    return names | {target.id for target in targets if isinstance(target, ast.Name)}


def solved(notebook: NotebookNode, of: ProblemSet) -> set[str]:
    """The exercises for which there is more than the stub that was handed out."""
    stubs = _stubs(of)
    cells = [cell for cell in notebook.cells if _looks_like_code(cell, set(stubs))]
    return {name for name in stubs for cell in cells if _is_solved(cell.source, name, stubs[name])}


def mentioned(notebook: NotebookNode, of: ProblemSet) -> int:
    """How much of the set there is in a notebook: answer cells and functions."""
    names = {exercise.name for exercise in of.exercises}
    ids = {grade_id(cell) for cell in notebook.cells}
    found = {name for cell in notebook.cells for name in names if f"def {name}(" in cell.source}
    return len(names & ids) + len(found)


def _graded_cells(notebook: str) -> dict[str, NotebookNode]:
    return {grade_id(cell): cell for cell in nbformat.reads(notebook, as_version=4).cells if grade_id(cell)}


def _stubs(of: ProblemSet) -> dict[str, str]:
    cells = _graded_cells(release(of))
    return {exercise.name: _dumped(cells[exercise.name].source, exercise.name) for exercise in of.exercises}


def _odd_tests(notebook: NotebookNode, of: ProblemSet, originals: dict[str, NotebookNode]) -> list[str]:
    """Test cells that are gone, or not as they were handed out."""
    remarks = []
    whole = _graded_cells(solution(of))
    there = {grade_id(cell): cell for cell in notebook.cells}
    sources = {cell.source for cell in notebook.cells}
    for name, original in originals.items():
        if not is_test(original) or (name not in there and original.source in sources):
            continue
        if name not in there:
            remarks.append(f"the test cell {name} had been deleted and was put back.")
        elif without_number(there[name].source) not in map(without_number, (original.source, whole[name].source)):
            remarks.append(f"the test cell {name} had been changed; the original was used.")
        elif there[name].cell_type != "code" or there[name].metadata.get("tags"):
            remarks.append(f"the test cell {name} had another type or tags, so that it would not run; it was put back.")
    if len(remarks) == sum(map(is_test, originals.values())) and not there.keys() & originals.keys():
        return []  # somebody began a notebook of their own: one sentence about the answers is enough
    return remarks


def _without_tests(cells: list[NotebookNode], of: ProblemSet, originals: dict[str, NotebookNode]) -> list[NotebookNode]:
    """All other cells. In place of the first test of an exercise there is a mark, ``test_of``."""
    sources = {cell.source: name for name, cell in originals.items() if is_test(cell)}
    by_test = {grade_id(test): exercise.name for exercise in of.exercises for test in exercise.tests}
    kept, seen = [], set()
    for cell in cells:
        test = grade_id(cell) if grade_id(cell) in by_test else sources.get(cell.source)
        if test is None:
            kept.append(cell)
        elif by_test[test] not in seen:
            seen.add(by_test[test])
            kept.append(new_code_cell(metadata={"test_of": by_test[test]}))
    return kept


def _looks_like_code(cell: NotebookNode, names: set[str]) -> bool:
    """A cell of code, or one of text that defines an answer."""
    return cell.cell_type == "code" or bool(defined(cell.source) & names)


def _join_split_cells(notebook: NotebookNode, of: ProblemSet) -> list[str]:
    """An answer that was split in two is no Python in either cell, but is in both together."""
    remarks, cells = [], notebook.cells
    names = {exercise.name for exercise in of.exercises}
    number = 0
    while number < len(cells):
        for other in range(number + 1, min(number + 3, len(cells))):
            parts = cells[number : other + 1]
            if any(part.cell_type != "code" or "test_of" in part.metadata for part in parts):
                break
            whole = "\n".join(part.source for part in parts)
            if "def " not in cells[number].source or not _is_tail(cells[other].source):
                continue
            found = defined(whole) & names
            if found:
                cells[number].source = whole
                del cells[number + 1 : other + 1]
                remarks.append(f"the answer {', '.join(sorted(found))} was split over cells, which were joined.")
                break
        number += 1
    return remarks


def _is_tail(source: str) -> bool:
    """Whether a cell can only be the rest of something: its first line of code is indented."""
    lines = [line for line in source.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and lines[0][0] in " \t"


def _choose_answers(notebook: NotebookNode, of: ProblemSet, originals: dict[str, NotebookNode]) -> list[str]:
    """Give each exercise one answer cell: of several definitions the last that is not the stub."""
    remarks, stubs = [], _stubs(of)
    graded: dict[int, str] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code" and _looks_like_code(cell, set(stubs)):
            cell.cell_type, cell["outputs"], cell["execution_count"] = "code", [], None
    for name in stubs:
        places = [n for n, cell in enumerate(notebook.cells) if _defines(cell, name)]
        real = [n for n in places if _is_solved(notebook.cells[n].source, name, stubs[name])]
        own = [n for n, cell in enumerate(notebook.cells) if grade_id(cell) == name and cell.cell_type == "code"]
        if real:
            for place in set(places) - set(real):
                notebook.cells[place].source = _cut(notebook.cells[place].source, name)
            if len(real) > 1:
                remarks.append(f"{name} is defined in {len(real)} cells; the last one was marked.")
            elif grade_id(notebook.cells[real[0]]) != name:
                remarks.append(f"{name} was not in its own cell; it was marked where it stands.")
        chosen = next(iter([*real[::-1], *own[::-1], *places[::-1]]), None)
        if chosen is None:
            remarks.append(f"the answer cell {name} is missing.")
        elif chosen not in graded:
            graded[chosen] = name
    _give_names(notebook, originals, graded)
    return remarks


def _defines(cell: NotebookNode, name: str) -> bool:
    return cell.cell_type == "code" and name in defined(cell.source)


def _is_solved(source: str, name: str, stub: str) -> bool:
    return name in defined(source) and _dumped(source, name) != stub


def _dumped(source: str, name: str) -> str:
    """The definition of a name as a tree, so that spaces and comments do not matter."""
    found = [node for node in ast.parse(_plain(source)).body if getattr(node, "name", None) == name]
    return ast.dump(found[-1]) if found else ""


def _plain(source: str) -> str:
    """Without the lines that only a notebook understands, and without common indentation."""
    return textwrap.dedent(
        "\n".join("" if line.startswith(("%", "!", "?")) else line for line in source.split("\n"))
    ).lstrip("\n")


def _cut(source: str, name: str) -> str:
    """The code without its definition of a name."""
    source = _plain(source)
    lines = source.split("\n")
    for node in reversed(ast.parse(source).body):
        if getattr(node, "name", None) == name:
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines).strip("\n")


def _give_names(notebook: NotebookNode, originals: dict[str, NotebookNode], graded: dict[int, str]) -> None:
    """The answer cells get the metadata that they were handed out with; all others lose what nbgrader might read."""
    written = {grade_id(cell): cell for cell in originals.values() if is_written(cell)}
    skipped = set()
    for number, cell in enumerate(notebook.cells):
        name = graded.get(number)
        if name:
            cell.metadata = copy.deepcopy(originals[name].metadata)
        elif grade_id(cell) in written and grade_id(cell) not in skipped:
            skipped.add(grade_id(cell))
            cell.metadata = copy.deepcopy(written[grade_id(cell)].metadata)
        elif "test_of" not in cell.metadata:
            tags = [tag for tag in cell.metadata.get("tags", []) if isinstance(tag, str)]
            has_answer = bool(defined(cell.source) & originals.keys())
            cell.metadata = NotebookNode({"tags": tags} if tags and not has_answer else {})


def _put_back(notebook: NotebookNode, of: ProblemSet, originals: dict[str, NotebookNode]) -> None:
    """Answers that are missing as stubs, and every test after its answer, or where it stood."""
    there = {grade_id(cell) for cell in notebook.cells}
    for exercise in of.exercises:
        if exercise.name not in there:
            elsewhere = any(_defines(cell, exercise.name) for cell in notebook.cells)
            cell = copy.deepcopy(originals[exercise.name])
            if elsewhere:
                cell.source = f"# {exercise.name} is defined in another cell"
            notebook.cells.append(cell)
    for name, original in originals.items():
        if is_written(original) and name not in there:
            notebook.cells.append(copy.deepcopy(original))
    for exercise in of.exercises:
        tests = [copy.deepcopy(originals[grade_id(test)]) for test in exercise.tests]
        places = [n for n, cell in enumerate(notebook.cells) if cell.metadata.get("test_of") == exercise.name]
        answer = next(n for n, cell in enumerate(notebook.cells) if is_answer(cell) and grade_id(cell) == exercise.name)
        if places:
            notebook.cells[places[0] : places[0] + 1] = tests
        else:
            notebook.cells[answer + 1 : answer + 1] = tests
    notebook.cells = [cell for cell in notebook.cells if "test_of" not in cell.metadata]
