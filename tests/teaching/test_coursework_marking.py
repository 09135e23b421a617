"""Marking without nbgrader: answers in odd places earn their marks, attacks earn none and are named."""

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from coursework_answers import project as projections
from coursework_answers import reference_gradient as gradients
from handed_in import COURSEWORK, SETS, cell_of, marked, released, solved, source_of, with_answer, with_cell
from nbformat.v4 import new_code_cell, new_notebook

import tacl_lib
from tacl_lib.errors import TaclError
from tacl_lib.teaching.coursework import sandbox, wire
from tacl_lib.teaching.coursework.marking import Session
from tacl_lib.teaching.coursework.sandbox import Gone, Process, protection
from tacl_lib.teaching.coursework.source import grade_id, is_test, is_written
from tacl_lib.teaching.coursework.suspicions import suspicions

FIRST = SETS[0]
FULL = {exercise.name: exercise.marks for exercise in FIRST.exercises}
NONE = dict.fromkeys(FULL, 0)
PROJECT = source_of(projections.with_a_clipped_factor, "project")
ONLY_PROJECT = NONE | {"project": 5}


@pytest.fixture(scope="module", autouse=True)
def _walls():
    """Marking as root needs bubblewrap; elsewhere it goes on without, and says so."""
    try:
        protection()
    except TaclError as error:
        pytest.skip(str(error))


# --- what is right earns its marks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("of", [pytest.param(of, id=of.name) for of in SETS[:2]])
def test_the_solution_gets_full_marks(of):
    assert marked(of, solved(of))[:2] == ({exercise.name: exercise.marks for exercise in of.exercises}, "")


@pytest.mark.slow
def test_the_solution_of_the_contest_gets_full_marks():
    assert marked(SETS[2], solved(SETS[2]))[:2] == ({e.name: e.marks for e in SETS[2].exercises}, "")


@pytest.mark.slow
def test_torch_may_be_imported_where_it_is_needed():
    notebook = with_answer(FIRST, "reference_gradient", source_of(gradients.by_autograd, "reference_gradient"))
    assert marked(FIRST, notebook, timeout=60)[0] == NONE | {"reference_gradient": 6}


def _copied(notebook):
    """The answer cell was copied, metadata and all, and solved in the copy, above the stub."""
    place = notebook.cells.index(cell_of(notebook, "project"))
    own = copy.deepcopy(notebook.cells[place])
    own.source = PROJECT
    notebook.cells.insert(place, own)


def _retyped(notebook):
    notebook.cells.append(new_code_cell(PROJECT))


def _as_text(notebook):
    cell = cell_of(notebook, "project")
    cell.source, cell.cell_type = PROJECT, "markdown"
    del cell["outputs"], cell["execution_count"]


def _split(notebook):
    place = notebook.cells.index(cell_of(notebook, "project"))
    head, tail = PROJECT.split("\n    return", 1)
    notebook.cells[place].source = head
    notebook.cells.insert(place + 1, new_code_cell("    return" + tail))


def _helper_above(notebook):
    cell_of(notebook, "project").source = PROJECT.replace("np.dot", "dot")
    notebook.cells.insert(
        1, new_code_cell("%matplotlib inline\nimport numpy as np\n\ndef dot(a, b):\n    return a @ b")
    )


def _tagged(notebook):
    """The answer stands in a copy of a cell that is not run."""
    notebook.cells.append(new_code_cell(PROJECT, metadata={"tags": ["skip-execution"]}))


@pytest.mark.parametrize("change", [_copied, _retyped, _as_text, _split, _helper_above, _tagged])
def test_an_answer_in_an_odd_place_earns_its_marks(change):
    notebook = released(FIRST)
    change(notebook)
    marks, remarks, _ = marked(FIRST, notebook)
    assert marks == ONLY_PROJECT
    assert ("project" in remarks) == (change not in (_helper_above, _copied, _as_text))


def test_one_broken_cell_costs_its_own_marks_and_is_told():
    notebook = with_answer(FIRST, "project", PROJECT)
    cell_of(notebook, "run_metrics").source = "def run_metrics(accuracy, epochs_per_task)\n    return {}"
    cell_of(notebook, "reference_gradient").source = "import seaborn_of_mine\ndef reference_gradient(): pass"
    cell_of(notebook, "read_timeline").source = "1 / 0"
    marks, remarks, said = marked(FIRST, notebook)
    assert marks == ONLY_PROJECT
    assert "the cell run_metrics is not valid Python in line 1 (expected ':')." in remarks
    assert "the cell reference_gradient needs a package that marking does not have (No module named 'sea" in remarks
    assert "the cell read_timeline stopped in line 1 with ZeroDivisionError: division by zero." in remarks
    assert "✗ read_timeline: there is no function of this name. Did its cell run to the end?" in said


