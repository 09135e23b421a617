"""The bench: its plain contenders do the same work as the learners, and its report says what was measured."""

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from bench import measure, operations, peak, report, rows, stored, versions
from bench.__main__ import main
from bench.contenders import PlainBgd, PlainSgd, RunByRun, perceptron, set_parameters

from tacl_lib.core.learners import make_learner
from tacl_lib.engine.mlp import Mlp
from tacl_lib.engine.noisy_weights import NoisyWeights
from tacl_lib.errors import TaclError
from tacl_lib.report import engine_speed

ROOT = Path(__file__).resolve().parents[2]
SIZES = (12, 8, 7, 10)
START, END = "<!-- bench -->", "<!-- /bench -->"  # as they stand in the README


@pytest.fixture
def bench():
    """Numbers made by hand."""
    cells = {
        "1": measure.compared([0.001] * 3, [0.0031] * 3),
        "2": measure.compared([0.002] * 3, [0.003, 0.004, 0.005]),
    }
    share = {c: {"ratio": {"median": 12.0, "low": 12.0, "high": 12.0}, "ours": 0.12, "theirs": 1.0} for c in ("1", "2")}
    memory = {"any": {"ratio": measure.spread([125.0]), "ours": 1.9, "theirs": 237.0}}
    points = [
        {"stored": 100, "ogd": measure.spread([1.0, 1.2]), "dense": measure.spread([20.0])},
        {"stored": 3000, "ogd": measure.spread([30.0])},
    ]
    return {
        "circumstances": measure.circumstances() | {"cpu": "A processor", "load_before": 3.0},
        "runs": 5,
        "batch": 10,
        "rounds": 3,
        "seconds": 0.1,
        "threads": [1, 2],
        "whole": True,
        "rows": [
            rows.row("sgd", "SGD", "plain PyTorch", rows.FASTER, 2.5, cells),
            rows.row("stream", "a batch", "SGD step", "ms", 10.0, share, at_most=True, ratio_unit=" %", note="A note."),
            rows.row("memory", "stored gradients", "dense", "MB", 100.0, memory, fewer=True),
        ],
        "stored": {"points": points, "exponent": {"ogd": 0.98}, "runs": 5, "threads": 1, "unit": "ms per run-step"},
        "notes": ["agem was left out: no web."],
    }


def one_run(network):
    return [weight[0] for weight in network.weights], [bias[0] for bias in network.biases]


def parameters(model):
    """As `Mlp.vector`: weights ``[in, out]`` of every layer, then biases."""
    found = list(model.parameters())
    return torch.cat([weight.T.flatten() for weight in found[::2]] + [bias.flatten() for bias in found[1::2]]).detach()


def batches(count=4):
    return rows.made_batches(runs=1, batch=6, count=count, features=SIZES[0])


def test_the_plain_sgd_makes_the_steps_of_the_learner():
    network, plain = Mlp((3,), SIZES), PlainSgd(SIZES, rate=0.1)
    set_parameters(plain.model, *one_run(network))
    learner = make_learner("sgd", network, rate=0.1)
    for x, y in batches():
        learner.step(x, y)
        plain.step(x[0], y[0])
    torch.testing.assert_close(parameters(plain.model), network.vector(0))


def test_the_plain_bgd_makes_the_steps_of_the_learner():
    network, plain = Mlp((3,), SIZES), PlainBgd(SIZES, passes=2)
    set_parameters(plain.model, *one_run(network))
    plain.means = [parameter.detach().clone() for parameter in plain.parameters]
    learner = make_learner("bgd", network, passes=2)
    learner.noise = NoisyWeights(network.seeds)
    learner.noise.normal = lambda run, tensor: tensor.fill_(0.5)
    for x, y in batches():
        learner.step(x, y)
        plain.step(x[0], y[0], noise=lambda mean: torch.full_like(mean, 0.5))
    for layer, weight in enumerate(one_run(network)[0]):
        torch.testing.assert_close(plain.means[2 * layer].T, weight)
    torch.testing.assert_close(plain.stds[0].T, network.views(learner.std)[0][0])


@pytest.mark.parametrize("replace", [False, True])
def test_the_dense_projection_makes_the_steps_of_the_pool(replace):
    network = Mlp((3,), SIZES)
    learner = make_learner("ogd", network, rate=0.1, adapt_rate=False)
    learner.end_task(*rows.made_batches(runs=1, batch=5, count=1, features=SIZES[0])[0])
    plain = rows.dense_twin(learner, rate=0.1, replace=replace)
    for number, (x, y) in enumerate(batches()):
        learner.step(x, y)
        plain.step(x[0], y[0])
        if replace:
            learner.stored.put(torch.tensor([number]), learner.stored.candidate(x[:, :1], y[:, :1]))
    torch.testing.assert_close(parameters(plain.model), learner.network.vector(0), rtol=1e-4, atol=1e-5)


