"""A history as the player in the browser (memory.js) is given it: all of it at once, so that it needs no kernel."""

import numpy as np

from tacl_lib.teaching.widgets import words
from tacl_lib.teaching.widgets.base import task_looks
from tacl_lib.teaching.widgets.history import MemoryHistory


def recording(history: MemoryHistory) -> dict[str, dict | bytes]:
    """The log, and of each sample that ever came its image, its place on the map and its name; once each."""
    log, geometry = history.log, history.geometry
    rows, image = np.unique(log.row, return_inverse=True)
    task = np.zeros(len(history.images), np.int64)
    task[log.row] = log.task_in
    called = [words.with_article(history.name_of(row, task[row])) for row in rows.tolist()]
    names = sorted(set(called))
    place = log.cluster.astype(np.int64) * geometry.size + log.slot
    looks = task_looks(history.task_count)
    return {
        "_meta": {
            "steps": history.steps,
            "pools": geometry.pools,
            "of_pool": geometry.clusters,
            "size": geometry.size,
            "clustered": history.clustered,
            "measured": history.measured,
            "shape": list(history.image_shape),
            "names": names,
            "tasks": [
                {"number": look.task, "name": name, "colour": look.colour, "ink": look.ink}
                for look, name in zip(looks, history.task_names, strict=True)
            ],
        },
        "_events": np.stack([log.step, place, image, log.task_in]).astype("<i4").tobytes(),
        "_pixels": history.images[rows].cpu().numpy().tobytes(),
        "_spots": history.places_on_map[rows].astype("<f4").tobytes(),
        "_names": np.array([names.index(name) for name in called], "<i2").tobytes(),
    }
