"""Random numbers, rotation and the three ways to make tasks of a dataset."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as torchvision_functional

from tacl_lib.core.randomness import Uniforms, generator, stacked
from tacl_lib.core.rotation import rotate
from tacl_lib.core.tasks import SPLITS, make_tasks, permutation_of
from tacl_lib.data import Dataset
from tacl_lib.errors import TaclError

SEEDS = (0, 1, 7, 20, 3)
PAPER_ANGLES = tuple(range(0, 200, 20))


def dataset(train=90, test=50, shape=(6, 6, 1), labels=10, seed=0):
    """Random images; every label occurs in both parts."""
    rng = np.random.default_rng(seed)

    def part(count):
        images = rng.integers(0, 256, (count, *shape), dtype=np.uint8)
        return images, rng.permutation(np.arange(count, dtype=np.int64) % labels)

    return Dataset("synthetic", *part(train), *part(test))


def arithmetic_dataset():
    """Made of whole-number arithmetic only, so that no library version can change it."""

    def part(count, factor):
        images = (np.arange(count * 5 * 7 * 3, dtype=np.int64) * factor % 251).astype(np.uint8)
        return images.reshape(count, 5, 7, 3), np.arange(count, dtype=np.int64) * 7 % 10

    return Dataset("arithmetic", *part(40, 37), *part(30, 53))


def task_rows(samples, task):
    return slice(samples.bounds[task], samples.bounds[task + 1])


def one_sentence(caught) -> str:
    """The message of an error that a user reads: one line, one sentence."""
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert ". " not in message
    return message


# --- random numbers -------------------------------------------------------------------------------------------


def test_same_name_gives_the_same_numbers():
    """Resuming without a generator state rests on this."""
    assert np.array_equal(generator(3, "shuffle", 4).random(8), generator(3, "shuffle", 4).random(8))


def test_different_names_give_different_numbers():
    """Also where an index only adds a zero: SeedSequence pads with zeros, and (s) and (s, 0) must not collide."""
    names = [(0, "a"), (0, "a", 0), (0, "a", 0, 0), (0, "a", 1), (0, "b"), (1, "a"), (1, "a", 0), (0, "a", 1, 0)]
    numbers = [generator(*name).integers(2**63) for name in names]
    assert len(set(numbers)) == len(numbers)


def test_generator_golden():
    """Pins the stream of numbers itself: a result of one machine must be another's."""
    assert generator(3, "shuffle", 4).integers(1000, size=5).tolist() == GOLDEN_NUMBERS


@given(steps=st.lists(st.integers(0, 3 * Uniforms.BLOCK), min_size=1, max_size=8), width=st.integers(1, 4))
@settings(deadline=None, max_examples=20)
def test_uniforms_do_not_depend_on_the_stack_or_the_order_of_access(steps, width):
    """A run must draw the same alone and in a stack, and when it is resumed in the middle of a block."""
    together = Uniforms(SEEDS, "memory", width)
    alone = [Uniforms([seed], "memory", width) for seed in SEEDS]
    for step in steps:
        values = together(step)
        assert values.shape == (len(SEEDS), width)
        assert ((values >= 0) & (values < 1)).all()
        for run, uniforms in enumerate(alone):
            assert torch.equal(values[run], uniforms(step)[0])
        assert torch.equal(values, Uniforms(SEEDS, "memory", width)(step))


def test_uniforms_differ_between_steps_runs_and_purposes():
    """A repeated row would tie what must be independent."""
    uniforms, other = Uniforms(SEEDS, "memory", 3), Uniforms(SEEDS, "reference", 3)
    steps = [*range(5), *range(Uniforms.BLOCK - 2, Uniforms.BLOCK + 3)]
    rows = [tuple(row.tolist()) for u in (uniforms, other) for step in steps for row in u(step)]
    assert len(set(rows)) == len(rows)


def test_stacked_keeps_the_order_of_seeds():
    assert stacked([5, 2], lambda seed: np.full(3, seed)).tolist() == [[5, 5, 5], [2, 2, 2]]


# --- rotation -------------------------------------------------------------------------------------------------


