"""Lessons with every function written run from top to bottom; that they run skipped is nbval's business."""

import re
from pathlib import Path

import pytest
from nbclient import NotebookClient

from tacl_lib.teaching.lessons.build import notebook
from tacl_lib.teaching.lessons.source import ExerciseText, read

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCES = sorted((NOTEBOOKS / "source").glob("*.md"))

#: from an empty cell: what the capstone of lesson 5 asks for, with nothing but a gradient from the kit
CAPSTONE = """\
class MyTaAgem:
    def __init__(self, network, classes, seed):
        self.network, self.random = network, random.Random(seed)
        self.pools = [[] for _ in range(classes)]

    def step(self, x, y):
        g = loss_gradient(self.network, x, y)
        stored = [(z, label) for label, pool in enumerate(self.pools) for cluster in pool for z in cluster]
        if stored:
            x_ref, y_ref = zip(*self.random.sample(stored, min(60, len(stored))), strict=True)
            g_ref = loss_gradient(self.network, torch.stack(x_ref), torch.tensor(y_ref))
            if g @ g_ref < 0:
                g = g - (g @ g_ref) / (g_ref @ g_ref) * g_ref
        self.network.w = self.network.w - LR * g
        row = self.random.randrange(len(y))
        pool = self.pools[int(y[row])]
        if len(pool) < 20:
            pool.append([x[row]])
        else:
            cluster = min(pool, key=lambda c: float(((torch.stack(c).mean(0) - x[row]) ** 2).sum()))
            cluster.append(x[row])
            del cluster[:-3]
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_lesson_runs_with_everything_written(path, tmp_path, monkeypatch):
    monkeypatch.setenv("TACL_PROGRESS", str(tmp_path / "progress.json"))
    made = notebook(path, solved=True)
    for cell in made.cells:
        if cell.source.endswith("MyTaAgem = None"):
            cell.source = CAPSTONE
    NotebookClient(made, timeout=600, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    said = "".join(o.get("text", "") for c in made.cells if c.cell_type == "code" for o in c.outputs)
    for part in read(path):
        if isinstance(part, ExerciseText):
            assert re.search(rf"✓ {part.name}: right in \d+ fresh cases", said)
    assert "not written yet" not in said
    if "capstone.board" in path.read_text(encoding="utf-8"):
        assert "✓ As good as the library's." in said
