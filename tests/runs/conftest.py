"""Shared by the tests of runs: workers on this machine."""

import os

import pytest

from tacl_lib.runs import cluster


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """A cluster on this machine, one for all tests: its workers need seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        if "PYTHONDONTWRITEBYTECODE" in os.environ:  # then every worker would compile all that it imports
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("pycache")))
        patch.setattr(cluster, "_cores", lambda: 2)
        with cluster.workers() as found:
            yield found
