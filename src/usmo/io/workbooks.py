"""Sheets of workbooks: Excel (.xlsx, .xlsm, .xlsb, .xls) and OpenDocument (.ods), read with fastexcel."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from usmo.io.errors import TableError, no_table, one_line, quote, short
from usmo.io.infer_types import convert_text_columns
from usmo.io.layout import distinct, lines_to_skip
from usmo.io.libraries import fastexcel, polars, xlsxwriter
from usmo.io.limits import FRAME_COLUMN, Limit, Options
from usmo.io.sheet import Sheet, some

_TOP = 60
"""Rows of a sheet by which its header is found."""

_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384
"""Cells of a sheet of Excel."""

_ROUNDED = 10**15
"""Integers from this on lose digits: spreadsheets keep 15 of a number."""

_OPTIONS = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}


def read_workbook(data: bytes, limit: Limit, options: Options) -> Sheet:
    """Read a sheet of a workbook: the one that is named, or the first that is not empty."""
    pl, name, table = polars(), limit.source, options.table
    if data.startswith(b"PK"):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                limit.check(sum(member.file_size for member in archive.infolist()), "the decompressed sheets")
        except zipfile.BadZipFile as error:
            raise _damaged(name, error) from None
    try:
        book = fastexcel().read_excel(data)
        names = list(book.sheet_names)
        if table is not None and table not in names:
            raise TableError(no_table(name, table, names, "sheet"))
        chosen, top = _first_filled(book, [table] if table is not None else names)
        if top is None:
            raise TableError(f"{name} has no sheet with cells in it: add a header line and rows")
        header, notes = _header(top)
        rest = {"header_row": None, "skip_rows": header + 1}
        shape = book.load_sheet(chosen, dtypes="string", **rest)
        limit.check_table(shape.height, shape.width, per_column=FRAME_COLUMN)
        frame = book.load_sheet(chosen, schema_sample_rows=None, **rest).to_polars()
    except (KeyboardInterrupt, MemoryError, TableError, ImportError):
        raise
    except BaseException as error:  # errors and panics of the library
        raise _damaged(name, error) from None
    if len(names) > 1:
        others = some([each for each in names if each != chosen])
        notes.append(f"sheet {quote(chosen)} is read, not {others}; {name}?table=NAME names another")
    titles = [short(str(cell)).strip() if cell is not None else "" for cell in top[header]][: frame.width]
    titles += [""] * (frame.width - len(titles))
    frame.columns = distinct([each or f"column {i + 1}" for i, each in enumerate(titles)], notes)
    empty = [
        column.name for column, title in zip(frame.get_columns(), titles, strict=True)
        if not title and column.null_count() == frame.height
    ]  # fmt: skip
    frame = frame.drop(empty).filter(~pl.all_horizontal(pl.all().is_null()))
    columns = [_whole(column) for column in frame.get_columns()]
    columns = [column.cast(pl.String) if column.name in options.text else column for column in columns]
    return convert_text_columns(Sheet(pl.DataFrame(columns), source=name, notes=notes), options.text)


def _damaged(name: str, error: BaseException) -> TableError:
    return TableError(f"{name} is damaged or not a workbook ({one_line(error)}): save it again as .xlsx")


def _first_filled(book: Any, names: list[str]) -> tuple[str, list[list[Any]] | None]:
    """The first sheet with cells, and its first rows as text; None if all are empty."""
    for name in names:
        try:
            top = book.load_sheet(name, header_row=None, n_rows=_TOP, dtypes="string").to_polars()
        except fastexcel().FastExcelError:
            if len(names) == 1:
                raise
            continue
        if top.height and top.width:
            return name, [list(row) for row in top.rows()]
    return names[0] if names else "", None


def _header(top: list[list[Any]]) -> tuple[int, list[str]]:
    """The place of the header among the first rows, and a note if there are rows above it."""
    rows = [(i + 1, ["" if cell is None else str(cell) for cell in row]) for i, row in enumerate(top)]
    header = lines_to_skip(rows)
    while header < len(rows) - 1 and not any(cell.strip() for cell in rows[header][1]):
        header += 1
    above = " ".join(" ".join(cell for cell in row if cell.strip()) for _, row in rows[:header]).strip()
    return header, [f"{header} rows above the header are left out: {short(above)!r}"] if above else []


def _whole(column: Any) -> Any:
    """A column of numbers as integers if all are whole: workbooks have no integers."""
    pl = polars()
    if not column.dtype.is_float() or not column.is_not_null().any():
        return column
    present = column.drop_nulls()
    return column.cast(pl.Int64) if ((present % 1 == 0) & (present.abs() < 2**53)).all() else column


def _is_long(column: Any) -> bool:
    """Whether a column has integers that a spreadsheet would round, such as card numbers."""
    if not column.dtype.is_integer():
        return False
    low, high = column.min(), column.max()
    return low is not None and max(-low, high) >= _ROUNDED


def write_workbook(frame: Any, name: str) -> bytes:
    """A data frame as a workbook with one sheet; text is written as text, never as a formula or a link.

    So are columns with integers of more digits than a spreadsheet keeps.
    """
    if frame.height >= _MOST_ROWS or frame.width > _MOST_COLUMNS:
        raise TableError(
            f"{name}: {frame.height:,} rows of {frame.width:,} columns are too many for a sheet, which has "
            f"{_MOST_ROWS:,} rows with the header and {_MOST_COLUMNS:,} columns: write CSV or Parquet"
        )
    stream = io.BytesIO()
    frame = frame.with_columns(each.cast(polars().String) for each in frame if _is_long(each))
    general = {polars().selectors.numeric(): "General"}  # the default of Polars writes a year as 2,019
    with xlsxwriter().Workbook(stream, _OPTIONS) as book:
        frame.fill_nan(None).write_excel(
            book,
            autofit=frame.height <= 10_000,
            table_style=None,
            column_formats=general,
            header_format={"bold": True},
        )
    return stream.getvalue()
