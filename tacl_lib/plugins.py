"""Plugins: your own learners, memory policies, networks and datasets, available in every process of the kit.

A plugin is a Python file or module that registers what it defines when it is imported. On the first lookup of a name,
the kit imports

- the plugins in the environment variable ``TACL_PLUGINS`` (``.py`` files or modules, separated as in PATH), to which
  ``tacl --plugin my_methods.py COMMAND`` adds,
- the entry points of installed packages in the group ``tacl.plugins``.

Kernels inherit the variable, and each job passes the names to its worker; the workers of a cluster must have access to
the same file or package.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

from tacl_lib.errors import TaclError

GROUP, VARIABLE = "tacl.plugins", "TACL_PLUGINS"

_lock = threading.RLock()  # the loading thread may look names up meanwhile; others wait
_known: dict[str, str] = {}  # imported plugin → its digest or version
_under_way: set[str] = set()
_asked_packages = False


def given() -> tuple[str, ...]:
    """The plugins named in the environment, files with absolute paths."""
    return tuple(map(_whole, filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))))


def add(names: Iterable[str]) -> None:
    """Import these plugins here and in every process started from here."""
    wanted = dict.fromkeys([*given(), *map(_whole, names)])
    for name in wanted:
        if os.pathsep in name:
            raise TaclError(f"the plugin path {name!r} contains {os.pathsep!r}, which separates plugins; rename it.")
    with _lock:
        for name in wanted:
            _import(name)
    if wanted:
        os.environ[VARIABLE] = os.pathsep.join(wanted)


def load() -> None:
    """Import all plugins that are not imported yet; cheap if there are none."""
    global _asked_packages
    if VARIABLE in os.environ and not all(name in _known for name in given()):
        add(())
    if not _asked_packages:
        with _lock:
            if not _asked_packages:
                _asked_packages = True
                _import_packages()


def described() -> dict[str, str]:
    """The names and digests or versions of this process's plugins, for the record of a run."""
    load()
    # Records are shared, so leave out the path.
    return {Path(name).name if name.endswith(".py") else name: version for name, version in _known.items()}


def _whole(name: str) -> str:
    return str(Path(name).expanduser().absolute()) if name.endswith(".py") else name


def _import(name: str) -> None:
    if name in _known or name in _under_way:
        return
    _under_way.add(name)
    try:
        if name.endswith(".py"):
            _import_file(Path(name))
            version = "sha256 " + hashlib.sha256(Path(name).read_bytes()).hexdigest()
        else:
            version = str(getattr(importlib.import_module(name), "__version__", "no version"))
    except TaclError as error:
        raise TaclError(f"the plugin {name} could not be loaded: {error}") from error
    except OSError as error:
        raise TaclError(f"the plugin {name} could not be read ({error.strerror}); check its path.") from error
    except Exception as error:  # user code can raise anything
        raise TaclError(f"the plugin {name} could not be loaded: {type(error).__name__}: {error}.") from error
    finally:
        _under_way.discard(name)
    _known[name] = version


def _import_file(path: Path) -> None:
    module = f"tacl_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(module, path)
    sys.modules[module] = made = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:  # at the end: neighbouring files can be imported but shadow nothing
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[module]
        raise


def _import_packages() -> None:
    """Import entry points. Nobody named these explicitly, so a broken one is skipped with a warning."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            warnings.warn(f"the plugin {point.value} is left out: {type(error).__name__}: {error}", stacklevel=4)
        else:
            _known[point.value] = point.dist.version if point.dist else "no version"


class Register(dict):
    """A dict by name that imports plugins before every lookup."""

    def __contains__(self, name: object) -> bool:
        load()
        return isinstance(name, str) and super().__contains__(name)

    def __getitem__(self, name):
        load()
        return super().__getitem__(name)

    def __iter__(self) -> Iterator:
        load()
        return super().__iter__()

    def __len__(self) -> int:
        load()
        return super().__len__()

    def get(self, name, default=None):
        load()
        return super().get(name, default)

    def keys(self):
        load()
        return super().keys()

    def values(self):
        load()
        return super().values()

    def items(self):
        load()
        return super().items()
