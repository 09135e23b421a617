"""``make coursework``, ``make release``, ``make grade``:  tacl coursework generate | release | grade SUBMISSIONS"""

import argparse
from pathlib import Path

from tacl_lib.errors import TaclError
from tacl_lib.places import BUILD, INSTALLED, PROJECT, coursework
from tacl_lib.teaching.coursework.bundle import write_bundle, write_variants
from tacl_lib.teaching.coursework.generate import generate


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl coursework", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("generate", help="build release, solutions and marking schemes from the sources")
    bundling = commands.add_parser("release", help="build the students' folder, without solutions")
    bundling.add_argument("--output", type=Path, default=BUILD / "student", help="recreated on each call")
    bundling.add_argument("--hints", choices=("shown", "costed", "held"), default="shown")
    bundling.add_argument(
        "--class-list", type=Path, help="the platform's table, or one name per line: a variant for each student"
    )
    bundling.add_argument("--variants", type=Path, default=BUILD / "variants", help="a folder for each student")
    grading = commands.add_parser("grade", help="grade a folder of submissions with nbgrader")
    grading.add_argument("submissions", type=Path, help="one folder per student, with set1.ipynb and so on")
    grading.add_argument("--output", type=Path, default=BUILD / "grading", help="recreated on each call")
    grading.add_argument("--table", type=Path, help="Moodle's grading worksheet or Canvas's gradebook, to be filled in")
    grading.add_argument("--column", help="the assignment in Canvas's gradebook, such as 'Set 1'")
    grading.add_argument(
        "--hints", type=Path, help="a CSV with the columns student, exercise, hints; each hint costs a mark"
    )
    grading.add_argument("--variants", type=Path, help="the folder of variants, where each student has one")
    grading.add_argument("--timeout", type=int, default=60, help="seconds per cell")
    options = parser.parse_args(arguments)
    sets = coursework()
    if options.command == "generate":
        if INSTALLED and sets.is_relative_to(PROJECT):
            raise TaclError("there are no problem sets of your own here; create a folder: tacl new FOLDER --lecturer")
        for path in generate(sets):
            print(path.relative_to(sets.parent))
    elif options.command == "release":
        made = write_bundle(sets.parent, options.output, options.hints, with_sets=options.class_list is None)
        if options.class_list:
            made += write_variants(sets.parent, options.variants, options.class_list, options.hints)
        print(*made, sep="\n")
    else:
        from tacl_lib.teaching.coursework.grading import grade  # nbgrader is in the instructor extra only

        chosen = options.submissions, options.output, options.timeout, options.table, options.column, options.hints
        print(grade(sets / "source", *chosen, options.variants).text())
