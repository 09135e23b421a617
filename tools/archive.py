"""A release as one file that says what is in it:  make archive

All that git knows at the present commit, with an RO-Crate (ro-crate-metadata.json: title, licence, authors, and of each
file its size and SHA-256) and the same checksums for sha256sum (``sha256sum -c SHA256SUMS``). The same commit gives the
same file.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = {
    ".parquet": "application/vnd.apache.parquet",
    ".ipynb": "application/x-ipynb+json",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".csv": "text/csv",
}


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout


def tracked() -> dict[str, bytes]:
    """The files of the present commit, by their paths."""
    lines = _git("ls-tree", "-r", "-z", "HEAD").decode().split("\0")
    files = dict(line.split("\t", 1)[::-1] for line in lines if line)  # path → mode, kind, digest
    wanted = "".join(f"{about.split()[2]}\n" for about in files.values()).encode()
    stream = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=ROOT, check=True, capture_output=True, input=wanted
    ).stdout
    found, at = {}, 0
    for path in files:
        end = stream.index(b"\n", at)
        size = int(stream[at:end].split()[2])
        found[path] = stream[end + 1 : end + 1 + size]
        at = end + size + 2
    return found


def crate(files: dict[str, bytes], about: dict, commit: str, date: str) -> dict:
    """The description of the archive, as RO-Crate 1.1 wants it."""
    described = [
        {
            "@id": path,
            "@type": "File",
            "name": Path(path).name,
            "contentSize": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(),
            "encodingFormat": KINDS.get(Path(path).suffix, "text/plain"),
        }
        for path, content in files.items()
    ]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"TACL {about['version']}",
        "description": about["description"],
        "version": about["version"],
        "datePublished": date,
        "license": {"@id": "LICENSE"},
        "author": {"@id": "#authors"},
        "identifier": commit,
        "citation": {"@id": about["urls"]["Paper"]},
        "hasPart": [{"@id": path} for path in files],
    }
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [
            {
                "@id": "ro-crate-metadata.json",
                "@type": "CreativeWork",
                "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
                "about": {"@id": "./"},
            },
            root,
            {"@id": "#authors", "@type": "Organization", "name": about["authors"][0]["name"]},
            {
                "@id": about["urls"]["Paper"],
                "@type": "ScholarlyArticle",
                "name": "Clustering-based Domain-Incremental Learning",
            },
            *described,
        ],
    }


def write(folder: Path) -> Path:
    """The archive of the present commit."""
    files = tracked()
    about = tomllib.loads(files["pyproject.toml"].decode())["project"]
    commit, date = _git("log", "-1", "--format=%H %cs").decode().split()
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in files.items())
    more = {
        "ro-crate-metadata.json": json.dumps(crate(files, about, commit, date), indent=1).encode(),
        "SHA256SUMS": sums.encode(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"tacl-{about['version']}-{commit[:12]}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (more | files).items():
            entry = zipfile.ZipInfo(name, (*map(int, date.split("-")), 0, 0, 0))  # no time of day: always the same file
            entry.compress_type = zipfile.ZIP_DEFLATED
            executable = content.startswith(b"#!")
            entry.external_attr = (0o755 if executable else 0o644) << 16
            archive.writestr(entry, content)
    return path


if __name__ == "__main__":
    try:
        made = write(ROOT / "build")
    except (subprocess.CalledProcessError, FileNotFoundError):
        sys.exit("archive: this folder is no git checkout, so that nobody knows which files belong to a release.")
    print(f"{made.relative_to(ROOT)}  {hashlib.sha256(made.read_bytes()).hexdigest()}")
