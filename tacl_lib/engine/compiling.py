"""Numba's compiler, with a cache of what it made that lies where we may write."""

import os
from collections.abc import Callable
from pathlib import Path

import pooch
from numba import config, njit

from tacl_lib import places


def compiled(**options) -> Callable:
    """Numba's `njit`, cached: beside the source in a checkout, else in the kit's cache folder.

    Numba would put compiled code into an installed package, too.
    """

    def decorate(function: Callable) -> Callable:
        before = config.CACHE_DIR
        if places.INSTALLED and not before:
            config.CACHE_DIR = str(
                Path(os.environ.get("TACL_CACHE") or pooch.os_cache("tacl")).expanduser() / "compiled"
            )
        try:
            return njit(**options, cache=True)(function)
        finally:
            config.CACHE_DIR = before

    return decorate
