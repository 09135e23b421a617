"""Figures: the artists hold the numbers of the records, and files are written whole and alike."""

import html
import itertools
import re

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from PIL import Image

from tacl_lib.core import metrics
from tacl_lib.core.memory import Geometry
from tacl_lib.errors import TaclError
from tacl_lib.report import figures
from tacl_lib.report.figures import parts, picture, style
from tacl_lib.report.figures.timeline import draw_timeline, moments, oldest_counts
from tacl_lib.runs import RunSpec, run
from tacl_lib.training.events import EventLog, log_of
from tacl_lib.training.record import Record

# ------------------------------------------------------------------------------------------------ made records


def plan(experiment: str = "disjoint", tasks: int = 3, per_task: int = 4, steps: int = 10) -> pd.DataFrame:
    if experiment == "disjoint":
        pairs = [(task, -1) for task in range(tasks) for _ in range(per_task)]
    else:
        pairs = [(t, n) for t in range(tasks - 1) for n in (-1, t + 1) for _ in range(per_task // 2)]
    epochs = pd.DataFrame(pairs, columns=["task", "next_task"])
    return epochs.assign(epoch=range(len(epochs)), first_step=np.arange(len(epochs)) * steps, steps=steps)


def made(seed: int = 0, experiment: str = "disjoint", events: EventLog | None = None, **more) -> Record:
    epochs = plan(experiment, **more)
    rng = np.random.default_rng(seed)
    tasks = int(max(epochs["task"].max(), epochs["next_task"].max())) + 1
    first_seen = [int(((epochs["task"] == t) | (epochs["next_task"] == t)).to_numpy().argmax()) for t in range(tasks)]
    seen = np.arange(len(epochs))[:, None] >= np.array(first_seen)
    accuracy = np.where(seen, rng.uniform(0.3, 1, seen.shape), np.nan)
    return Record(seed, epochs, accuracy, seen, np.zeros(seen.shape, np.int64), events)


def made_log(count: int, geometry: Geometry, tasks: int, seed: int = 0) -> EventLog:
    """Arrivals one a step, at random places, of tasks that come one after the other."""
    rng = np.random.default_rng(seed)
    clusters = geometry.pools * geometry.clusters
    cluster, slot = rng.integers(0, clusters, count), rng.integers(0, geometry.size, count)
    return log_of(geometry, np.arange(count), cluster, slot, np.arange(count) * tasks // count, np.arange(count))


def panel(figure, name: str):
    (ax,) = (ax for ax in figure.axes if ax.get_gid() == name)
    return ax


def lines(ax) -> dict:
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def upright(ax) -> list[float]:
    """Where vertical lines stand that mark a task change."""
    return [line.get_xdata()[0] for line in ax.lines if line.get_label() == "_change"]


def texts(figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


# ------------------------------------------------------------------------------------------------ the look


def test_every_method_has_its_own_colour_dash_and_marker():
    for looks in (style.METHODS, style.STUDY):
        assert len({look.colour for look in looks.values()}) == len(looks)
        assert len({look.dash for look in looks.values()}) == len(looks)
    assert len({look.marker for look in style.METHODS.values()}) == len(style.METHODS)
    assert [name for name, look in style.METHODS.items() if look.aware] == ["ogd", "agem"]


def test_methods_of_a_user_get_looks_that_are_free():
    looks = style.looks(["mine", "sgd", "yours"])
    assert list(looks) == ["sgd", "mine", "yours"]
    assert (
        len({(look.colour, look.dash) for look in [*style.METHODS.values(), looks["mine"], looks["yours"]]})
        == len(style.METHODS) + 2
    )


# Machado, Oliveira and Fernandes (2009), severity 1: what linear RGB becomes.
BLINDNESS = {
    "none": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour: str, blindness: str) -> np.ndarray:
    """CIE Lab of a colour as it is seen."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(BLINDNESS[blindness]) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    t = xyz / [0.9505, 1, 1.089]
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_colours_stay_apart_for_colour_blind_eyes(blindness):
    def least(colours):
        seen = [lab(colour, blindness) for colour in colours]
        return min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))

    assert least([look.colour for look in style.METHODS.values()]) > 12
    assert least([look.colour for look in style.STUDY.values()]) > 12
    assert least([*style.task_colours(5), style.EMPTY_COLOUR]) > 18
    assert least([*style.task_colours(10), style.EMPTY_COLOUR]) > 7


def test_tasks_go_from_dark_to_light_and_keep_their_colour():
    for count in range(1, 11):
        lightness = [lab(colour, "none")[0] for colour in style.task_colours(count)]
        assert len(lightness) == count
        assert lightness == sorted(lightness)
    assert style.task_colours(3) == style.task_colours(5)[:3]
    for count in (0, 11):
        with pytest.raises(TaclError, match="1 to 10 tasks"):
            style.task_colours(count)


def test_figures_leave_the_settings_of_the_user_alone():
    before = dict(matplotlib.rcParams)
    figures.clustering_diagram()
    assert dict(matplotlib.rcParams) == before


# ------------------------------------------------------------------------------------------------ the result figure

METHODS = ("sgd", "ta_agem", "agem")


@pytest.fixture(scope="module")
def runs() -> dict:
    return {split: {m: [made(10 * i + s) for s in range(3)] for i, m in enumerate(METHODS)} for split in style.SPLITS}


def test_lines_are_means_and_bands_one_standard_deviation(runs):
    figure = figures.result_figure(runs, dataset="fashion_mnist")
    for split, metric in itertools.product(style.SPLITS, parts.METRICS):
        ax = panel(figure, f"{metric}-{split}")
        bands = {c.get_label(): c for c in ax.collections if isinstance(c, PolyCollection)}
        assert len(bands) == len(lines(ax)) == len(METHODS)
        for method in METHODS:
            records, label = runs[split][method], style.METHODS[method].label
            values = np.array([own_metric(metric, record) for record in records])
            line = lines(ax)[label]
            np.testing.assert_allclose(line.get_ydata(), values.mean(0))
            np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 13))
            corners = bands[label].get_paths()[0].vertices
            for x, mean, deviation in zip(range(1, 13), values.mean(0), values.std(0, ddof=1), strict=True):
                at = corners[corners[:, 0] == x, 1]
                np.testing.assert_allclose([at.min(), at.max()], [mean - deviation, mean + deviation])


def own_metric(metric: str, record: Record) -> np.ndarray:
    """The metrics once more, by plain loops."""
    first = record.accuracy[:, 0]
    if metric == "average_accuracy":
        return np.array([row[known].mean() for row, known in zip(record.accuracy, record.seen, strict=True)])
    return (
        first if metric == "first_task_accuracy" else np.array([first[: i + 1].max() - a for i, a in enumerate(first)])
    )


def test_task_changes_legend_and_titles(runs):
    figure = figures.result_figure(runs, dataset="fashion_mnist")
    assert all(upright(ax) == [4, 8] for ax in figure.axes)
    assert len(figure.axes) == 9
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["SGD", "TA-A-GEM", "A-GEM (task-aware)"]
    drawn = lines(panel(figure, "forgetting-class"))
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        line = drawn[text.get_text()]
        assert to_hex(handle.get_color()) == to_hex(line.get_color())
        assert handle.get_linestyle() == line.get_linestyle()
    assert len({to_hex(line.get_color()) for line in drawn.values()}) == 3
    assert len({str(line._unscaled_dash_pattern) for line in drawn.values()}) == 3
    assert "Fashion-MNIST, disjoint tasks" in texts(figure)
    assert "REDUCED" not in texts(figure)


def test_continuous_streams_are_shaded_where_tasks_mix():
    record = made(experiment="continuous")
    assert parts.mixing_spans(record.epochs) == [(2, 4), (6, 8)]
    figure = figures.result_figure({"class": {"sgd": [record]}}, dataset="mnist", experiment="continuous")
    ax = panel(figure, "average_accuracy-class")
    spans = [p.get_extents().transformed(ax.transData.inverted()) for p in ax.patches if p.get_label() == "_mixing"]
    assert [(round(s.x0), round(s.x1)) for s in spans] == [(2, 4), (6, 8)]
    assert upright(ax) == []
    assert not [c for c in ax.collections if isinstance(c, PolyCollection)]  # one run has no spread
    assert "mixed" in figures.alt_of(figure)


def test_missing_panels_say_why_and_missing_methods_are_named(runs):
    some = {"class": runs["class"], "permutation": {"sgd": runs["class"]["sgd"], "agem": []}}
    figure = figures.result_figure(some, dataset="svhn", reasons={"rotation": "the data could not be loaded"})
    for metric in parts.METRICS:
        said = [text.get_text() for text in panel(figure, f"{metric}-rotation").texts]
        assert said == ["not run\nthe data could not be loaded"]
        assert not panel(figure, f"{metric}-rotation").lines
    (note,) = panel(figure, "average_accuracy-permutation").texts
    assert note.get_text() == "not run: TA-A-GEM, A-GEM"
    assert "Rotation: not run, the data could not be loaded" in figures.alt_of(figure)
    nothing = figures.result_figure({}, dataset="svhn")
    assert texts(nothing).count("not run") == 9
    with pytest.raises(TaclError, match="unknown splits"):
        figures.result_figure({"klass": {}}, dataset="svhn")


def test_a_reduced_run_says_so_on_its_face(runs):
    reduced = "REDUCED (profile quick: 4 epochs a task instead of 20)"
    record = made(events=made_log(60, Geometry(2, 3, 2), 3))
    for figure in (
        figures.result_figure(runs, dataset="mnist", reduced=reduced),
        figures.study_figure({("random", 1.0): [made()]}, reduced=reduced),
        figures.timeline_figure({"Clustering": record}, reduced=reduced),
    ):
        assert reduced in texts(figure).replace("\n", " ")
        assert figures.alt_of(figure).startswith(reduced)


def test_a_diverged_run_ends_the_mean_and_is_marked():
    good, bad = made(0), made(1)
    bad.accuracy[5:] = np.nan
    figure = figures.result_figure({"class": {"sgd": [good, bad]}}, dataset="mnist")
    ax = panel(figure, "first_task_accuracy-class")
    assert np.isnan(lines(ax)["SGD"].get_ydata()[5:]).all()
    (cross,) = (line for line in ax.lines if line.get_label() == "_diverged")
    assert cross.get_xdata() == [5]
    assert "SGD diverged average" in figures.alt_of(figure)


def test_runs_of_unequal_length_are_refused():
    with pytest.raises(TaclError, match="same spec"):
        figures.result_figure({"class": {"sgd": [made(0), made(1, per_task=2)]}}, dataset="mnist")


def test_a_real_run_on_digits():
    settings = {"epochs": 2, "hidden": (8,), "train_limit": 40, "test_limit": 20}
    records = {
        name: run(RunSpec("digits", "class", learner=name, **settings), (0, 1), progress=False)
        for name in ("sgd", "ta_agem")
    }
    figure = figures.result_figure({"class": records}, dataset="digits")
    means = np.mean([metrics.first_task_accuracy(r.accuracy) for r in records["ta_agem"]], axis=0)
    line = lines(panel(figure, "first_task_accuracy-class"))["TA-A-GEM"]
    np.testing.assert_allclose(line.get_ydata(), means)
    assert upright(panel(figure, "forgetting-class")) == [2, 4, 6, 8]
    overview = figures.overview_figure(records)
    first, memory = overview.axes
    np.testing.assert_allclose(lines(first)["TA-A-GEM"].get_ydata(), means)
    assert upright(memory) == upright(first) == [2, 4, 6, 8]
    with pytest.raises(TaclError, match="needs a run of ta_agem"):
        figures.overview_figure({"sgd": records["sgd"]})


# ------------------------------------------------------------------------------------------------ the timeline


def test_moments_are_equal_in_epochs_of_unequal_length():
    record = made(tasks=2, per_task=1)
    record.epochs["steps"], record.epochs["first_step"] = [4, 8], [0, 4]
    # Two moments an epoch: a quarter and three quarters of it are over; so many whole steps, less one.
    assert moments(record, 4).tolist() == [0, 2, 5, 9]


def test_timeline_draws_the_oldest_tasks_with_pools_apart():
    log = made_log(120, Geometry(2, 5, 3), 3)
    record = made(events=log)
    figure = figures.timeline_figure({"Clustering": record, "Random assignment": record}, title="Sampling rate 1")
    assert len(figure.axes) == 2
    for ax in figure.axes:
        above, below = ax.images
        expected = log.oldest(moments(record))
        np.testing.assert_array_equal(np.vstack([above.get_array(), below.get_array()]), expected)
        assert above.get_extent()[2] < below.get_extent()[3]  # a gap between the pools
        assert [to_hex(above.cmap(above.norm(task))) for task in (-1, 0, 1, 2)] == ["#ffffff", *style.task_colours(3)]
        assert upright(ax) == [4, 8]
        assert all(to_hex(line.get_color()) == "#000000" for line in ax.lines)
        labels = [tick.get_text() for tick in ax.get_yticklabels()]
        assert labels == [str(number) for number in range(10)]
        assert "pool of class 1" in [text.get_text() for text in ax.texts]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Task 0", "Task 1", "Task 2", "empty"]
    counts = oldest_counts(record)
    last = log.oldest([119])[:, 0]
    assert counts.tolist() == [(last == task).sum() for task in range(3)]
    assert f"task 0 in {counts[0]}, task 1 in {counts[1]}" in figures.alt_of(figure)


def test_timeline_of_a_continuous_stream_and_without_a_run():
    record = made(experiment="continuous", events=made_log(80, Geometry(4, 2, 2), 3))
    figure = figures.timeline_figure({"Clustering": record, "Random": None}, reasons={"Random": "time was up"})
    bars = [line.get_xdata().tolist() for line in figure.axes[0].lines if line.get_label() == "_mixing"]
    assert bars == [[2, 4], [6, 8]]
    assert "two tasks mixed" in texts(figure)
    assert "not run\ntime was up" in texts(figure)
    with pytest.raises(TaclError, match="no event log"):
        figures.timeline_figure({"SGD": made()})


def test_a_log_of_120_000_events_is_drawn(tmp_path):
    log = made_log(120_000, Geometry(2, 50, 3), 5)
    record = made(tasks=5, per_task=20, steps=1200, events=log)
    content = log.oldest(moments(record))
    assert content.shape == (100, 1200)
    some = moments(record)[::97]
    members = np.stack([log.tasks(int(step)) for step in some], axis=1)
    expected = np.where(members < 0, 99, members).min(2)
    np.testing.assert_array_equal(content[:, ::97], np.where(expected == 99, -1, expected))
    figure = figures.timeline_figure({"Clustering": record})
    figures.save(figure, tmp_path, "long")


def test_draw_timeline_on_axes_of_the_user():
    ax = matplotlib.figure.Figure().subplots()
    draw_timeline(ax, made(events=made_log(30, Geometry(1, 4, 2), 3)), bins=50)
    assert ax.images[0].get_array().shape == (4, 50)
    assert not ax.texts  # one pool needs no name


# ------------------------------------------------------------------------------------------------ study and diagrams


def test_study_draws_six_variants():
    runs = {variant: [made(10 * i + s) for s in range(2)] for i, variant in enumerate(style.STUDY)}
    figure = figures.study_figure(runs)
    for metric in ("average_accuracy", "first_task_accuracy"):
        drawn = lines(panel(figure, metric))
        assert len(drawn) == 6
        for variant, records in runs.items():
            mean = np.mean([own_metric(metric, record) for record in records], axis=0)
            np.testing.assert_allclose(drawn[style.STUDY[variant].label].get_ydata(), mean)
        assert upright(panel(figure, metric)) == [4, 8]
    assert len(figure.legends[0].get_texts()) == 6
    del runs["random", 0.1]
    assert "not run: random, rate 0.1 (too long)" in texts(figures.study_figure(runs, reasons="too long"))
    assert texts(figures.study_figure({})).count("not run") == 2
    with pytest.raises(TaclError, match="unknown variants"):
        figures.study_figure({("none", 1.0): []})


@pytest.mark.parametrize("diagram", [figures.strategy_diagram, figures.clustering_diagram])
def test_texts_of_a_diagram_do_not_overlap_and_stay_inside(diagram):
    figure = diagram()
    figure.draw_without_rendering()
    shown = [t for t in figure.findobj(matplotlib.text.Text) if t.get_text().strip() and t.get_visible()]
    boxes = [text.get_window_extent() for text in shown]
    for text, box in zip(shown, boxes, strict=True):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text
    for (one, a), (two, b) in itertools.combinations(zip(shown, boxes, strict=True), 2):
        assert not a.overlaps(b), (one, two)
    assert len(figures.alt_of(figure)) > 100


# ------------------------------------------------------------------------------------------------ files


def test_save_writes_the_same_bytes_again_and_the_alternative_text(tmp_path):
    record = made(events=made_log(60, Geometry(2, 3, 2), 3))
    written = [
        figures.save(figures.timeline_figure({"Clustering": record}), tmp_path / folder, "clusters") for folder in "ab"
    ]
    assert [path.name for path in written[0]] == ["clusters.png", "clusters.svg", "clusters.alt.txt"]
    assert [path.read_bytes() for path in written[0]] == [path.read_bytes() for path in written[1]]
    figure = figures.timeline_figure({"Clustering": record})
    png, svg, alt = figures.save(figure, tmp_path / "c", "clusters")
    assert [path.read_bytes() for path in figures.save(figure, tmp_path / "d", "clusters")] == [
        path.read_bytes() for path in (png, svg, alt)
    ]
    assert alt.read_text() == figures.alt_of(figure) + "\n"
    with Image.open(png) as image:
        assert image.info["dpi"][0] >= 150
        assert image.info["Description"] == figures.alt_of(figure)
    drawing = svg.read_text()
    assert not re.search(r"<dc:date>|20\d\d-\d\d-\d\d", drawing)
    assert "oldest task" in drawing
    assert not list(tmp_path.rglob("*.part"))


def test_save_takes_another_text_but_not_none(tmp_path):
    figure = matplotlib.figure.Figure()
    assert figures.save(figure, tmp_path, "empty", alt="Nothing.")[2].read_text() == "Nothing.\n"
    with pytest.raises(TaclError, match="alternative text"):
        figures.save(figure, tmp_path, "empty")


def test_a_notebook_shows_the_picture_with_its_text():
    figure = figures.clustering_diagram()
    data, about = figure._repr_mimebundle_()
    assert data["image/png"].startswith("iVBOR")
    assert data["text/plain"] == about["image/png"]["alt"] == figure.alt
    assert f'alt="{html.escape(figure.alt)}"' in data["text/html"]


def test_a_small_file_draws_the_same_lines():
    """Its steps, added up, are the places of the full file to half a tenth of a dot, however long the line."""
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 500, (2000, 2))
    told = " ".join(f"{'M' if number % 500 == 0 else 'L'} {x:.6f} {y:.6f}" for number, (x, y) in enumerate(places))
    small = picture._steps(told + " z")
    assert len(small) < 0.6 * len(told)
    found, at = [], np.zeros(2)
    for command, x, y in re.findall(r"([Ml])(-?[\d.]+) (-?[\d.]+)", small):
        at = np.array([float(x), float(y)]) + (at if command == "l" else 0)
        found.append(at)
    assert np.abs(np.array(found) - places).max() < 0.0501
    assert small.endswith("z")
    curved = "M 1.23456 2 Q 3.98765 4 5 6 z"
    assert picture._steps(curved) == "M 1.23 2 Q 3.98 4 5 6 z"
