# SPDX-License-Identifier: Apache-2.0
"""Reads scalars from the event files of TensorBoard, with the standard library alone.

Owns the format: records with checksums, and the few fields of protocol buffers that scalars need. Does
not own which files are read, or when.

A file is a sequence of records: the length (8 bytes), its checksum (4), the data, and their checksum (4).
The data are a message `Event`; numbers in comments are those of its fields.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Optional, Union

#: Larger records hold pictures, sound or a graph. They are passed over unread.
MOST_DATA = 1 << 20

#: No record is larger than what protocol buffers can hold: a longer one is no record.
_MOST_RECORD = 1 << 31

_HEAD = struct.Struct("<QI")
_SUM = struct.Struct("<I")

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5

#: Types of a tensor's elements, and how their bytes are read: half, single, double, and whole numbers.
_ELEMENTS = {19: "<e", 1: "<f", 2: "<d", 3: "<i", 9: "<q"}

#: Fields of a tensor that hold its elements where its bytes are not given as a whole.
_LISTS = {5: "<f", 6: "<d", 7: "", 10: ""}


class Damaged(Exception):
    """The file is no event file, or was not written to its end."""


@dataclass(frozen=True)
class Scalar:
    """One value of one curve."""

    tag: str
    step: int
    time: float
    value: float


def read_scalars(file: BinaryIO) -> Iterator[Scalar]:
    """Gives the scalars from the position of the file on, which then stands behind the last whole record.

    A record that is not there as a whole is left for the next time.

    Raises:
        Damaged: A checksum is wrong. The position is that of the record.
    """
    while True:
        begin = file.tell()
        data = _record(file)
        if data is None:
            file.seek(begin)
            return
        try:
            found = list(_event(data))
        except (ValueError, IndexError, struct.error) as fault:
            file.seek(begin)
            raise Damaged(f"the record at {begin} is no event") from fault
        yield from found


def to_end(file: BinaryIO) -> None:
    """Moves behind the last whole record, without a look at what is in them."""
    end = file.seek(0, 2)
    at = 0
    while True:
        file.seek(at)
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            break
        after = at + _HEAD.size + _HEAD.unpack(head)[0] + _SUM.size
        if after > end:
            break
        at = after
    file.seek(at)


def _record(file: BinaryIO) -> Optional[bytes]:
    """The data of the next record, empty for a large one, None when it is not there as a whole."""
    begin = file.tell()
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack(head)
    if masked_checksum(head[:8]) != checksum or length > _MOST_RECORD:
        file.seek(begin)
        raise Damaged(f"the length of the record at {begin} has a wrong checksum")
    if length > MOST_DATA:
        end = file.seek(length, 1)
        return b"" if len(file.read(_SUM.size)) == _SUM.size and file.tell() == end + _SUM.size else None
    data = file.read(length)
    tail = file.read(_SUM.size)
    if len(tail) < _SUM.size:
        return None
    if masked_checksum(data) != _SUM.unpack(tail)[0]:
        file.seek(begin)
        raise Damaged(f"the record at {begin} has a wrong checksum")
    return data


def _table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_CRC = _table()


def masked_checksum(data: bytes) -> int:
    """CRC-32C, turned and moved so that the checksum of data with a checksum in it is no trap."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _event(data: bytes) -> Iterator[Scalar]:
    """The scalars of an event: time (1), step (2), summary (5) with its values (1)."""
    time, step = 0.0, 0
    values: list[bytes] = []
    for field, value in _fields(data):
        if field == 1 and isinstance(value, bytes):
            time = struct.unpack("<d", value)[0]
        elif field == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >> 63 else value
        elif field == 5 and isinstance(value, bytes):
            values += (inner for number, inner in _fields(value) if number == 1 and isinstance(inner, bytes))
    for text in values:
        tag, number = _value(text)
        if tag and number is not None:
            yield Scalar(tag, step, time, number)


def _value(data: bytes) -> tuple[str, Optional[float]]:
    """The name (1) and number of a value: a plain one (2), or a tensor (8) with one element."""
    tag, number = "", None
    for field, value in _fields(data):
        if field == 1 and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif field == 2 and isinstance(value, bytes):
            number = struct.unpack("<f", value)[0]
        elif field == 8 and isinstance(value, bytes):
            number = _tensor(value)
    return tag, number


def _tensor(data: bytes) -> Optional[float]:
    """The only element of a tensor: type (1), and its bytes (4) or a list of its kind. Else None."""
    kind, content = 0, b""
    listed: list[float] = []
    for field, value in _fields(data):
        if field == 1 and isinstance(value, int):
            kind = value
        elif field == 4 and isinstance(value, bytes):
            content = value
        elif field in _LISTS:
            listed += _elements(_LISTS[field], value)
    if len(listed) == 1:
        return listed[0]
    form = _ELEMENTS.get(kind, "")
    if form and len(content) == struct.calcsize(form):
        return float(struct.unpack(form, content)[0])
    return None


def _elements(form: str, value: Union[int, bytes]) -> list[float]:
    """The elements of a list, one by one or all in a row."""
    if isinstance(value, int):
        return [float(value)]
    if form:
        return [float(element[0]) for element in struct.iter_unpack(form, value)]
    found, at = [], 0
    while at < len(value):
        element, at = _varint(value, at)
        found.append(float(element))
    return found


def _fields(data: bytes) -> Iterator[tuple[int, Union[int, bytes]]]:
    """The fields of a message: their numbers, and whole numbers or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, at = _varint(data, at)
        elif kind in (_EIGHT, _FOUR):
            length = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        if at + length > len(data):
            raise ValueError("a field beyond the end")
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, and where the next field begins."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & ((1 << 64) - 1), at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
