"""``tacl``, the one command. Its subcommands are main functions in the rooms.

    tacl run --dataset mnist --split rotation --learner ta_agem
    tacl reproduce --profile paper

``python -m tacl_lib`` does the same. All take ``--plugin``: see `tacl_lib.plugins`.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from tacl_lib import plugins
from tacl_lib.errors import TaclError, terminate_as_interrupt, unknown_name


class Command(NamedTuple):
    """A subcommand: the module with its ``main(arguments)``, a help text, and arguments to put first."""

    module: str
    help: str
    before: tuple[str, ...] = ()


COMMANDS = {
    "new": Command("tacl_lib.teaching.new_folder", "create a folder of your own, with notebooks and coursework"),
    "run": Command("tacl_lib.runs.command", "train one learner on one stream of tasks"),
    "data": Command("tacl_lib.data.command", "fetch every available dataset, and show where it came from"),
    "reproduce": Command("tacl_lib.report.reproduce", "run the experiments, and create tables, figures and a report"),
    "status": Command("tacl_lib.report.reproduce", "show which runs are done, running and missing", ("--status",)),
    "verify": Command("tacl_lib.paper.verify", "rerun some of the stored runs here, and compare"),
    "merge": Command("tacl_lib.runs.merge", "import finished runs from someone else"),
    "figure": Command("tacl_lib.report.gallery", "draw figures of the paper from stored runs"),
    "calibrate": Command("tacl_lib.paper.calibration", "compare readings of the settings that the paper leaves open"),
    "beyond": Command("tacl_lib.report.beyond", "execute the runs of notebook 11: larger networks, reduced"),
    "evidence": Command("tacl_lib.report.evidence", "create the paper's figures and the pages of evidence"),
    "lab": Command("tacl_lib.teaching.my_notebooks", "open your own copies of the notebooks in JupyterLab"),
    "fresh": Command("tacl_lib.teaching.my_notebooks", "get a fresh copy of a notebook", ("--fresh",)),
    "lessons": Command("tacl_lib.teaching.lessons.command", "build the notebooks of the lessons from their sources"),
    "coursework": Command("tacl_lib.teaching.coursework.command", "build the versions of the problem sets, or grade"),
    "release": Command(
        "tacl_lib.teaching.coursework.command", "build the students' folder, without solutions", ("release",)
    ),
    "slides": Command("tacl_lib.teaching.lessons.slides", "build slides for the meetings of a course"),
    "grade": Command("tacl_lib.teaching.coursework.command", "grade students' submissions", ("grade",)),
}


def main(arguments: Sequence[str] | None = None) -> None:
    try:
        own, given = _plugins(sys.argv[1:] if arguments is None else arguments)
        plugins.add(own)
    except TaclError as error:
        sys.exit(f"tacl: {error}")
    if not given or given[0] in ("-h", "--help"):
        print(_usage())
        return
    name = "run" if given[0].startswith("-") else given.pop(0)  # options alone mean a run
    if name not in COMMANDS:
        sys.exit(f"tacl: {unknown_name('command', name, COMMANDS)}")
    command = COMMANDS[name]
    # Imported only now, because most commands need few rooms.
    terminate_as_interrupt()
    try:
        code = import_module(command.module).main([*command.before, *given])
    except TaclError as error:
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{name}: stopped.")
    if code:
        sys.exit(code)


def _plugins(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The plugins named by --plugin, wherever it appears, and all other arguments."""
    own, others = [], list(arguments)
    while found := [n for n, word in enumerate(others) if word == "--plugin" or word.startswith("--plugin=")]:
        _, equals, name = others.pop(found[0]).partition("=")
        if not equals:
            name = others.pop(found[0]) if found[0] < len(others) else ""
        if not name:
            raise TaclError("--plugin takes a file or a module, e.g. --plugin my_methods.py.")
        own.append(name)
    return own, others


def _usage() -> str:
    lines = [f"  {name:12}{command.help}" for name, command in COMMANDS.items()]
    more = "With --plugin my_methods.py a command knows the learners, policies and datasets that this file registers."
    return "\n".join(["usage: tacl COMMAND [OPTIONS]; see tacl COMMAND --help.", "", *lines, "", more])


if __name__ == "__main__":
    main()
