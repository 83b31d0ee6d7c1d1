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
