"""The command line. Results go to stdout, everything else to stderr.

Exit codes: 0 it went well, 1 it failed, 2 it was not understood, 130 it was interrupted. Every error is one line.
Commands import what they need when they run: ``usmo --help`` loads nothing but click.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from usmo.cli import interrupts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; without arguments those of the process, which it is then all of."""
    if arguments is not None:
        return _run(list(arguments))
    interrupts.end_at_once()
    _settle_streams()
    code = _run(sys.argv[1:])
    interrupts.ignore()  # all is done
    return code


def _run(arguments: list[str]) -> int:
    try:
        from usmo.cli.commands import call

        code = call(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = failed(interrupts.message(), 130)
    except BrokenPipeError:  # the reader of stdout, such as head, has seen enough
        code = 0
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        code = failed(f"not enough memory{why}: take fewer rows, or --kernel linear", 1)
    except OSError as error:
        text = error.strerror or str(error)
        code = failed(f"{error.filename}: {text}" if error.filename is not None else text, 1)
    except (ValueError, ImportError, RuntimeError) as error:
        code = failed(str(error) or type(error).__name__, 1)
    except Exception as error:
        code = failed(f"{_place(error)}{type(error).__name__}: {error}: a fault in usmo, please report it", 1)
    _let_go_of_stdout()
    return code


def failed(message: str, code: int) -> int:
    """Say in one line why it ends, and give the exit code back."""
    with contextlib.suppress(OSError):
        print(f"usmo: {' '.join(message.split())}", file=sys.stderr, flush=True)
    return code


def _place(error: Exception) -> str:
    """The file and line that an exception comes from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: " if trace is not None else ""


def _settle_streams() -> None:
    """Streams that were closed before the start lead nowhere; text is UTF-8 as in files, whatever the locale."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]


def _let_go_of_stdout() -> None:
    """What stdout did not take is dropped here, or Python would try again, and complain, at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
