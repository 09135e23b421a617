"""Shared by the tests of training: a disk that can be full."""

import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KB; `fill` takes what is left of it."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, text=True
        )
    except OSError as error:
        pytest.skip(f"there is no mount here: {error}")
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    yield place
    # Lazily: an exception that pytest keeps may hold a file of it open.
    subprocess.run(["umount", "--lazy", str(place)], check=True)
