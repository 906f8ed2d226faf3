"""Progress on stderr: the live line, a line per pass, and nothing without a terminal."""

import io

from tests.oracles import random_table
from usmo import PUSVC
from usmo.fitting.progress import printed


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


def test_live_line_on_a_terminal(monkeypatch):
    X, y = random_table(0, n=400, p=30)
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    model = PUSVC(0.4, lam=1e-4, verbose=1).fit(X, y)
    shown = screen.getvalue().split("\r")[1:]
    assert len(shown) == len(model.history_)
    assert shown[-1].startswith("usmo [####################] violation")
    assert shown[-1].endswith("\n")
    assert shown[0].startswith("usmo [                    ]")


def test_verbose_0_prints_nothing():
    assert printed(0, 1e-3) is None


def test_verbose_2_prints_a_line_per_pass_and_verbose_1_nothing_without_a_terminal(capsys):
    X, y = random_table(0, n=150, p=30, d=4)
    model = PUSVC(0.4, verbose=2).fit(X, y)
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.strip().splitlines()) == len(model.history_)
    PUSVC(0.4, verbose=1).fit(X, y)
    assert capsys.readouterr() == ("", "")
