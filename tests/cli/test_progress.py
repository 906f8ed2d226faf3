"""The progress of a whole run: its stages in order, and one passing line on a terminal."""

from tests.cli.command_line import LABELS, table
from usmo import PUSVC
from usmo.cli import main
from usmo.cli.messages import Messages
from usmo.cli.progress import RANK, READ, REPORT, RunProgress
from usmo.system import stages


def test_every_stage_of_a_run_is_announced_in_order(tmp_path, capfd):
    (tmp_path / "t.csv").write_bytes(table())
    capfd.readouterr()
    options = ["--lam", "cv", "--report", str(tmp_path / "r.html")]
    assert main(["rank", str(tmp_path / "t.csv"), *LABELS, *options]) == 0
    said = [line.removeprefix("usmo: ") for line in capfd.readouterr().err.splitlines()]
    at = [said.index(stage) for stage in (stages.PRIOR, stages.LAMBDA, stages.FIT, REPORT)]
    assert at == sorted(at)
    assert said.count(stages.FIT) == 1  # the refits of the report are no stages


def test_a_fit_announces_only_what_it_does():
    heard = []
    with stages.listening(heard.append):
        PUSVC(0.3).fit([[0.0], [1.0], [2.0], [3.0]], [1, 0, 0, 1])
    assert heard == [stages.FIT]
    PUSVC(0.3).fit([[0.0], [1.0], [2.0], [3.0]], [1, 0, 0, 1])
    assert heard == [stages.FIT]


def test_a_line_counts_the_stages_and_gives_way_to_messages(capfd):
    messages = Messages(quiet=False)
    messages.live = True
    progress = RunProgress.of(messages, prior=True, lam=False, report=False)
    for stage, text in (
        (READ, "1 of 4: "),
        (stages.PRIOR, "2 of 4: "),
        (stages.FIT, "3 of 4: "),
        (RANK, "4 of 4: "),
    ):
        progress.begin(stage)
        assert text + stage in capfd.readouterr().err
    messages.say("done")
    before, after = capfd.readouterr().err.split("usmo: done")
    assert before.strip(" \r") == ""
    assert after == "\n"
