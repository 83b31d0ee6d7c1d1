"""`bayeseval demo`: files to try the commands on."""


def test_demo_files_are_a_collection_that_the_commands_read(command, tmp_path):
    folder = tmp_path / "files"
    code, out, err = command("demo", "--output", folder)
    assert (code, out) == (0, "") and "6 runs in runs/ and 2 in new/" in err
    code, out, err = command(
        "evaluate", folder / "complete.qrels", folder / "runs/*", folder / "new/*", "-m", "P@10",
        "--estimator", "assumed", "--format", "csv",
    )  # fmt: skip
    assert code == 0 and "unjudged" not in err and len(out.splitlines()) == 9
    assert command("demo", "--output", folder)[0] == 2
