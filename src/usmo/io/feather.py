"""The sizes that the buffers of a Feather file claim to have. Polars allocates them unchecked.

A Feather file is an Arrow IPC file: record batches, and a footer that lists them. Its metadata are flatbuffers: a
table starts with the distance back to its list of field offsets, a vector with its length. A compressed buffer starts
with its decompressed size as 64 bits, or with -1 if it is not compressed after all.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from

_FOOTER_BATCHES = (2, 3)
"""Fields of the footer that list dictionary batches and record batches, in blocks of 24 bytes."""

_END = b"ARROW1"
_CONTINUATION = 0xFFFFFFFF


def buffer_sizes(data: bytes) -> Iterator[int]:
    """The decompressed size of each buffer; IndexError or struct.error if the metadata are damaged."""
    end = len(data) - len(_END) - 4
    footer = _reference(data, end - unpack_from("<i", data, end)[0])
    for field in _FOOTER_BATCHES:
        for block in _vector(data, footer, field, 24):
            start, metadata = unpack_from("<qi", data, block)
            begin = start + (8 if unpack_from("<I", data, start)[0] == _CONTINUATION else 4)
            batch = _table(data, _reference(data, begin), 2)
            if field == 2:
                batch = _table(data, batch, 1)  # the record batch within a dictionary batch
            compressed = _place(data, batch, 3) != 0
            for buffer in _vector(data, batch, 2, 16):
                offset, length = unpack_from("<qq", data, buffer)
                first = start + metadata + offset
                if not 0 <= first <= first + length <= len(data):
                    raise IndexError(f"a column of {length} bytes at {first} in a file of {len(data)}")
                size = unpack_from("<q", data, first)[0] if compressed and length else -1
                if size < -1:
                    raise IndexError(f"a column of {size} bytes")
                yield length if size == -1 else size


def _place(data: bytes, table: int, field: int) -> int:
    """Where a field of a table is stored, 0 if it is not."""
    offsets = table - unpack_from("<i", data, table)[0]
    if 4 + 2 * field >= unpack_from("<H", data, offsets)[0]:
        return 0
    offset = unpack_from("<H", data, offsets + 4 + 2 * field)[0]
    return table + offset if offset else 0


def _reference(data: bytes, place: int) -> int:
    if place < 0:
        raise IndexError(f"place {place} before the start of the file")
    return int(place + unpack_from("<I", data, place)[0])


def _table(data: bytes, table: int, field: int) -> int:
    return _reference(data, _place(data, table, field) or -1)


def _vector(data: bytes, table: int, field: int, width: int) -> range:
    """The places of the structures of a vector, each ``width`` bytes."""
    place = _place(data, table, field)
    if not place:
        return range(0)
    start = _reference(data, place)
    length = unpack_from("<I", data, start)[0]
    return range(start + 4, start + 4 + width * length, width)