def images(shape, count=3):
    return np.random.default_rng(1).integers(0, 256, (count, *shape), dtype=np.uint8)


SHAPES = [(28, 28, 1), (6, 6, 3), (5, 7, 3), (8, 5, 1)]


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rotation_by_quarters_is_exact(shape, interpolation):
    given_images = images(shape)
    assert np.array_equal(rotate(given_images, 0, interpolation), given_images)
    assert np.array_equal(rotate(given_images, 360, interpolation), given_images)
    assert np.array_equal(rotate(given_images, 180, interpolation), np.rot90(given_images, 2, (1, 2)))
    if shape[0] == shape[1]:
        for quarters in (1, 3):
            turned = np.rot90(given_images, quarters, (1, 2))
            assert np.array_equal(rotate(given_images, 90 * quarters, interpolation), turned)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("degrees", PAPER_ANGLES)
def test_bilinear_rotation_agrees_with_torchvision(shape, degrees):
    """An independent implementation, in floating point: it may round to the neighbouring grey level."""
    given_images = images(shape)
    tensor = torch.from_numpy(given_images).permute(0, 3, 1, 2)
    expected = torchvision_functional.rotate(tensor, degrees, InterpolationMode.BILINEAR).permute(0, 2, 3, 1).numpy()
    assert np.abs(rotate(given_images, degrees).astype(int) - expected).max() <= 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("degrees", PAPER_ANGLES)
def test_nearest_rotation_agrees_with_torchvision(shape, degrees):
    """Equal, but where a source lies just between two pixels (5 × 7 at 60°): there either neighbour is right."""
    given_images = images(shape)
    tensor = torch.from_numpy(given_images).permute(0, 3, 1, 2)
    expected = torchvision_functional.rotate(tensor, degrees, InterpolationMode.NEAREST).permute(0, 2, 3, 1).numpy()
    height, width = shape[:2]
    turn = np.exp(1j * np.radians(degrees))
    row, column = np.mgrid[0:height, 0:width]
    source = (column - (width - 1) / 2 + 1j * (row - (height - 1) / 2)) * turn
    places = source.real + (width - 1) / 2, source.imag + (height - 1) / 2
    between = np.any([np.abs(place - np.floor(place) - 0.5) < 1e-4 for place in places], axis=0)
    assert between.mean() < 0.2
    assert np.array_equal(rotate(given_images, degrees, "nearest")[:, ~between], expected[:, ~between])


def test_rotation_is_counter_clockwise_and_leaves_its_argument_alone():
    picture = np.zeros((1, 5, 5, 1), np.uint8)
    picture[0, 0, 2] = 200  # top middle
    before = picture.copy()
    assert rotate(picture, 90)[0, 2, 0, 0] == 200  # left middle
    assert np.array_equal(picture, before)


# --- tasks: which rows ----------------------------------------------------------------------------------------


@given(
    split=st.sampled_from(["permutation", "rotation"]),
    task_count=st.integers(1, 7),
    train=st.integers(12, 40),
    test=st.integers(12, 40),
    validation=st.sampled_from(["parts", "whole"]),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=25)
def test_every_row_is_used_exactly_once(split, task_count, train, test, validation, seed):
    """The paper: 'the data was first split into disjoint subsets (one for each task)'."""
    data = dataset(train, test, (3, 4, 1))
    tasks = make_tasks(data, split, (seed,), task_count=task_count, validation=validation)
    assert tasks.count == task_count
    assert sorted(tasks.train.origin[0].tolist()) == list(range(train))
    sizes = [tasks.train.size(task) for task in range(task_count)]
    assert max(sizes) - min(sizes) <= 1
    if validation == "parts":
        assert sorted(tasks.test.origin[0].tolist()) == list(range(test))
    else:
        for task in range(task_count):
            assert sorted(tasks.test.origin[0, task_rows(tasks.test, task)].tolist()) == list(range(test))


@pytest.mark.parametrize("split", ["permutation", "rotation"])
def test_rows_are_split_at_random_and_by_seed(split):
    """Neither in the dataset's order nor the same way in every run, and training and test apart."""
    tasks = make_tasks(dataset(60, 60), split, (0, 1), task_count=3)
    orders = [*tasks.train.origin.tolist(), *tasks.test.origin.tolist(), list(range(60))]
    assert len(set(map(tuple, orders))) == 5


