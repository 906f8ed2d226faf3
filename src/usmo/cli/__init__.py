"""The command line. Results go to stdout, everything else to stderr.

Exit codes: 0 success, 1 failure, 2 wrong usage; 128 plus the signal if one ends the command: 130 interrupted (Ctrl-C),
143 terminated, 129 terminal closed. Every error is one line.

Delayed imports: ``commands`` and ``options`` declare all commands and import nothing but click, so that ``usmo --help``
takes a tenth of a second. A command imports the one module that does its work when it is called (``fit`` a second one
for ``--scheduler``, which needs Dask). ``main`` imports click itself only after it has set up interrupts.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from usmo.cli import interrupts
from usmo.cli.wording import error_text
from usmo.system.terminal import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Without arguments it is the main function of the process: it takes those of the process, and sets up signals
    and streams.
    """
    if arguments is not None:
        return _run(list(arguments))
    interrupts.end_at_once()
    _prepare_streams()
    code = _run(sys.argv[1:])
    interrupts.ignore()  # all files are in place
    return code


def _run(arguments: list[str]) -> int:
    try:
        from usmo.cli.commands import call

        code = call(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = failed(interrupts.message(), interrupts.exit_code())
    except BrokenPipeError:  # the reader of stdout, such as head, has closed it
        code = 0
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        code = failed(f"not enough memory{why}: take fewer rows, or --kernel linear", 1)
    except OSError as error:
        text = error.strerror or str(error)
        code = failed(f"{error.filename}: {text}" if error.filename is not None else text, 1)
    except (ValueError, ImportError, RuntimeError) as error:
        code = failed(error_text(error) or type(error).__name__, 1)
    except Exception as error:
        code = failed(f"{_place(error)}{type(error).__name__}: {error}: a fault in usmo, please report it", 1)
    _discard_stdout()
    return code


def failed(message: str, code: int) -> int:
    """Print the reason of a failure in one line, and return the exit code."""
    with contextlib.suppress(OSError):
        print(f"usmo: {printable(' '.join(message.split()))}", file=sys.stderr, flush=True)
    return code


def _place(error: Exception) -> str:
    """The file and line that raised an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: " if trace is not None else ""


def _prepare_streams() -> None:
    """Open streams that were closed before the start on the null device, and write UTF-8 in every locale."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]


def _discard_stdout() -> None:
    """Drop output that stdout does not accept; Python would try to write it again at exit, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