def test_a_cell_that_does_not_end_costs_its_own_marks_only_and_is_reported():
    notebook = with_answer(FIRST, "project", PROJECT)
    cell_of(notebook, "run_metrics").source = "while True:\n    pass"
    marks, remarks, _ = marked(FIRST, notebook, timeout=2)
    assert marks == ONLY_PROJECT
    assert "the cell run_metrics was stopped: it took too long (2 seconds are allowed)." in remarks


@pytest.mark.slow
@pytest.mark.parametrize(
    "loop", ["while True:\n        pass", "while True:\n        try:\n            pass\n        except: pass"]
)
def test_an_answer_that_does_not_end_costs_its_own_marks_only_and_is_reported(loop):
    notebook = with_answer(FIRST, "project", PROJECT)
    cell_of(notebook, "read_timeline").source = "def read_timeline(cluster, task, clusters, size):\n    " + loop
    marks, remarks, _ = marked(FIRST, notebook)
    assert marks == ONLY_PROJECT
    assert "in the cell read_timeline_test_1 the answer did not come to an end." in remarks


# --- what is not right earns none ----------------------------------------------------------------------------------

STEAL_EXPECTED = """
def project(gradient, reference):
    import sys
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if hasattr(value, "expected"):
                return value.expected
        frame = frame.f_back
"""
ATTACKS = {
    "the checks": """
        def project(gradient, reference):
            from tacl_lib.teaching.checks.project import project
            return project(gradient, reference)
    """,
    "the caller's frames": STEAL_EXPECTED,
    "the table of modules": """
        import sys
        for module in list(sys.modules.values()):
            for name in ("expect", "same", "agrees"):
                if hasattr(module, name):
                    setattr(module, name, lambda *given, **named: True)
        def project(gradient, reference):
            return 0
    """,
    "the notebook's transformers": """
        get_ipython().input_transformers_post.append(lambda lines: ["pass"])
    """,
    "files": """
        def project(gradient, reference):
            text = open(SOURCE).read()
            exec(text[text.index("overlap = gradient"):])
            return gradient
    """,
    "other processes": """
        import os
        if os.fork() == 0:
            import time
            while True:
                for place in GRADEBOOKS:
                    try:
                        open(place, "r+b").write(b"20 of 20")
                    except OSError:
                        pass
                time.sleep(0.01)
    """,
    "the interpreter's memory": """
        import ctypes
        def project(gradient, reference):
            return ctypes.string_at(id(gradient), 2**30)
    """,
}


def _code(text: str) -> str:
    lines = text.strip("\n").split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[margin:] for line in lines)


@pytest.mark.parametrize("reached", ATTACKS)
def test_an_attack_earns_nothing_and_is_named(reached, tmp_path):
    if protection().bubblewrap is None:
        pytest.skip(protection().why_not)
    book = tmp_path / "gradebook.db"
    book.write_bytes(b"0 of 20.")
    source = _code(ATTACKS[reached]).replace("GRADEBOOKS", repr([str(book)])).replace("SOURCE", repr(str(FIRST.path)))
    marks, remarks, _ = marked(FIRST, with_cell(released(FIRST), source))
    assert marks == NONE
    assert re.search(rf"the code reaches for [^:]*{reached}[^:]*: please look at it\.", remarks)
    assert book.read_bytes() == b"0 of 20."


@pytest.mark.parametrize("metadata", [{"tags": ["skip-execution"]}, {"nbgrader": {"points": 1000}}, {}])
def test_test_cells_are_put_back_whole(metadata):
    notebook = released(FIRST)
    for cell in notebook.cells:
        if is_test(cell):
            cell.metadata |= metadata
            cell.source = "pass" if not metadata else cell.source
    marks, remarks, _ = marked(FIRST, notebook)
    assert marks == NONE
    assert ("put back" in remarks or "the originals were used" in remarks) == ("nbgrader" not in metadata)


def test_a_submission_sees_nothing_but_python():
    """No tests, no solutions, no other submission, no kit; it can write nowhere that lasts."""
    looks = _code("""
        import glob, importlib.util, os
        seen = [path for path in KNOWN if os.path.exists(path)] + glob.glob("/tmp/*")
        try:
            kit = importlib.util.find_spec("tacl_lib.teaching.checks.project") is not None
        except (ImportError, ValueError, AttributeError):
            kit = False
        net = os.listdir("/proc/net/dev_snmp6") if os.path.exists("/proc/net/dev_snmp6") else ["lo"]
        def project(gradient, reference):
            try:
                open(HERE, "w")
                could = "write"
            except OSError:
                could = "not write"
            return {"seen": seen, "kit": kit, "could": could, "user": os.getuid(), "net": net}
    """).replace("HERE", repr(str(COURSEWORK / "planted")))
    known = [COURSEWORK, COURSEWORK.parent / "tests", Path(tacl_lib.__file__), Path(sandbox.__file__)]
    looks = looks.replace("KNOWN", repr([str(path) for path in known]))
    protected = protection()
    if protected.bubblewrap is None:
        pytest.skip(protected.why_not)
    process = Process(protected)
    try:
        process.send({"run": looks})
        assert process.receive(60)["error"] is None
        process.send({"call": "project", "arguments": [1, 2], "seconds": 5})
        found = dict(process.receive(10)["value"]["dict"])
    finally:
        process.close()
    assert found["seen"] == {"list": []}
    assert found["kit"] is False
    assert found["net"] == {"list": ["lo"]}
    assert found["could"] == "not write"
    assert found["user"] != 0
    assert not (COURSEWORK / "planted").exists()


