"""Widgets that work in a page without a kernel: their state as a file beside it, and an element that shows it."""

import base64
import copy
import hashlib
import html
import json
from pathlib import Path

import numpy as np
import plotly

from website.execution import ROOT

WIDGETS = ROOT / "tacl_lib" / "teaching" / "widgets"
#: class of a widget → its script, which is the same in JupyterLab and here
KINDS = {"Quiz": "quiz", "Landscape": "landscape", "MemoryPlayer": "memory", "MemoryReplay": "memory"}
#: plotly's code is the site's own copy, and is only loaded where a figure is shown
SCRIPTS = [WIDGETS / f"{name}.js" for name in sorted(set(KINDS.values()))]
SCRIPTS.append(Path(plotly.__file__).parent / "package_data" / "plotly.min.js")


def from_widget(states: dict, model: str) -> dict | None:
    """What a page needs of a widget as a notebook saves it, or None where it cannot work without a kernel.

    Of a view with controls that is the first part of it that works alone: a replay, or a figure to point at.
    """
    state = _with_bytes(states.get(model, {}))
    kind = KINDS.get(state.get("_anywidget_id", "").rpartition(".")[2])
    if kind is not None:
        left = ("_model", "_view", "_any", "_esm", "_css", "layout")
        return {"kind": kind, "state": {name: value for name, value in state.items() if not name.startswith(left)}}
    if "_widget_data" in state:
        return {"kind": "figure", "state": {name: _numbers(state[f"_widget_{name}"]) for name in ("data", "layout")}}
    inner = (child.removeprefix("IPY_MODEL_") for child in state.get("children", ()))
    return next(filter(None, (from_widget(states, child) for child in inner)), None)


def _with_bytes(saved: dict) -> dict:
    """The state of a widget; bytes, which a notebook keeps apart, are back in their places."""
    state = copy.deepcopy(saved.get("state", {}))
    for part in saved.get("buffers", ()):
        *path, last = part["path"]
        place = state
        for key in path:
            place = place[key]
        place[last] = {"base64": part["data"]}
    return state


def _numbers(value):
    """Arrays as plotly.js reads them from JSON."""
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "dtype" in value and (held := value.get("value", value.get("buffer"))) is not None:
        array = {"dtype": np.dtype(value["dtype"]).str[1:], "bdata": held["base64"]}
        return array | ({"shape": ", ".join(map(str, value["shape"]))} if len(value["shape"]) > 1 else {})
    return {name: _numbers(each) for name, each in value.items()}


def element(made: dict, folder: Path, alt: str = "", link: str = "../_static/live") -> str:
    """The element for a page; the state goes to a file in the folder, named by what it holds."""
    text = json.dumps(made["state"], separators=(",", ":"), default=as_text)
    name = f"{made['kind']}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    said = html.escape(alt)
    shown = f'<div class="tacl-live" data-kind="{made["kind"]}" data-state="{name}" data-alt="{said}">'
    return f"{shown}<noscript>{said}</noscript></div>"


def as_text(value: bytes) -> dict:
    """Bytes inside JSON."""
    return {"base64": base64.b64encode(value).decode()}


def still(png: str, alt: str) -> str:
    """The image that stands in for a widget that needs a kernel."""
    return (
        f'<figure class="tacl-still"><img src="data:image/png;base64,{png}" alt="{html.escape(alt)}">'
        "<figcaption>A still of what can be used in JupyterLab.</figcaption></figure>"
    )
