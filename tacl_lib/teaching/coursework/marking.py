"""Marking one notebook: its cells run in a process of their own, the tests run here and ask that process.

The tests, what they expect and the marks never enter the process. All that it can do is to answer with a value.
"""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from nbformat import NotebookNode
from nbformat.v4 import new_output

from tacl_lib.teaching.checks import CheckFailed
from tacl_lib.teaching.checks.attempt import Outcome
from tacl_lib.teaching.coursework import wire
from tacl_lib.teaching.coursework.sandbox import TOO_LONG, Gone, Process, Protection
from tacl_lib.teaching.coursework.source import ProblemSet, grade_id, is_test, points_of, without_number
from tacl_lib.teaching.coursework.suspicions import suspicions

#: a submission may take as long as so many cells that run into their limit
LONGEST = 5
SKIPPED = "skip-execution"  #: the tag of cells that marking does not run


@dataclass
class Marked:
    """What running and testing gave: outputs by the number of the cell, and what the lecturer should know."""

    outputs: dict[int, list[NotebookNode]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    suspicion: str = ""  #: for the lecturer alone
    failure: str = ""  #: why it could not be marked


def mark(of: ProblemSet, notebook: NotebookNode, timeout: float, protected: Protection) -> Marked:
    """Run the cells of a restored notebook, then the set's own tests."""
    marked = Marked()
    tests = {grade_id(test): (exercise.name, test) for exercise in of.exercises for test in exercise.tests}
    session = Session(notebook, timeout, protected)
    try:
        session.run_cells()
        for number, cell in enumerate(notebook.cells):
            if is_test(cell):
                name, test = tests[grade_id(cell)]
                said = _tested(of, session, name, test.source)
                marked.outputs[number] = [_error(said) if said else _passed(test)]
                if said and any(words in said for words in ("did not end within", TOO_LONG)):
                    marked.remarks.append(f"in the cell {grade_id(cell)} the answer did not come to an end.")
        marked.outputs |= {n: [*session.printed(n), *map(_error, session.errors(n))] for n in session.numbers}
        given = {without_number(cell.source) for cell in of.notebook.cells}
        own = [n for n in session.numbers if without_number(notebook.cells[n].source) not in given]
        told = [sentence for number in own for sentence in session.errors(number)]
        marked.remarks = [*told, *marked.remarks]
        marked.suspicion = _suspicion([notebook.cells[n].source for n in own])
    finally:
        session.close()
    return marked


def _suspicion(sources: list[str]) -> str:
    """What the student's own cells reach for, as a sentence; those that were handed out are nobody's attempt."""
    tried = sorted({what for source in sources for what in suspicions(source)})
    return f"the code reaches for {', '.join(tried)}: please look at it." if tried else ""


class Session:
    """The cells of a submission in a process, which is begun anew whenever it is lost."""

    def __init__(self, notebook: NotebookNode, timeout: float, protected: Protection) -> None:
        self.numbers = [n for n, cell in enumerate(notebook.cells) if _is_run(cell)]
        self._cells = notebook.cells
        self._timeout, self._protected = timeout, protected
        self._end = time.monotonic() + LONGEST * timeout
        self._replies: dict[int, dict] = {}
        self._lost: dict[int | str, str] = {}  #: cells and functions that brought the process down, and how
        self._process: Process | None = None

    def run_cells(self) -> None:
        """Run all cells, in order; one that does not end is left out, and all others run again."""
        while self._process is None:
            self._process = Process(self._protected)
            for number in self.numbers:
                if number in self._lost:
                    continue
                try:
                    self._replies[number] = self._asked({"run": self._cells[number].source})
                except Gone as gone:
                    self._lose(number, gone)
                    break

    def describe(self, name: str) -> dict:
        return self._asked_anew(name, {"describe": name})

    def call(self, name: str, arguments: dict[str, object], seconds: float) -> Outcome:
        """What the submission's function gives."""
        if name in self._lost:
            return self._outcome_of_loss(name)
        functions = {str(n): value for n, value in enumerate(arguments.values()) if callable(value)}
        given = [
            {"function": str(n)} if str(n) in functions else wire.encoded(value)
            for n, value in enumerate(arguments.values())
        ]
        try:
            reply = self._asked_anew(name, {"call": name, "arguments": given, "seconds": seconds}, functions)
            if "error" in reply:
                kind, message = map(str, reply["error"])
                return Outcome.of_error(kind, message, seconds)
            value = wire.decoded(reply["value"])
            if reply["changed"] is not None:
                return Outcome.of_change(value, list(arguments)[reply["changed"]])
            return Outcome(value)
        except Gone:
            return self._outcome_of_loss(name)
        except Exception:  # whatever a process that lies about its values makes of them
            return Outcome(trouble="what it gives cannot be read", kind="unreadable")

    def _outcome_of_loss(self, name: str) -> Outcome:
        kind = "loop" if self._lost[name] == TOO_LONG else "crash"
        return Outcome(trouble=f"when it was called, {self._lost[name]} and had to be stopped", kind=kind)

    def _asked_anew(self, name: str, message: dict, functions: dict[str, Callable] | None = None) -> dict:
        self.run_cells()
        try:
            return self._asked(message, functions or {})
        except Gone as gone:
            self._lose(name, gone)
            raise

    def _asked(self, message: dict, functions: dict[str, Callable] | None = None) -> dict:
        process = self._process
        process.send(message)
        while True:
            reply = process.receive(max(1.0, min(self._timeout, self._end - time.monotonic())))
            if "ask" not in reply:
                return reply
            process.send(_answered(reply, functions or {}))

    def _lose(self, culprit: int | str, gone: Gone) -> None:
        self._lost[culprit] = str(gone)
        self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def printed(self, number: int) -> list[NotebookNode]:
        text = str(self._replies.get(number, {}).get("printed", ""))
        return [new_output("stream", name="stdout", text=text)] if text else []

    def errors(self, number: int) -> list[str]:
        """What went wrong in a cell, in words."""
        name = _name_of(self._cells[number], number)
        if number in self._lost:
            return [f"the cell {name} was stopped: {self._lost[number]} ({self._timeout:g} seconds are allowed)."]
        error = self._replies.get(number, {}).get("error")
        return [_told(name, *error)] if error else []


class Answer:
    """A submission's function, as the checks see it: they call ``attempt``, and look at the signature."""

    def __init__(self, session: Session, name: str, parameters: list) -> None:
        self._session, self._name = session, name
        self.__name__ = name
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(str(own), inspect._ParameterKind(kind), default=None if default else inspect._empty)
                for own, kind, default in parameters
            ]
        )

    def attempt(self, arguments: dict[str, object], seconds: float) -> Outcome:
        return self._session.call(self._name, arguments, seconds)

    def __call__(self, *given: object) -> object:
        outcome = self.attempt({str(n): value for n, value in enumerate(given)}, 3.0)
        if outcome.trouble:
            raise CheckFailed(outcome.trouble)
        return outcome.value


