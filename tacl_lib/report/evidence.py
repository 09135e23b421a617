"""Which of the paper's results the reference runs reproduce:  tacl evidence [--write]

With --write all figures of the paper go to ``figures/paper``, the pages of evidence to ``results/reference`` and a
short table to the README; without it the first page is printed. Only stored runs are read.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tacl_lib import names, places
from tacl_lib.errors import TaclError
from tacl_lib.files import write_whole
from tacl_lib.paper.calibration import FORMER_TA_AGEM
from tacl_lib.paper.compare import PAPER_RUNS, TOLERANCE, by_method
from tacl_lib.paper.differences import chance_line, differing_table
from tacl_lib.paper.markdown import markdown_table, replaced_block, without_tags
from tacl_lib.paper.open_settings import chosen, chosen_settings
from tacl_lib.paper.paper_runs import FAILS, Evidence
from tacl_lib.paper.readings import PAPER, others, reversed_claims, tried, untouched_line
from tacl_lib.paper.significance import CONFIDENCE
from tacl_lib.report import engine_speed
from tacl_lib.report.figures import alt_of, heat_map, save, scatter
from tacl_lib.report.gallery import Gallery
from tacl_lib.report.rendering import render
from tacl_lib.report.summary import SHOWN, in_words, overview
from tacl_lib.runs.store import REFERENCE, Store

FIGURES = places.FIGURES / "paper"
LARGEST = 8_000_000  #: bytes for all figures together: they are part of the project


def pages(evidence: Evidence) -> dict[str, str]:
    """The pages by file name, as Markdown."""
    words = in_words(evidence) | {"undated": evidence.undated(), "tolerance": TOLERANCE, "paper_runs": PAPER_RUNS}
    shared = words | {
        "untouched": untouched_line(evidence.cells, evidence.store),
        "chance": chance_line(evidence.cells),
    }
    parts = {
        "README": _first(evidence, words),
        "claims": _claims(evidence),
        "numbers": _numbers(evidence),
        "readings": _readings(evidence),
        "provenance": _provenance(evidence),
        "replication": _replication(words),
    }
    return {f"{name}.md": render(f"evidence/{name}.md", **shared | given) for name, given in parts.items()}


def gallery_page(figures: Mapping[str, Figure], titles: Mapping[str, str], waiting: Sequence[str]) -> str:
    """The page of all figures, as Markdown."""
    shown = [(name, titles[name], alt_of(figure)) for name, figure in figures.items()]
    return render("evidence/gallery.md", figures=shown, waiting=[titles[name] for name in waiting])


def figures_of(evidence: Evidence) -> tuple[dict[str, Figure], dict[str, str], list[str]]:
    """All figures with runs, the titles of all figures, and the names of those without runs."""
    gallery = Gallery(PAPER, evidence.store)
    titles = {"overview": "The finding", "agreement": "Ours minus the paper's", "scatter": "Ours against the paper's"}
    first = {"overview": overview(evidence), "agreement": heat_map(evidence.cells), "scatter": scatter(evidence.cells)}
    drawn = {name: gallery.draw(name) for name in gallery.drawn}
    figures = {name: figure for name, figure in first.items() if figure} | drawn
    return figures, titles | {name: gallery.title(name) for name in gallery.names}, gallery.waiting


def short(evidence: Evidence) -> str:
    """The README's block."""
    return f"{evidence.line()} {untouched_line(evidence.cells, evidence.store)}\n\n{evidence.column(SHOWN)}"


def write(evidence: Evidence, folder: Path, figures: Path, readme: Path) -> list[Path]:
    """Write pages, figures and the README's block. All texts are rendered before the first is written."""
    texts = {folder / name: text for name, text in pages(evidence).items()}
    if readme.exists():  # an installed kit has none
        texts[readme] = replaced_block(readme.read_text(encoding="utf-8"), "evidence", short(evidence))
    drawn, titles, waiting = figures_of(evidence)
    texts[figures / "README.md"] = gallery_page(drawn, titles, waiting)
    files = [path for name, figure in drawn.items() for path in save(figure, figures, name, small=True)]
    for path, text in texts.items():
        write_whole(path, lambda part, text=text: part.write_text(text, encoding="utf-8"))
    size = sum(path.stat().st_size for path in files)
    if size > LARGEST:
        raise TaclError(f"the figures in {figures.name} take {size:,} bytes, more than {LARGEST:,}; draw them smaller.")
    return [*files, *texts]