@pytest.mark.parametrize("validation", ["parts", "whole"])
@pytest.mark.parametrize("shape", [(6, 6, 1), (5, 7, 3)])
def test_permutation_can_be_undone(shape, validation):
    """Each image is the original with its whole pixels moved, the same way for all images of a task."""
    data = dataset(shape=shape)
    tasks = make_tasks(data, "permutation", SEEDS[:2], task_count=4, validation=validation)
    assert tasks.classes == 10
    pixels = shape[0] * shape[1]
    for run, seed in enumerate(tasks.seeds):
        orders = [tuple(permutation_of(seed, task, pixels)) for task in range(4)]
        assert len({*orders, tuple(range(pixels))}) == 5  # each task its own, none the identity
        for task, order in enumerate(orders):
            for samples, originals, labels in (
                (tasks.train, data.train_images, data.train_labels),
                (tasks.test, data.test_images, data.test_labels),
            ):
                rows = task_rows(samples, task)
                origin = samples.origin[run, rows].numpy()
                shown = samples.images[run, rows].numpy().reshape(-1, pixels, shape[2])
                restored = np.empty_like(shown)
                restored[:, list(order)] = shown
                assert np.array_equal(restored.reshape(-1, *shape), originals[origin])
                assert np.array_equal(samples.labels[run, rows].numpy(), labels[origin])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("degrees", [20, 100])
def test_corners_are_filled_as_torchvision_fills_them(shape, degrees):
    given_images = images(shape)
    fill = [200, 3, 90][: shape[2]]
    # A mask of what is outside, turned by torchvision, says how much of the fill a pixel has.
    tensor = torch.from_numpy(given_images).permute(0, 3, 1, 2).double()
    both = torch.cat([tensor, torch.ones_like(tensor[:, :1])], dim=1)
    turned = torchvision_functional.rotate(both, degrees, InterpolationMode.BILINEAR)
    expected = turned[:, :-1] + (1 - turned[:, -1:]) * torch.tensor(fill).view(1, -1, 1, 1)
    found = rotate(given_images, degrees, fill=fill)
    assert np.abs(found - expected.permute(0, 2, 3, 1).numpy()).max() <= 1
    assert not np.array_equal(found, rotate(given_images, degrees))


def test_permutations_differ_between_runs():
    assert not np.array_equal(permutation_of(0, 1, 36), permutation_of(1, 1, 36))


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest"])
def test_rotation_task_is_turned_by_its_number_times_20_degrees(interpolation):
    data = dataset(shape=(5, 7, 3))
    tasks = make_tasks(data, "rotation", SEEDS[:2], task_count=5, interpolation=interpolation, fill="black")
    assert tasks.names == ("0°", "20°", "40°", "60°", "80°")
    for run in range(2):
        for task in range(5):
            for samples, originals, labels in (
                (tasks.train, data.train_images, data.train_labels),
                (tasks.test, data.test_images, data.test_labels),
            ):
                rows = task_rows(samples, task)
                origin = samples.origin[run, rows].numpy()
                turned = rotate(originals[origin], task * 20, interpolation)
                assert np.array_equal(samples.images[run, rows].numpy(), turned.reshape(len(origin), -1))
                assert np.array_equal(samples.labels[run, rows].numpy(), labels[origin])


def test_degrees_per_task():
    tasks = make_tasks(dataset(), "rotation", task_count=3, degrees_per_task=90)
    origin = tasks.train.origin[0, task_rows(tasks.train, 1)].numpy()
    turned = np.rot90(dataset().train_images[origin], 1, (1, 2)).reshape(len(origin), -1)
    assert np.array_equal(tasks.train.images[0, task_rows(tasks.train, 1)].numpy(), turned)
    assert tasks.names == ("0°", "90°", "180°")


