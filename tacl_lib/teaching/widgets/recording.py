"""A history as the player in the browser (memory.js) is given it: all of it at once, so that it needs no kernel."""

import numpy as np

from tacl_lib.teaching.widgets import words
from tacl_lib.teaching.widgets.base import task_looks
from tacl_lib.teaching.widgets.history import MemoryHistory


def recording(history: MemoryHistory, with_map: bool = True) -> dict[str, dict | bytes]:
    """The log, and of each sample that ever came its image, its place on the map and its name; once each."""
    log, geometry = history.log, history.geometry
    rows, image = np.unique(log.row, return_inverse=True)
    task = np.zeros(len(history.images), np.int64)
    task[log.row] = log.task_in
    called = [words.with_article(history.name_of(row, int(task[row]))) for row in rows.tolist()]
    number = {name: at for at, name in enumerate(sorted(set(called)))}
    place = log.cluster.astype(np.int64) * geometry.size + log.slot
    looks = task_looks(history.task_count)
    return {
        "meta": {
            "steps": history.steps,
            "pools": geometry.pools,
            "of_pool": geometry.clusters,
            "size": geometry.size,
            "clustered": history.clustered,
            "measured": history.measured,
            "shape": list(history.image_shape),
            "names": list(number),
            "tasks": [
                {"number": look.task, "name": name, "colour": look.colour, "ink": look.ink}
                for look, name in zip(looks, history.task_names, strict=True)
            ],
        },
        "events": np.stack([log.step, place, image, log.task_in]).astype("<i4").tobytes(),
        "pixels": history.images[rows].cpu().numpy().tobytes(),
        "spots": history.places_on_map[rows].astype("<f4").tobytes() if with_map else b"",
        "names": np.array([number[name] for name in called], "<i2").tobytes(),
        "divisor": history.scaling.divisor.cpu().numpy().astype("<f4").tobytes(),
    }
