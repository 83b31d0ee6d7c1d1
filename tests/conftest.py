import os
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

REAL_DATA = "BAYESEVAL_REAL_DATA"

# The same examples on every run: a failure is the change's, not the day's.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real collections; the test is skipped where there is none."""
    folder = os.environ.get(REAL_DATA)
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"{REAL_DATA} names no folder of real collections")
    return Path(folder)


@pytest.fixture(scope="session")
def round5_runs(real_data) -> Path:
    """Folder of the 126 TREC-COVID round-5 runs, unpacked."""
    return unpacked(real_data / "trec-covid" / "round5-runs.tar.xz")


@pytest.fixture(scope="session")
def round1_runs(real_data) -> Path:
    """Folder of the 143 TREC-COVID round-1 runs, unpacked."""
    return unpacked(real_data / "trec-covid" / "round1-runs.tar.xz")


def trec_covid() -> Path:
    """Folder of the TREC-COVID data, for scripts: they end with one sentence where it is not."""
    folder = Path(os.environ.get(REAL_DATA, "")) / "trec-covid"
    if not os.environ.get(REAL_DATA) or not folder.is_dir():
        raise SystemExit(
            f"set the environment variable {REAL_DATA} to the folder with trec-covid/ (its qrels "
            "and the archives of its runs)"
        )
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