def _first(evidence: Evidence, words: dict) -> dict:
    rows = [(found.claim, found.verdict, numbers) for found, numbers in words["ten"]]
    return {
        "ten": markdown_table(["the paper says", "our runs", "in numbers"], rows),
        "heat": "Heat map of ours minus the paper's in every cell",
        "points": "Scatter of ours against the paper's, coloured by method",
    }


def _claims(evidence: Evidence) -> dict:
    claims = evidence.claims()
    return {
        "claims": markdown_table(list(claims), claims.to_numpy().tolist()),
        "fails": FAILS,
        "reversed_claims": reversed_claims(evidence.complete(), evidence.memories(), evidence.store),
    }


def _numbers(evidence: Evidence) -> dict:
    agreeing = by_method(evidence.cells)
    agreeing["method"] = [names.title("method", method) for method in agreeing["method"]]
    notes = _notes(evidence)
    columns = [
        (
            f"{names.title('dataset', dataset)}, {split} split, {experiment}",
            evidence.column((experiment, dataset, split), more=True),
            notes.get(dataset, ""),
        )
        for experiment, dataset, split in evidence.columns()
    ]
    # The study with its first settings, if stored, shows whether it depends on the other open settings.
    former = any(evidence.study(FORMER_TA_AGEM).values())
    return {
        "line": evidence.line(),
        "by_method": markdown_table([name.replace("_", " ") for name in agreeing], agreeing.to_numpy().tolist()),
        "columns": columns,
        "study": evidence.study_table(),
        "former": evidence.study_table(FORMER_TA_AGEM) if former else "",
        "former_title": FORMER_TA_AGEM.title,
        "confidence": f"{CONFIDENCE:.0%}",
        "differing": differing_table(evidence.cells, evidence.store),
    }


def _readings(evidence: Evidence) -> dict:
    return {
        "chosen": chosen_settings(PAPER),
        "tried": "\n\n".join(tried(evidence.store)),
        "others": others(evidence.store),
    }


def _provenance(evidence: Evidence) -> dict:
    made: Counter[tuple] = Counter()
    days: dict[tuple, set[str]] = {}
    for _, _, info in evidence.store.descriptions():
        facts = info.get("versions", {}) | info
        key = tuple(facts.get(name) or "–" for name in ("machine", "device", "torch", "numpy", "commit"))
        made[key] += 1
        days.setdefault(key, set()).add(info.get("finished", "no date")[:10])
    heads = ["machine", "device", "torch", "numpy", "commit", "runs", "made"]
    rows = [[*key, count, ", ".join(sorted(days[key]))] for key, count in sorted(made.items())]
    speed = engine_speed.stored()
    notes = _notes(evidence)
    return {
        "runs": sum(made.values()),
        "machines": markdown_table(heads, rows),
        "notes": [(names.title("dataset", dataset), note) for dataset, note in notes.items()],
        "speed": engine_speed.table(speed) if speed else "",
        "speed_caption": engine_speed.caption(speed) if speed else "",
    }


def _notes(evidence: Evidence) -> dict[str, str]:
    """What runs note about data other than the published set."""
    return {dataset: without_tags(note) for dataset, note in evidence.store.notes(evidence.jobs).items()}


def _replication(words: dict) -> dict:
    """The ten claims by verdict, and the open settings by the origin of their values."""
    told = {"held": [], "failed": [], "waiting": []}
    for found, numbers in words["ten"]:
        whole = found.tested and found.held == len(found.tested)
        kind = "held" if whole else "failed" if found.tested else "waiting"
        told[kind].append(f"{found.claim}: {numbers}." if found.tested else f"{found.claim}.")
    settings = [(str(name), str(value), source) for name, value, source in chosen(PAPER)]
    return told | {
        "fitted": [f"{name} ({value})" for name, value, source in settings if source.startswith("fitted")],
        "assumed": [f"{name} ({value})" for name, value, source in settings if source.startswith("assumed")],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl evidence", description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write figures, pages and the README's table")
    options = parser.parse_args(arguments)
    evidence = Evidence(Store(REFERENCE))
    if options.write:
        readme = places.HOME / "README.md" if places.HOME == places.PROJECT else places.BUILD / "no-readme.md"
        for path in write(evidence, places.RESULTS / "reference", FIGURES, readme):
            print(path.relative_to(places.HOME))
    else:
        print(pages(evidence)["README.md"])
