import io
import sys

from bayeseval import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_on_a_terminal_only_and_items_pass_through(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    terminal, file = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(progress.track([1, 2, 3], "reading runs")) == [1, 2, 3]
    assert "reading runs" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", file)
    assert list(progress.track(iter([1, 2]), "reading runs")) == [1, 2]
    assert file.getvalue() == ""


def test_quick_work_shows_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(progress.track([1, 2, 3], "reading runs")) == [1, 2, 3]
    assert terminal.getvalue() == ""


def test_a_notebook_shows_a_bar_that_is_gone_when_the_work_is_done():
    import nbformat
    from nbclient import NotebookClient

    cells = (
        "from bayeseval import progress\nprogress.PATIENCE = -1.0",
        "work = progress.track([1, 2, 3], 'reading runs'); next(work);",
        "progress.PAUSE = 0.0; list(progress.track(iter([1, 2, 3]), 'reading runs'));",
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    begun, done = (cell["outputs"][0]["data"]["text/html"] for cell in notebook["cells"][1:])
    assert begun == 'reading runs <progress value="0" max="3"></progress> 0 of 3'
    assert done == ""
