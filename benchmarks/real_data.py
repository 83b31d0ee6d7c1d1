"""Where the real collections are, unpacked once: for benchmarks and tests."""

import os
import tarfile
import tempfile
from pathlib import Path

import xarray as xr

import bayeseval as be

REAL_DATA = "BAYESEVAL_REAL_DATA"


def trec_covid() -> Path:
    """Folder of the TREC-COVID data, for scripts: they end with one sentence where it is not."""
    folder = Path(os.environ.get(REAL_DATA, "")) / "trec-covid"
    if not os.environ.get(REAL_DATA) or not folder.is_dir():
        raise SystemExit(
            f"set the environment variable {REAL_DATA} to the folder with trec-covid/ (its qrels "
            "and the archives of its runs)"
        )
    return folder


def round5(saved: str | None = None) -> xr.DataTree:
    """TREC-COVID round 5, 126 runs, with the complete judgments; or as it was saved in a file."""
    if saved:
        return be.open_collection(saved)
    folder = trec_covid()
    runs = unpacked(folder / "round5-runs.tar.xz")
    return be.read_collection(folder / "qrels.covid-complete.txt.gz", f"{runs}/*")


def clef_tar() -> Path:
    """Folder of the CLEF eHealth TAR 2017 data, as :func:`trec_covid`."""
    folder = trec_covid().parent / "clef-tar-2017"
    if not folder.is_dir():
        raise SystemExit(f"{folder} is not there (qrels.txt.xz and runs.tar.xz)")
    return folder


def unpacked(archive: Path) -> Path:
    """Folder ``runs`` of an archive, unpacked once and kept among the system's temporary files."""
    size = archive.stat().st_size
    folder = Path(tempfile.gettempdir()) / f"bayeseval-{archive.name.split('.')[0]}-{size}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as part:
            with tarfile.open(archive) as tar:
                tar.extractall(part, filter="data")
            try:
                os.rename(part, folder)
            except OSError:  # another process was quicker
                assert folder.exists()
            else:
                os.mkdir(part)
    return folder / "runs"