def test_runs_one_by_one_are_the_stacked_ones():
    from tacl_lib.engine.module_network import ModuleNetwork

    stacked = ModuleNetwork((3, 4), lambda: perceptron(SIZES), (), SIZES[-1], features=SIZES[0])
    learner, alone = make_learner("sgd", stacked, rate=0.1), RunByRun(lambda: perceptron(SIZES), 2, rate=0.1)
    for run, model in enumerate(alone.models):
        model.load_state_dict(stacked.parameters(run))
    for x, y in rows.made_batches(runs=2, batch=5, count=8, features=SIZES[0]):
        learner.step(x, y)
        alone.step(x, y)
    for run, model in enumerate(alone.models):
        found = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
        torch.testing.assert_close(found, stacked.vector(run), rtol=1e-4, atol=1e-5)


def test_the_table_shows_ratios_first_and_says_whether_they_meet_the_bar(bench):
    lines = report.table(bench).splitlines()
    assert lines[2] == (
        "| SGD | plain PyTorch | **3.10×** meets | **2.00×** (1.75–2.25) below | at least 2.5× "
        "| 1,000 / 323 run-steps/s | 500 / 250 run-steps/s |"
    )
    assert "| **12.0 %** above | **12.0 %** above | at most 10 % | 0.120 / 1.00 ms |" in lines[3]
    assert "| **125× less** meets |" in lines[4]
    text = "\n".join(lines)
    for part in ("| 100 | **18.2×** | 1.10 | 20.0 |", "| 3000 | – | 30.0 | too large |", "n^0.98", "- A note.",
                 "no web", "not quiet"):  # fmt: skip
        assert part in text


def test_a_bar_may_hold_for_one_number_of_threads_only(bench):
    bench["rows"][0]["judged"] = ["1"]
    assert "**2.00×** (1.75–2.25) |" in report.table(bench)


def test_the_readme_gets_the_block_between_its_markers_and_nowhere_else(bench, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    for _ in range(2):  # the second time changes nothing
        report.write_readme(readme, bench)
        block = report.readme_block(bench)
        assert readme.read_text() == f"before\n{START}\n{block}\n{END}\nafter\n"
    assert "| SGD | plain PyTorch | 3.10× | 2.00× | at least 2.5× |" in block
    assert block.endswith("Not met here: SGD with 2 threads; a batch with 1 and 2 threads.")
    for row in bench["rows"]:
        row["bar"] = None
    assert "Not met" not in report.readme_block(bench)


def test_a_missed_bar_says_what_both_sides_reach_of_the_peak(bench):
    """1,000 steps of 0.1 billion operations are 100 of 250 billion, theirs 32.3; 2.5 times that are 80.75 (32 %)."""
    bench["rows"][0] |= {"gflop": 0.1, "peak": 250.0, "bar": 4.0}
    text = report.readme_block(bench)
    assert "250 billion operations a second with one thread" in text
    assert "SGD: 40% here, 13% there, and 52% for the bar." in text
    bench["rows"][0]["bar"] = 3.0
    assert "billion" not in report.readme_block(bench)


def test_the_products_of_a_pass_are_counted():
    """One sample, 3-2-1: forward 8 multiplications, gradient 8, back through the second layer 2, each with a sum."""
    assert rows.products((3, 2, 1), 1) == 2 * (8 + 8 + 2)


def test_the_peak_is_more_than_a_product_of_matrices_reaches():
    most, made = peak.gflops(seconds=0.05), torch.rand(256, 256)
    if most is None:
        pytest.skip("no C compiler")
    best = math.inf
    with measure.threads(1):
        for _ in range(20):
            start = time.thread_time()
            made @ made
            best = min(best, time.thread_time() - start)
    assert 1 < 2 * 256**3 / best / 1e9 < 1.2 * most


def test_a_readme_without_markers_is_left_alone(bench, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"{END} the wrong way round {START}\n")
    with pytest.raises(TaclError, match="has no markers <!-- bench -->"):
        report.write_readme(readme, bench)
    assert "wrong way" in readme.read_text()


def test_numbers_of_a_part_do_not_get_into_a_readme(bench, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"{START}\nold\n{END}\n")
    report.write(tmp_path / "bench.json", bench | {"whole": False})
    with pytest.raises(SystemExit, match="measure all of it"):
        main(["--write-readme", "--readme", str(readme), "--out", str(tmp_path)])
    assert "old" in readme.read_text()


def test_the_readme_holds_what_was_measured():
    numbers, text = ROOT / "figures" / "bench.json", (ROOT / "README.md").read_text(encoding="utf-8")
    assert START in text
    held = text.partition(START)[2].partition(END)[0].strip()
    assert held == report.readme_block(report.read(numbers))


def test_a_quick_part_of_the_bench_runs_and_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(measure, "QUICK", measure.Effort(rounds=2, seconds=0.001, stored=(10, 20), fill=5))
    before = torch.get_num_threads()
    main(["--quick", "--only", "sgd", "stored", "--out", str(tmp_path)])
    assert torch.get_num_threads() == before
    shown, bench = capsys.readouterr().out, json.loads((tmp_path / "bench.json").read_text())
    assert [row["name"] for row in bench["rows"]] == ["sgd"]
    assert all(len(cell["raw_seconds"]["ours"]) == 2 for cell in bench["rows"][0]["cells"].values())
    assert shown.strip() == report.table(bench)
    main(["--show", "--out", str(tmp_path)])
    assert capsys.readouterr().out == shown
    assert {path.name for path in tmp_path.iterdir()} == {
        "bench.json",
        "bench_stored_gradients.png",
        "bench_stored_gradients.svg",
    }


def test_the_plot_of_the_same_numbers_is_the_same_file(bench, tmp_path):
    for part in ("a", "b"):
        stored.draw(bench["stored"], tmp_path / part)
    for kind in ("png", "svg"):
        first, second = ((tmp_path / part / f"bench_stored_gradients.{kind}").read_bytes() for part in ("a", "b"))
        assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--only", "sdg"], "unknown part of the bench 'sdg'"), (["--show"], "does not exist yet")],
)
def test_errors_are_one_sentence(arguments, message, tmp_path):
    with pytest.raises(SystemExit, match=message) as stopped:
        main([*arguments, "--out", str(tmp_path)])
    assert str(stopped.value).count("\n") == 0


