"""Shared by all tests."""

import os

# The networks of the tests are tiny: more threads would only wait for each other. Subprocesses inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)


def pytest_terminal_summary(terminalreporter, config):
    """The table of the coursework's seeded answers, if they were tried."""
    for line in getattr(config, "coursework_table", []):
        terminalreporter.write_line(line)
