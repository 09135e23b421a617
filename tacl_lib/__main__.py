"""``tacl``, the one command: each subcommand is the main function of a room.

    tacl run --dataset mnist --split rotation --learner ta_agem
    tacl reproduce --profile paper

``python -m tacl_lib`` is the same. Each takes ``--plugin``: see `tacl_lib.plugins`.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from tacl_lib import plugins
from tacl_lib.errors import TaclError, terminate_as_interrupt, unknown_name


class Command(NamedTuple):
    """A subcommand: where its ``main(arguments)`` is, what it does, and what is put before its arguments."""

    module: str
    help: str
    before: tuple[str, ...] = ()


COMMANDS = {
    "new": Command("tacl_lib.teaching.new_folder", "make a folder of your own, with notebooks and coursework"),
    "run": Command("tacl_lib.runs.command", "train one learner on one stream of tasks"),
    "data": Command("tacl_lib.data.command", "fetch every dataset that is available, and show where it came from"),
    "reproduce": Command("tacl_lib.report.reproduce", "run experiments, and make their tables, figures and report"),
    "status": Command("tacl_lib.report.reproduce", "show which runs are done, running and missing", ("--status",)),
    "verify": Command("tacl_lib.paper.verify", "run stored runs again, here, and compare"),
    "merge": Command("tacl_lib.runs.merge", "take over finished runs that someone else has made"),
    "figure": Command("tacl_lib.report.gallery", "make one figure of the paper from stored runs"),
    "calibrate": Command("tacl_lib.paper.calibration", "compare readings of what the paper leaves open"),
    "beyond": Command("tacl_lib.report.beyond", "make the runs of notebook 11: larger networks, reduced"),
    "evidence": Command("tacl_lib.report.evidence", "make the paper's figures and the pages of evidence"),
    "lab": Command("tacl_lib.teaching.my_notebooks", "open your own copies of the notebooks in JupyterLab"),
    "fresh": Command("tacl_lib.teaching.my_notebooks", "get a fresh copy of a notebook", ("--fresh",)),
    "lessons": Command("tacl_lib.teaching.lessons.command", "make the notebooks of the lessons from their sources"),
    "coursework": Command("tacl_lib.teaching.coursework.command", "make the versions of the problem sets, or grade"),
    "release": Command(
        "tacl_lib.teaching.coursework.command", "write what students get, without solutions", ("release",)
    ),
    "slides": Command("tacl_lib.teaching.lessons.slides", "make slides of the meetings of a course"),
    "grade": Command("tacl_lib.teaching.coursework.command", "grade what students handed in", ("grade",)),
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
    # Imported here: most commands need few rooms.
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
    """The plugins that are named, wherever --plugin stands, and all other arguments."""
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
    more = "With --plugin my_methods.py a command knows what that file registers: learners, policies, datasets."
    return "\n".join(["usage: tacl COMMAND [OPTIONS]; tacl COMMAND --help says more.", "", *lines, "", more])


if __name__ == "__main__":
    main()
