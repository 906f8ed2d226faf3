"""``usmo review`` as a program: its address, a kill, an interrupt, and options that are refused before any work."""

import json
import shutil
import signal
import socket
import subprocess
import sys

import httpx2
import pytest

from tests.cli.command_line import LABELS, table
from usmo.cli import main
from usmo.review import Store


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(table())
    return path


def started(data):
    """The program, and a client that has used its address."""
    command = [sys.executable, "-m", "usmo", "review", str(data), *LABELS, "--no-browser", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = json.loads(process.stdout.readline())["address"]
    base = address.partition("/?")[0]
    client = httpx2.Client(base_url=base, headers={"Origin": base}, timeout=60)
    assert client.get(address).status_code == 200
    return process, client


def test_a_kill_loses_nothing_and_a_resent_decision_is_recorded_once(data):
    process, client = started(data)
    card = client.get("/api/next").json()["candidate"]
    body = {"row": card["row"], "label": 1, "after": card["after"], "request": "request-of-the-page"}
    assert client.post("/api/decisions", json=body).status_code == 200
    process.kill()
    process.communicate()
    process, client = started(data)
    assert client.get("/api/next").json()["counts"]["found"] == 1
    assert client.post("/api/decisions", json=body).status_code == 200
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    store = f"{data}.review"
    assert err.splitlines()[-1] == f"usmo: interrupted; all decisions are in {store}"
    alone = shutil.copy(store, data.with_name("copy.review"))  # without its write-ahead log
    with Store(alone) as log:
        assert [(entry.row, entry.label, entry.request) for entry in log.history()] == [
            (card["row"], 1, "request-of-the-page")
        ]


def test_the_first_message_counts_known_negatives(data, capsys, monkeypatch):
    pytest.importorskip("uvicorn")
    monkeypatch.setattr("usmo.review_page.serving.serve", lambda *args, **options: None)
    lines = data.read_text().splitlines()
    data.write_text("\n".join([*lines[:-3], *(f"{line}no" for line in lines[-3:])]) + "\n")
    assert main(["review", str(data), *LABELS, "--negative", "no", "--no-browser"]) == 0
    assert ": 60 rows, 20 known positives, 3 known negatives\n" in capsys.readouterr().err


def test_rows_are_named_by_the_column_of_ids_as_in_a_ranking(data, capsys, monkeypatch):
    pytest.importorskip("uvicorn")
    desks = []
    monkeypatch.setattr("usmo.review_page.serving.serve", lambda desk, *args, **options: desks.append(desk))
    assert main(["review", str(data), "--label-column", "known", "--positive", "yes", "--no-browser"]) == 0
    assert "rows are named by column id; --id-column names another\n" in capsys.readouterr().err
    (desk,) = desks
    assert desk.review.ids == [f"r{k}" for k in range(60)]
    assert desk.cards.names == ["age", "job"]


@pytest.mark.parametrize(("options", "code", "words"), [
    (["--host", "0.0.0.0"], 2, "--allow-remote"),
    (["--host", "example.org"], 2, "can be reached from other machines"),
    (["--port", "70000"], 2, "--port"),
    (["--rule", "luck"], 2, "--rule"),
    (["--store", "/nowhere/x.review"], 2, "there is no folder /nowhere"),
    (["--id-column", "name"], 1, "--id-column"),
])  # fmt: skip
def test_wrong_options_are_refused_before_any_work(data, capsys, options, code, words):
    assert main(["review", str(data), *LABELS, "--no-browser", *options]) == code
    assert words in capsys.readouterr().err
    assert not data.with_name("people.csv.review").exists()


def test_a_table_from_standard_input_needs_a_store(capsys):
    assert main(["review", "-", *LABELS]) == 2
    assert "--store" in capsys.readouterr().err


def test_a_port_in_use_is_named(data, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["review", str(data), *LABELS, "--no-browser", "--port", str(port)]) == 1
    assert f"port {port}" in capsys.readouterr().err
    assert not data.with_name("people.csv.review").exists()


def test_a_store_of_another_table_is_refused_with_what_differs(data, capsys):
    store = data.with_name("other.review")
    Store(store, {"rows": "3", "column 'age'": "x"}).close()
    assert main(["review", str(data), *LABELS, "--no-browser", "--store", str(store)]) == 1
    err = capsys.readouterr().err
    assert "3 rows before, 60 now" in err
    assert "with the same --kind, --missing and --ignore" in err


def test_a_dry_run_says_what_would_happen_and_makes_no_file(data, capsys):
    assert main(["review", str(data), *LABELS, "--dry-run"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["would"], plan["rows"]) == ("start a review", 60)
    assert not data.with_name("people.csv.review").exists()


def test_options_of_reading_are_checked(data, capsys):
    assert main(["review", str(data), *LABELS, "--encoding", "nonsense", "--dry-run"]) == 1
    assert "nonsense" in capsys.readouterr().err


def test_without_its_packages_the_extra_is_named(data, capsys, monkeypatch):
    for name in [one for one in sys.modules if one.startswith(("uvicorn", "usmo.review_page"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["review", str(data), *LABELS]) == 1
    assert 'pip install "usmo-learn[review]"' in capsys.readouterr().err