@pytest.mark.parametrize("limit", [None, 5])
def test_class_split_pairs_the_labels(limit):
    """The paper: labels (0,1), (2,3) …; 'All even labels were set to 0 and all odd labels were set to 1'."""
    data = dataset()
    tasks = make_tasks(data, "class", SEEDS[:3], train_limit=limit, test_limit=limit)
    assert (tasks.count, tasks.classes) == (5, 2)
    assert tasks.names == ("0 / 1", "2 / 3", "4 / 5", "6 / 7", "8 / 9")
    for samples, originals, labels in (
        (tasks.train, data.train_images, data.train_labels),
        (tasks.test, data.test_images, data.test_labels),
    ):
        for run in range(len(samples.origin)):
            for task in range(5):
                rows = task_rows(samples, task)
                origin = samples.origin[run, rows].numpy()
                assert set(labels[origin]) <= {2 * task, 2 * task + 1}
                assert np.array_equal(samples.labels[run, rows].numpy(), labels[origin] - 2 * task)
                assert np.array_equal(samples.images[run, rows].numpy(), originals[origin].reshape(len(origin), -1))
                if limit is None:
                    members = np.flatnonzero((labels == 2 * task) | (labels == 2 * task + 1))
                    assert sorted(origin) == members.tolist()


@pytest.mark.parametrize("split", SPLITS)
def test_limits_take_a_random_part_of_each_task(split):
    """A reduced profile sees fewer samples of the same tasks, and each run its own."""
    data = dataset(200, 100)
    full = make_tasks(data, split, (0, 1), task_count=5)
    small = make_tasks(data, split, (0, 1), task_count=5, train_limit=7, test_limit=4)
    for name, limit in (("train", 7), ("test", 4)):
        part, whole = getattr(small, name), getattr(full, name)
        assert [part.size(task) for task in range(5)] == [limit] * 5
        assert not torch.equal(part.origin[0], part.origin[1])
        for run in range(2):
            for task in range(5):
                chosen = part.origin[run, task_rows(part, task)].tolist()
                available = whole.origin[run % len(whole.origin), task_rows(whole, task)].tolist()
                assert len(set(chosen)) == limit
                assert set(chosen) <= set(available)
                assert chosen != available[:limit]  # at random, not the first ones


@pytest.mark.parametrize("split", SPLITS)
def test_a_limit_beyond_the_data_keeps_all(split):
    tasks = make_tasks(dataset(), split, task_count=5, train_limit=10_000)
    assert sorted(tasks.train.origin[0].tolist()) == list(range(90))


# --- tasks: scaling -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 6, 1), (5, 7, 3)])
def test_unit_scaling(shape):
    tasks = make_tasks(dataset(shape=shape), "class", scaling="unit")
    assert torch.equal(tasks.inputs(tasks.train, 1), tasks.train.images[:, task_rows(tasks.train, 1)].float() / 255)
    assert torch.equal(tasks.targets(tasks.test, 2), tasks.test.labels[:, task_rows(tasks.test, 2)])


def test_symmetric_scaling():
    tasks = make_tasks(dataset(), "class", scaling="symmetric")
    expected = tasks.train.images[:, task_rows(tasks.train, 1)].double() / 255 * 2 - 1
    torch.testing.assert_close(tasks.inputs(tasks.train, 1).double(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "scaling"), [("mnist", "standard"), ("svhn", "standard"), ("fashion_mnist", "symmetric")]
)
def test_customary_scaling_depends_on_the_dataset(name, scaling):
    data = replace(dataset(), name=name)
    found, expected = (make_tasks(data, "class", scaling=s).scaling for s in ("customary", scaling))
    assert torch.equal(found.offset, expected.offset)
    assert torch.equal(found.divisor, expected.divisor)


@pytest.mark.parametrize("scaling", ["standard", "symmetric"])
def test_corners_may_be_zero_after_scaling(scaling):
    """As if scaled images had been turned, to half a grey level."""
    data = dataset(shape=(6, 6, 3))
    data.train_images[..., 1] //= 3
    shown = make_tasks(data, "rotation", task_count=3, degrees_per_task=45, scaling=scaling, fill="zero")
    corners = shown.inputs(shown.train, 1)[0].view(-1, 6, 6, 3)[:, 0, 0]
    assert (corners.abs() <= 0.51 / shown.scaling.divisor[:3]).all()
    black = make_tasks(data, "rotation", task_count=3, degrees_per_task=45, scaling=scaling, fill="black")
    assert (black.train.images[0, task_rows(black.train, 1)].view(-1, 6, 6, 3)[:, 0, 0] == 0).all()


