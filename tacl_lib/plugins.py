"""Plugins: learners, memory policies, networks and datasets of your own, known to every process of the kit.

A plugin is a Python file or a module that registers what it defines when it is imported. When a name is first looked
up, the kit imports

- the plugins in the environment variable ``TACL_PLUGINS`` (files ending in ``.py``, or modules; separated as in PATH),
  to which ``tacl --plugin my_methods.py COMMAND`` adds,
- the entry points of installed packages in the group ``tacl.plugins``.

Kernels inherit the variable, and each job takes the names along to its worker; the workers of a cluster need the same
file or package.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, MutableMapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from tacl_lib.errors import TaclError

GROUP, VARIABLE = "tacl.plugins", "TACL_PLUGINS"

_lock = threading.RLock()  # the loading thread itself may look names up; others wait
_known: dict[str, str] = {}  # imported plugins → their digest or version
_under_way: set[str] = set()
_asked_packages = False


def given() -> tuple[str, ...]:
    """The plugins named by the user, files with their absolute paths."""
    return tuple(map(_whole, filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))))


def add(names: Iterable[str]) -> None:
    """Import these plugins, here and in every process started from here."""
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
    """Import all plugins that have not been imported yet; costs nothing if there are none."""
    global _asked_packages
    if VARIABLE in os.environ and not all(name in _known for name in given()):
        add(())
    if not _asked_packages:
        with _lock:
            if not _asked_packages:
                _asked_packages = True
                _import_packages()


def described() -> dict[str, str]:
    """This process's plugins with their digests or versions, for the record of a run."""
    load()
    # Without paths: records are shared.
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
    except Exception as error:  # it may run any code
        raise TaclError(f"the plugin {name} could not be loaded: {type(error).__name__}: {error}.") from error
    finally:
        _under_way.discard(name)
    _known[name] = version


def _import_file(path: Path) -> None:
    module = f"tacl_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(module, path)
    sys.modules[module] = made = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:  # at the end: its neighbours can be imported, but hide nothing
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[module]
        raise


def _import_packages() -> None:
    """Import the entry points. Nobody named these, so a broken one is skipped with a warning."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            warnings.warn(f"the plugin {point.value} is skipped: {type(error).__name__}: {error}", stacklevel=4)
        else:
            _known[point.value] = point.dist.version if point.dist else "no version"


class Registry(MutableMapping):
    """What is registered, by name. Plugins are loaded before anything is looked up."""

    def __init__(self, **known: Any):
        self.known = known  #: what is registered so far

    def __getitem__(self, name: str) -> Any:
        load()
        return self.known[name]

    def __contains__(self, name: object) -> bool:
        load()
        return isinstance(name, str) and name in self.known

    def __iter__(self) -> Iterator[str]:
        load()
        return iter(self.known)

    def __len__(self) -> int:
        load()
        return len(self.known)

    def __setitem__(self, name: str, value: Any) -> None:  # without load(): plugins register while they are loaded
        self.known[name] = value

    def __delitem__(self, name: str) -> None:
        del self.known[name]
