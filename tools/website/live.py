"""Widgets that work in a page without a kernel: their state as a file beside it, and an element that shows it."""

import base64
import hashlib
import html
import json
from pathlib import Path

from website.execution import ROOT

WIDGETS = ROOT / "tacl_lib" / "teaching" / "widgets"
#: class of a widget → its script, which is the same in JupyterLab and here
KINDS = {"Quiz": "quiz", "Landscape": "landscape", "MemoryPlayer": "memory"}
SCRIPTS = [WIDGETS / f"{name}.js" for name in KINDS.values()]


def from_widget(saved: dict) -> dict | None:
    """What a page needs of a widget as a notebook saves it, or None where it cannot work without a kernel."""
    state = saved.get("state", {})
    kind = KINDS.get(state.get("_anywidget_id", "").rpartition(".")[2])
    if kind is None:
        return None
    for part in saved.get("buffers", ()):
        *path, last = part["path"]
        place = state
        for key in path:
            place = place[key]
        place[last] = {"base64": part["data"]}
    kept = {name: value for name, value in state.items() if not name.startswith(("_model", "_view", "_any", "_esm"))}
    return {"kind": kind, "state": {name: value for name, value in kept.items() if name not in ("layout", "_css")}}


def element(made: dict, folder: Path, alt: str = "", link: str = "../_static/live") -> str:
    """The element for a page; the state goes to a file in the folder, named by what it holds."""
    text = json.dumps(made["state"], separators=(",", ":"), default=as_text)
    name = f"{made['kind']}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return (
        f'<div class="tacl-live" data-kind="{made["kind"]}" data-state="{name}">'
        f"<noscript>{html.escape(alt)}</noscript></div>"
    )


def as_text(value: bytes) -> dict:
    """Bytes inside JSON."""
    return {"base64": base64.b64encode(value).decode()}


def still(png: str, alt: str) -> str:
    """The image that stands in for a widget that needs a kernel."""
    return (
        f'<figure class="tacl-still"><img src="data:image/png;base64,{png}" alt="{html.escape(alt)}">'
        "<figcaption>A still of what can be used in JupyterLab.</figcaption></figure>"
    )