@pytest.mark.parametrize("split", SPLITS)
def test_standard_scaling_is_per_channel_over_the_training_images(split):
    data = dataset(shape=(5, 7, 3))
    data.train_images[..., 1] //= 3  # channels that differ, so that mixing them up shows
    tasks = make_tasks(data, split, (0, 1), task_count=3, scaling="standard")
    flat = data.train_images.astype(np.float64)
    mean, deviation = flat.mean((0, 1, 2)), flat.std((0, 1, 2))
    shown = tasks.scaling(torch.from_numpy(data.train_images.reshape(90, -1))).numpy().reshape(90, 5, 7, 3)
    np.testing.assert_allclose(shown, (flat - mean) / deviation, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scaling", ["unit", "standard", "symmetric", "customary"])
def test_scaling_never_looks_at_test_images(scaling):
    """Else test data would leak into training."""
    data = dataset()
    before = make_tasks(data, "rotation", task_count=3, scaling=scaling)
    data.test_images[:] = 255
    data.test_labels[:] = 0
    data.test_labels[0] = 9
    after = make_tasks(data, "rotation", task_count=3, scaling=scaling)
    assert torch.equal(before.scaling.offset, after.scaling.offset)
    assert torch.equal(before.scaling.divisor, after.scaling.divisor)
    for task in range(3):
        assert torch.equal(before.inputs(before.train, task), after.inputs(after.train, task))


def test_standard_scaling_of_a_constant_channel_stays_finite():
    data = dataset(shape=(5, 7, 3))
    data.train_images[..., 2] = 40
    tasks = make_tasks(data, "class", scaling="standard")
    assert torch.isfinite(tasks.inputs(tasks.train, 0)).all()


def test_scaling_leaves_the_images_alone():
    """It works in place on a copy; the resident images must stay bytes."""
    tasks = make_tasks(dataset(), "class", scaling="standard")
    before = tasks.train.images.clone()
    tasks.inputs(tasks.train, 0)
    assert tasks.train.images.dtype == torch.uint8
    assert torch.equal(tasks.train.images, before)


# --- tasks: runs, bytes, devices ------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 6])
@pytest.mark.parametrize("validation", ["parts", "whole"])
@pytest.mark.parametrize("split", SPLITS)
def test_a_run_alone_equals_its_row_in_a_stack(split, validation, limit):
    """A run's data depend on its seed only."""
    options = {"task_count": 4, "validation": validation, "train_limit": limit, "test_limit": limit}
    together = make_tasks(dataset(), split, SEEDS, **options)
    for run, seed in enumerate(SEEDS):
        alone = make_tasks(dataset(), split, (seed,), **options)
        for name in ("train", "test"):
            one, many = getattr(alone, name), getattr(together, name)
            assert one.bounds == many.bounds
            for field in ("images", "labels", "origin"):
                ours, theirs = getattr(one, field), getattr(many, field)
                assert torch.equal(ours[0], theirs[run % len(theirs)])


def digest(tasks) -> str:
    sha = hashlib.sha256()
    for samples in (tasks.train, tasks.test):
        for tensor in (samples.images, samples.labels, samples.origin):
            sha.update(tensor.numpy().astype("<i8").tobytes())
        sha.update(repr(samples.bounds).encode())
    sha.update(tasks.scaling.offset.numpy().astype("<f4").tobytes())
    sha.update(tasks.scaling.divisor.numpy().astype("<f4").tobytes())
    return sha.hexdigest()


GOLDEN_NUMBERS = [585, 63, 592, 608, 200]
GOLDEN_TASKS = {
    "permutation": "30d5e14e69985a52db05d7fb876605ef8c69a4a5164c3cae151262ef331abadc",
    "rotation": "3921dbd241b66572c882a94cc2120b68ea0440a1de5aa1c85f1c5d2c630f5e45",
    "class": "34277ed67cb4d9a7273c21a7a9b4f0d0400448ff27090e8a39027c9c789063a7",
}


@pytest.mark.parametrize("split", SPLITS)
def test_golden_bytes(split):
    """The same seeds must give the same bytes on every machine and with every version of numpy and torch."""
    options = {"task_count": 4, "scaling": "standard", "fill": "black", "test_limit": 5}
    tasks = make_tasks(arithmetic_dataset(), split, (0, 5), **options)
    assert digest(tasks) == GOLDEN_TASKS[split]
    assert digest(make_tasks(arithmetic_dataset(), split, (0, 6), **options)) != GOLDEN_TASKS[split]


@pytest.mark.parametrize("split", SPLITS)
def test_to_moves_every_tensor(split):
    """'meta' is a device that every machine has; what is left behind would show as 'cpu'."""
    moved = make_tasks(dataset(), split, task_count=3).to("meta")
    tensors = [
        *(getattr(s, f) for s in (moved.train, moved.test) for f in ("images", "labels", "origin")),
        moved.scaling.offset,
        moved.scaling.divisor,
    ]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert (moved.features, moved.image_shape, moved.count) == (36, (6, 6, 1), 5 if split == "class" else 3)


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "valid"),
    [
        ({"split": "rotations"}, ["permutation", "rotation", "class"]),
        ({"scaling": "minmax"}, ["unit", "standard"]),
        ({"validation": "half"}, ["parts", "whole"]),
        ({"interpolation": "cubic"}, ["bilinear", "nearest"]),
    ],
)
def test_unknown_names_list_the_valid_ones(option, valid):
    arguments = {"split": "rotation", "task_count": 3} | option
    with pytest.raises(TaclError) as caught:
        make_tasks(dataset(), **arguments)
    message = one_sentence(caught)
    assert repr(*option.values()) in message
    assert all(name in message for name in valid)


