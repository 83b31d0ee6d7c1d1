"""What is written replaces files only: links stay, pipes and devices are written through."""

import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.whole_file import check_writable, whole_file, whole_folder

RUN = pd.DataFrame({"run": "r", "topic": "1", "document": ["a", "b"], "score": [1.0, 2.0]})
QRELS = pd.DataFrame({"topic": "1", "document": ["a", "b"], "grade": [1, 0]})


def writers():
    """Every function that writes a file, by name."""
    collection = be.read_collection(QRELS, RUN)
    design = be.designs.depth_pool(collection, 2)
    draws = xr.Dataset({"reliability": (("chain", "draw"), np.zeros((2, 5)))})
    fitted = xr.DataTree.from_dict({"posterior": draws})
    strata = be.read_collection(QRELS.assign(stratum=1), qrels_format="sampleval")
    listed = be.read_collection(QRELS.assign(probability=0.5), qrels_format="probs")
    return {
        "save_collection": lambda path: be.save_collection(collection, path),
        "save_design": lambda path: be.save_design(design, path),
        "save_fit": lambda path: be.save_fit(fitted, path),
        "write_run": lambda path: be.trec.write_run(collection, "r", path),
        "write_qrels": lambda path: be.trec.write_qrels(collection, path),
        "write_sampleval": lambda path: be.trec.write_sampleval(strata, path),
        "write_prels": lambda path: be.trec.write_prels(listed, path),
        "write_probs": lambda path: be.trec.write_probs(listed, path),
    }


WRITERS = writers()


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_stays_and_its_target_is_replaced(tmp_path, name):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to("there/target")
    WRITERS[name](link)
    assert os.readlink(link) == "there/target"
    assert target.read_bytes() != b"before" and target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link", "target", "there"]


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_is_written_through(tmp_path, name):
    pipe, plain = tmp_path / "pipe", tmp_path / "plain"
    os.mkfifo(pipe)
    WRITERS[name](plain)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    WRITERS[name](pipe)
    reader.join(10)
    assert pipe.is_fifo()
    assert len(read[0]) == plain.stat().st_size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "plain"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has /dev/full")
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_device_stays_one_and_is_named(tmp_path, name):
    full = tmp_path / "full"
    full.symlink_to("/dev/full")  # a fault would replace the link only
    with pytest.raises(OSError, match="No space left on device: '.*full'"):
        WRITERS[name](full)
    assert full.is_symlink() and full.exists() and not full.is_file()


def test_a_link_to_nothing_makes_what_it_points_to(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("target")
    WRITERS["write_run"](link)
    assert link.is_symlink() and (tmp_path / "target").read_text().startswith("1 Q0 b")
    link.unlink()
    link.symlink_to("nowhere/target")
    with pytest.raises(ValueError, match="folder .*nowhere does not exist"):
        WRITERS["write_run"](link)


def test_a_collection_of_many_files_is_replaced_behind_its_link(tmp_path):
    pytest.importorskip("zarr")
    there, link = tmp_path / "there.zarr", tmp_path / "link.zarr"
    link.symlink_to(there)
    for _ in range(2):
        WRITERS["save_collection"](link)
        assert link.is_symlink() and be.open_collection(there)["topic"].size == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.zarr", "there.zarr"]


def test_what_was_there_stays_when_writing_is_interrupted(tmp_path, monkeypatch):
    path, folder = tmp_path / "file", tmp_path / "folder"
    path.write_text("before")
    folder.mkdir()
    (folder / "part").write_text("before")
    with pytest.raises(KeyboardInterrupt), whole_file(path) as part:
        part.write_text("half")
        raise KeyboardInterrupt

    def interrupted(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_folder(folder) as part:
        part.mkdir()
    assert path.read_text() == (folder / "part").read_text() == "before"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "folder"]


def test_the_open_file_behind_a_descriptor_is_appended_to(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        log.write(b"before\n")
        log.flush()
        WRITERS["write_qrels"](f"/dev/fd/{log.fileno()}")
        log.write(b"after\n")
    assert (tmp_path / "log").read_text() == "before\n1 0 a 1\n1 0 b 0\nafter\n"


def test_a_read_only_folder_is_refused_before_the_work(tmp_path, monkeypatch):
    writable = os.access
    monkeypatch.setattr(  # root may write anywhere
        os, "access", lambda path, mode: Path(path) != tmp_path and writable(path, mode)
    )
    for path in (tmp_path / "scores.csv", tmp_path / "there"):
        (tmp_path / "there").touch()
        with pytest.raises(PermissionError, match=f"Permission denied: '{path}'"):
            check_writable(path)
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe")  # is written through
