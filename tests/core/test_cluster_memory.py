"""The cluster memory by itself: Algorithm 3 in anybody's loop."""

import io

import numpy as np
import pytest
import torch

from tacl_lib import ClusterMemory
from tacl_lib.core.memory import POLICIES
from tacl_lib.errors import TaclError
from tacl_lib.plain import memory as oracle


def stream(count=60, shape=(1, 3, 2), classes=3):
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.integers(-5, 6, (count, *shape)) * 12).float()  # means of members are exact
    return x, torch.from_numpy(rng.integers(0, classes, count))


def test_it_holds_what_algorithm_3_holds():
    x, y = stream()
    memory, expected = ClusterMemory(clusters=4, size=3, classes=3), oracle.PooledClusterMemory(3, 4, 3)
    for number in range(len(x)):
        assert memory.add(x[number], y[number], number=torch.tensor(float(number)))
        expected.add(x[number].flatten().numpy(), int(y[number]), number)
    found = sorted(sorted(int(member["number"]) for member in cluster) for cluster in memory.contents())
    assert found == sorted(sorted(tags) for pool in expected.contents() for tags in pool)
    assert len(memory) == sum(map(len, found))


def test_fields_and_shapes_come_back_as_they_were():
    x, y = stream()
    memory = ClusterMemory(clusters=5, size=2, policy="fifo")
    for number in range(30):
        memory.add(x[number], y[number], logits=torch.arange(4.0).view(2, 2) + number, number=torch.tensor([number]))
    old = memory.sample(7)
    assert {name: tuple(tensor.shape) for name, tensor in old.items()} == {
        "x": (7, 1, 3, 2),
        "y": (7,),
        "logits": (7, 2, 2),
        "number": (7, 1),
    }
    numbers = old["number"][:, 0].long()
    assert len(set(numbers.tolist())) == 7
    assert torch.equal(old["x"], x[numbers])
    assert torch.equal(old["y"], y[numbers])
    assert torch.equal(old["logits"][:, 0, 0], numbers.float())
    assert len(memory.sample(100)["y"]) == 10  # all that there are
    assert min(memory.sample(100)["number"]) == 20  # the newest ten


def test_a_reservoir_turns_samples_away():
    x, y = stream()
    memory = ClusterMemory(clusters=2, size=2, policy="reservoir")
    kept = [memory.add(*sample) for sample in zip(x, y, strict=True)]
    assert all(kept[:4])
    assert 0 < sum(kept[4:]) < len(kept) - 4
    assert len(memory) == 4


def test_it_can_cluster_by_a_field():
    x, y = stream()
    memory, expected = ClusterMemory(clusters=4, size=3, space="seen"), oracle.PooledClusterMemory(1, 4, 3)
    by_x = ClusterMemory(clusters=4, size=3)
    for number in range(len(x)):
        seen = x[(7 * number) % len(x)][0, :2, 0]  # two numbers that have nothing to do with this x
        memory.add(x[number], y[number], number=torch.tensor(float(number)), seen=seen)
        by_x.add(x[number], y[number], number=torch.tensor(float(number)))
        expected.add(seen.numpy(), 0, number)

    def tags(memory):
        return sorted(sorted(int(member["number"]) for member in cluster) for cluster in memory.contents())

    assert tags(memory) == sorted(sorted(tags) for pool in expected.contents() for tags in pool)
    assert tags(memory) != tags(by_x)
    empty = ClusterMemory(space="seen")
    with pytest.raises(TaclError, match=r"clusters by 'seen': add\(x, y, seen=\.\.\.\) must give it"):
        empty.add(x[0], y[0])
    assert len(empty) == 0
    empty.add(x[0], y[0], seen=x[0])  # nothing of the refused sample was kept


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_it_goes_on_from_a_file(policy):
    x, y = stream()

    def made():
        return ClusterMemory(clusters=3, size=2, classes=3, policy=policy)

    one, other = made(), made()
    for sample in zip(x[:30], y[:30], strict=True):
        one.add(*sample)
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    for sample in zip(x[30:], y[30:], strict=True):
        assert one.add(*sample) == other.add(*sample)
    left, right = one.sample(5), other.sample(5)
    assert torch.equal(left["x"], right["x"])
    assert torch.equal(left["y"], right["y"])


def test_wrong_use_is_told_in_a_sentence_and_changes_nothing():
    x, y = stream()
    memory = ClusterMemory(clusters=2, classes=3)
    with pytest.raises(TaclError, match=r"a memory that is not empty\."):
        memory.sample(3)
    memory.add(x[0], y[0])
    bad = [
        (lambda: memory.add(x[0, 0], y[0]), r"have the shapes .*\[1, 3, 2\].*, not .*\[3, 2\]"),
        (lambda: memory.add(x[0], y[0], logits=torch.zeros(2)), "have the shapes"),
        (lambda: memory.add(x[0], 3), r"label must be 0 to 2, not 3\."),
        (lambda: memory.add(x[0], y[:2]), "add samples one at a time"),
        (lambda: memory.add(x[0], 0.5), "one whole number"),
        (lambda: memory.add(x[0] * float("nan"), 0), "finite"),
        (lambda: memory.sample(0), "a whole number from 1 on"),
        (lambda: memory.load_state_dict(ClusterMemory(clusters=9).state_dict()), r"geometry \[1, 9, 3\], not \[3"),
        (lambda: ClusterMemory(policy="lifo"), "unknown memory policy 'lifo'"),
        (lambda: ClusterMemory(clusters=0), "clusters must be at least 1"),
    ]
    for call, words in bad:
        with pytest.raises(TaclError, match=words):
            call()
    assert len(memory) == 1