@pytest.mark.parametrize("seeds", [(), (0, 0), (-1,), (3, -2), (1, 2, 1)])
def test_bad_seeds(seeds):
    with pytest.raises(TaclError, match="seeds") as caught:
        make_tasks(dataset(), "class", seeds)
    one_sentence(caught)


@pytest.mark.parametrize("limit", [0, -3])
@pytest.mark.parametrize("name", ["train_limit", "test_limit"])
@pytest.mark.parametrize("split", SPLITS)
def test_limits_below_one(split, name, limit):
    with pytest.raises(TaclError, match=name) as caught:
        make_tasks(dataset(), split, task_count=3, **{name: limit})
    assert str(limit) in one_sentence(caught)


@pytest.mark.parametrize("split", ["permutation", "rotation"])
@pytest.mark.parametrize("count", [0, -1])
def test_task_count_below_one(split, count):
    with pytest.raises(TaclError, match="task_count") as caught:
        make_tasks(dataset(), split, task_count=count)
    assert str(count) in one_sentence(caught)


@pytest.mark.parametrize("split", ["permutation", "rotation"])
@pytest.mark.parametrize(
    ("train", "test", "validation", "most", "missing"),
    [(40, 30, "parts", 30, "test"), (30, 40, "parts", 30, "train"), (40, 30, "whole", 40, "train")],
)
def test_more_tasks_than_images(split, train, test, validation, most, missing):
    """Every task needs a training and a test image; the largest number that has them still works."""
    data = dataset(train, test, (2, 2, 1))
    with pytest.raises(TaclError, match=f"no {missing} images") as caught:
        make_tasks(data, split, task_count=most + 1, validation=validation)
    one_sentence(caught)
    assert make_tasks(data, split, task_count=most, validation=validation).count == most


def test_class_split_of_an_odd_number_of_labels():
    with pytest.raises(TaclError, match="pairs the labels") as caught:
        make_tasks(dataset(labels=9), "class")
    one_sentence(caught)


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("limit", [None, 5])
def test_an_empty_task_is_named(part, limit):
    data = dataset()
    labels = getattr(data, f"{part}_labels")
    labels[(labels == 4) | (labels == 5)] = 0
    with pytest.raises(TaclError, match="4 / 5") as caught:
        make_tasks(data, "class", train_limit=limit, test_limit=limit)
    assert part in one_sentence(caught)