def test_a_process_is_held_to_its_memory_and_ends_with_all_that_it_started():
    process = Process(protection())
    try:
        process.send({"run": "hog = bytearray(8 * 2**30)"})
        assert process.receive(20)["error"][0] == "MemoryError"
        process.send({"run": "import os\nos._exit(0)"})
        with pytest.raises(Gone, match="it ended"):
            process.receive(20)
    finally:
        process.close()


@pytest.mark.parametrize("line", ["not json", "[1]", '{"value": {"array": ["O", [1], ""]}, "changed": null}', "{}"])
def test_a_process_that_lies_about_its_values_earns_nothing(line):
    """It writes on the pipe itself, in place of the worker."""
    source = _code("""
        def project(gradient, reference):
            import gc, json
            for thing in gc.get_objects():
                if type(thing).__name__ == "Channel":
                    thing._out.write(LINE + chr(10))
                    thing._out.flush()
            return gradient
    """).replace("LINE", repr(line))
    marks, _, _ = marked(FIRST, with_answer(FIRST, "project", source))
    assert marks == NONE


def test_an_answer_that_asks_for_ever_is_stopped():
    """It calls a function of the marker's again and again, and swallows every exception."""
    source = _code("""
        def ask(add):
            while True:
                try:
                    add(1)
                except BaseException:
                    pass
    """)
    session = Session(new_notebook(cells=[new_code_cell(source)]), timeout=5, protected=protection())
    try:
        outcome = session.call("ask", {"add": lambda number: number + 1}, seconds=0.5)
    finally:
        session.close()
    assert outcome.kind == "loop"


def test_a_short_line_cannot_stand_for_a_billion_rows():
    assert wire.decoded({"array": ["<f8", [0, 3], "", False]}).shape == (0, 3)
    with pytest.raises(ValueError, match="arrays of this size do not pass"):
        wire.decoded({"array": ["<f8", [10**9, 0], "", False]})


def test_root_does_not_mark_without_walls(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    monkeypatch.setattr(sandbox.os, "geteuid", lambda: 0)
    with pytest.raises(TaclError, match="marking as root would give submissions the rights of root"):
        protection()


def test_others_are_told_what_is_unprotected(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    monkeypatch.setattr(sandbox.os, "geteuid", lambda: 1000)
    assert protection().note.startswith("bubblewrap is not installed: submissions ran unprotected, with your rights")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_without_walls_marking_works_as_an_ordinary_user():
    """The worker alone, as nobody: the protocol does not depend on bubblewrap."""
    code = "import os; os.setgid(65534); os.setuid(65534)\n" + _code("""
        from tacl_lib.teaching.coursework.sandbox import Process, Protection
        process = Process(Protection(None, "not here"))
        process.send({"run": "def f(x):\\n    return 2 * x"})
        process.receive(60)
        process.send({"call": "f", "arguments": [4], "seconds": 5})
        print(process.receive(10))
        process.close()
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=COURSEWORK.parent)
    if "Permission" in done.stderr or "No module" in done.stderr:
        pytest.skip("this Python cannot be read by others")
    assert json.loads(done.stdout.replace("'", '"').replace("None", "null")) == {"value": 8, "changed": None}


def test_suspicions_do_not_fall_on_ordinary_code():
    for of in SETS:
        given = {cell.source for cell in of.notebook.cells if not grade_id(cell)}
        own = [cell.source for cell in solved(of).cells if cell.cell_type == "code" and not is_test(cell)]
        assert [suspicions(source) for source in own if source not in given] == [set()] * (
            len(own) - sum(source in given for source in own)
        )
    assert suspicions("x = image.open; figure.modules; [open_ for open_ in y]") == set()
    assert suspicions('def f():\n    """Uses tacl_lib.teaching.checks."""') == set()


def test_every_set_has_one_question_in_words():
    for of in SETS:
        assert sum(is_written(cell) for cell in released(of).cells) == 1
        assert cell_of(released(of), of.question.name).source == "YOUR ANSWER HERE"
