"""Shared by all tests."""

import os

# The networks of the tests are tiny: more threads would only wait for each other. Subprocesses inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