def _tested(of: ProblemSet, session: Session, name: str, source: str) -> str | None:
    """Run a test; what it says of the answer, None if nothing."""
    try:
        answer = _answer(session, name)
        namespace: dict = {}
        exec(_imports(of), namespace)
        namespace[name] = answer
        exec(compile(source, "<test>", "exec"), namespace)
    except (CheckFailed, Gone) as failed:
        return str(failed)
    return None


def _answer(session: Session, name: str) -> object:
    found = session.describe(name)
    try:
        if "parameters" in found:
            return Answer(session, name, found["parameters"])
        if "value" in found:
            return wire.decoded(found["value"])
    except Exception:  # whatever a process that lies about itself says
        raise CheckFailed(f"✗ {name}: how it is called cannot be read.") from None
    raise CheckFailed(f"✗ {name}: there is no function of this name. Did its cell run to the end?")


def _imports(of: ProblemSet) -> str:
    """The first cell of a set, which holds what all tests need."""
    return next(cell.source for cell in of.notebook.cells if cell.cell_type == "code")


def _answered(request: dict, functions: dict[str, Callable]) -> dict:
    """The marker's function that is among the arguments, called as the submission asks."""
    try:
        given = [wire.decoded(argument) for argument in request["arguments"]]
        return {"answer": wire.encoded(functions[request["ask"]](*given))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def _is_run(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and not is_test(cell) and SKIPPED not in cell.metadata.get("tags", [])


def _name_of(cell: NotebookNode, number: int) -> str:
    return grade_id(cell) or f"number {number + 1}"


def _told(name: str, kind: str, message: str, line: int | None) -> str:
    """An error of a cell as one sentence."""
    where = f" in line {line}" if line else ""
    if kind in ("SyntaxError", "IndentationError", "TabError"):
        return f"the cell {name} is not valid Python{where} ({message.split(' (')[0]})."
    if kind == "ModuleNotFoundError":
        return f"the cell {name} needs a package that marking does not have ({message})."
    first = (message.splitlines() or ["no message"])[0][:120]
    return f"the cell {name} stopped{where} with {kind}: {first}{'' if first[-1:] in '.?!' else '.'}"


def _error(said: str) -> NotebookNode:
    return new_output("error", ename="CheckFailed", evalue=said, traceback=[said])


def _passed(cell: NotebookNode) -> NotebookNode:
    points = points_of(cell)
    return new_output("stream", name="stdout", text=f"✓ passed: {points:g} mark{'s' if points != 1 else ''}\n")
