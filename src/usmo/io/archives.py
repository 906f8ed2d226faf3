"""Zip archives that hold a table."""

from __future__ import annotations

import io
import zipfile

from usmo.io.errors import TableError, no_table, one_line, quote
from usmo.io.file_types import is_table
from usmo.io.limits import Limit


def member_of(data: bytes, limit: Limit, table: str | None) -> tuple[str, bytes]:
    """Name and contents of the file called ``table`` in a zip archive, or of its only table."""
    name = limit.source
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [
                each.filename for each in archive.infolist() if not each.is_dir() and _is_visible(each.filename)
            ]
            tables = [each for each in names if is_table(each)]
            if table is None and len(tables) != 1:
                listed = ", ".join(map(quote, (tables or names)[:20])) or "nothing"
                what = f"{len(tables)} tables" if tables else "no table"
                raise TableError(f"{name} holds {what} ({listed}): name one, as in {name}?table=FILE")
            chosen = tables[0] if table is None else table
            if chosen not in names:
                raise TableError(no_table(name, chosen, names, "file"))
            limit.check(archive.getinfo(chosen).file_size, "the decompressed bytes")
            return chosen, archive.read(chosen)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError) as error:
        advice = "unpack it first" if "password" in str(error) or "encrypted" in str(error) else "copy it again"
        raise TableError(f"{name} is damaged or not a zip archive ({one_line(error)}): {advice}") from None


def _is_visible(name: str) -> bool:
    """Whether a file is not one of those that macOS adds."""
    return not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