def test_what_cannot_be_measured_is_said_and_left_out(monkeypatch):
    def fails(effort):
        raise TaclError("no web.")

    monkeypatch.setitem(rows.BENCHES, "agem", fails)
    notes = []
    assert rows.rows_of("agem", measure.QUICK, notes) == []
    assert notes == ["agem was left out: no web."]


def test_operations_of_a_step_are_counted_without_a_gpu():
    """Hidden layers cost operations, wider ones do not; BGD makes all its passes together."""
    found, wider = (operations.measured((features, 20, 20, 10), 5, 10) for features in (48, 96))
    assert found == wider
    assert operations.operations("sgd", (48, 20, 10), 5, 10) < found["sgd"] < found["agem"]
    assert found["bgd"] <= 160


def test_the_exponent_of_a_power_law_is_found():
    sizes = np.array([100, 300, 1000, 3000])
    assert measure.fitted_exponent(sizes, 0.01 * sizes**1.4) == pytest.approx(1.4)


def test_a_race_gives_seconds_of_one_run_and_turns_round():
    calls = []

    def contender(name, seconds, runs):
        return measure.Contender(name, lambda count: calls.append(name) or seconds * count, runs)

    effort = measure.Effort(rounds=2, seconds=1.0, stored=(), fill=0)
    times = measure.race([contender("a", 0.1, 5), contender("b", 0.5, 1)], effort)
    assert times == {"a": pytest.approx([0.02] * 2), "b": pytest.approx([0.5] * 2)}
    assert calls[-4:] == ["a", "b", "b", "a"]


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="earlier versions come from git")
def test_versions_of_the_engine_take_turns():
    effort = measure.Effort(rounds=2, seconds=0.01, stored=(), fill=0)
    found = versions.compared("HEAD", effort, ("sgd", "agem"))
    assert list(found["widths"]) == ["784", "3072"]
    assert all(list(of["rows"]) == ["sgd", "agem"] for of in found["widths"].values())
    for row in (row for of in found["widths"].values() for row in of["rows"].values()):
        times = row["raw_seconds"]
        assert len(times["ours"]) == len(times["theirs"]) == 2
        assert min(*times["ours"], *times["theirs"]) > 0
        assert row["ours"] == pytest.approx(1 / np.median(times["ours"]))
    assert found["now"].startswith(found["before"])
    assert found["now"] in engine_speed.caption(found)
    before, coloured = (found["widths"][width]["rows"]["agem"]["theirs"] for width in ("784", "3072"))
    (line,) = (line for line in engine_speed.table(found).splitlines() if line.startswith("| `agem` |"))
    cells = line.split(" | ")
    assert (cells[1], cells[4], len(cells)) == (f"{before:,.0f}", f"{coloured:,.0f}", 7)
    with pytest.raises(TaclError, match="git archive failed"):
        versions.compared("no-such-commit", effort, ("sgd",))
