"""The wheel holds the project's notebooks, coursework, figures and reference runs too: see tacl_lib/places.py."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
PAGES = ("README.md", "CONTRIBUTING.md", "LIBRARY.md", "CHANGELOG.md")
SHIPPED = ("notebooks", "coursework", "figures", "results/reference", *PAGES)
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "*.damaged", "quick", "smoke")


class WithProject(build_py):
    """In a wheel the project lies inside the package; an editable installation finds it in the checkout."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        project = Path(self.build_lib) / "tacl_lib" / "project"
        shutil.rmtree(project, ignore_errors=True)  # of an earlier build
        for name in SHIPPED:
            source, target = ROOT / name, project / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=LEFT_OUT)
            else:
                shutil.copyfile(source, target)


setup(cmdclass={"build_py": WithProject})
