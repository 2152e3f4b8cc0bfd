# SPDX-License-Identifier: Apache-2.0
"""The reader of event files understands what TensorBoard and tensorboardX write, whole and in pieces."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.plugins.scalar import metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto
from tensorboardX import SummaryWriter

from milepost.integrations import eventfile
from milepost.integrations.eventfile import Damaged, Scalar, read_scalars
from milepost.integrations.tensorboard import _Folder
from milepost.lines import Lines


def bytes_in(folder: Path) -> bytes:
    (path,) = folder.glob("*tfevents*")
    return path.read_bytes()


def read(text: bytes) -> list[Scalar]:
    return list(read_scalars(io.BytesIO(text)))


def record(event: event_pb2.Event) -> bytes:
    """A record as the writer of TensorBoard makes it."""
    file = io.BytesIO()
    RecordWriter(file).write(event.SerializeToString())
    return file.getvalue()


def event(step: int, *values: summary_pb2.Summary.Value) -> event_pb2.Event:
    return event_pb2.Event(wall_time=1.5, step=step, summary=summary_pb2.Summary(value=values))


def plain(tag: str, value: float) -> summary_pb2.Summary.Value:
    return summary_pb2.Summary.Value(tag=tag, simple_value=value)


def test_scalars_of_tensorboardx(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("train/loss", 0.25, 7, walltime=1234.5)
        writer.add_text("note", "no number", 7)
        writer.add_histogram("weights", np.arange(100.0), 7)
        writer.add_image("picture", np.zeros((3, 700, 700), dtype=np.uint8), 7)
        writer.add_scalar("lr", float("nan"), 8)
    found = read(bytes_in(tmp_path))
    assert found[0] == Scalar("train/loss", 7, 1234.5, 0.25)
    assert (found[1].tag, found[1].step) == ("lr", 8)
    assert found[1].value != found[1].value
    assert len(found) == 2


def test_scalars_of_tensorboard_that_are_tensors(tmp_path: Path) -> None:
    writer = EventFileWriter(str(tmp_path))
    about = metadata.create_summary_metadata(display_name="", description="")
    for step in (0, 1):
        tensor = make_tensor_proto(np.float32(0.5 + step))
        writer.add_event(event(step, summary_pb2.Summary.Value(tag="epoch_loss", tensor=tensor, metadata=about)))
    writer.close()
    assert read(bytes_in(tmp_path)) == [Scalar("epoch_loss", 0, 1.5, 0.5), Scalar("epoch_loss", 1, 1.5, 1.5)]


@pytest.mark.parametrize(
    ("tensor", "value"),
    [
        (tensor_pb2.TensorProto(dtype=1, tensor_content=np.float32(0.5).tobytes()), 0.5),
        (tensor_pb2.TensorProto(dtype=2, tensor_content=np.float64(0.1).tobytes()), 0.1),
        (tensor_pb2.TensorProto(dtype=19, tensor_content=np.float16(1.5).tobytes()), 1.5),
        (tensor_pb2.TensorProto(dtype=3, tensor_content=np.int32(-7).tobytes()), -7.0),
        (tensor_pb2.TensorProto(dtype=9, tensor_content=np.int64(1 << 40).tobytes()), float(1 << 40)),
        (tensor_pb2.TensorProto(dtype=1, float_val=[0.25]), 0.25),
        (tensor_pb2.TensorProto(dtype=2, double_val=[0.1]), 0.1),
        (tensor_pb2.TensorProto(dtype=3, int_val=[12]), 12.0),
        (tensor_pb2.TensorProto(dtype=9, int64_val=[300]), 300.0),
    ],
    ids=range(9),
)
def test_tensors_with_one_element_are_numbers(tensor: tensor_pb2.TensorProto, value: float) -> None:
    assert [s.value for s in read(record(event(1, summary_pb2.Summary.Value(tag="x", tensor=tensor))))] == [value]


@pytest.mark.parametrize(
    "tensor",
    [
        tensor_pb2.TensorProto(dtype=1, float_val=[1, 2]),
        tensor_pb2.TensorProto(dtype=7, string_val=[b"text"]),
        tensor_pb2.TensorProto(dtype=1, tensor_content=b"12345678"),
        tensor_pb2.TensorProto(),
    ],
    ids=["two", "text", "too long", "empty"],
)
def test_other_tensors_are_none(tensor: tensor_pb2.TensorProto) -> None:
    assert read(record(event(1, summary_pb2.Summary.Value(tag="x", tensor=tensor)))) == []


def test_steps_may_be_negative_or_large() -> None:
    text = b"".join(record(event(step, plain("x", 1))) for step in (-1, 0, 1 << 40))
    assert [s.step for s in read(text)] == [-1, 0, 1 << 40]


def test_a_record_is_read_once_it_is_there_as_a_whole() -> None:
    first, second = record(event(1, plain("x", 1))), record(event(2, plain("x", 2)))
    for size in range(len(second)):
        file = io.BytesIO(first + second[:size])
        assert [s.step for s in read_scalars(file)] == [1]
        assert file.tell() == len(first)
        file = io.BytesIO(first + second)
        file.seek(len(first))
        assert [s.step for s in read_scalars(file)] == [2]


def test_every_damaged_byte_is_noticed_or_makes_a_record_that_is_not_there_yet() -> None:
    text = record(event(1, plain("loss", 0.5)))
    for at in range(len(text)):
        broken = bytearray(text)
        broken[at] ^= 0x10
        file = io.BytesIO(bytes(broken))
        with pytest.raises(Damaged):
            list(read_scalars(file))
        assert file.tell() == 0


def test_what_has_right_checksums_and_makes_no_sense_is_damaged() -> None:
    for junk in (b"\xff" * 12, b"\x0a\xff\x01", b"\x0b", b"\x2a\x02\x0a\x7f"):
        head = struct.pack("<Q", len(junk))
        text = head + struct.pack("<I", eventfile.masked_checksum(head)) + junk
        with pytest.raises(Damaged):
            read(text + struct.pack("<I", eventfile.masked_checksum(junk)))


def test_a_large_record_is_passed_over() -> None:
    large = event_pb2.Event(wall_time=1, graph_def=b"g" * (eventfile.MOST_DATA + 1))
    text = record(large) + record(event(3, plain("x", 1)))
    assert [s.step for s in read(text)] == [3]
    file = io.BytesIO(text[: eventfile.MOST_DATA])
    assert list(read_scalars(file)) == []
    assert file.tell() == 0


def test_to_the_end_and_no_further() -> None:
    text = record(event(1, plain("x", 1))) * 3
    for size, want in ((len(text), len(text)), (len(text) - 1, len(text) * 2 // 3), (5, 0), (0, 0)):
        file = io.BytesIO(text[:size])
        eventfile.to_end(file)
        assert file.tell() == want


class Said(Lines):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def write(self, level: int, message: str) -> None:
        self.lines.append(f"{level} {message}")


def test_a_folder_is_followed_from_now_on(tmp_path: Path) -> None:
    def steps() -> list[tuple[str, int]]:
        return [(name, scalar.step) for name, scalar in folder.read()]

    first, second = record(event(1, plain("x", 1))), record(event(2, plain("x", 2)))
    before = tmp_path / "tfevents.before"
    before.write_bytes(first + second[:9])
    folder = _Folder(tmp_path, Lines())
    assert steps() == []
    before.write_bytes(first + second)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tfevents.new").write_bytes(first)
    (tmp_path / "run" / "other").write_bytes(first)
    assert sorted(steps()) == [("run/x", 1), ("x", 2)]
    assert steps() == []
    before.write_bytes(first)  # somebody began it anew
    assert steps() == [("x", 1)]
    before.unlink()
    assert steps() == []


def test_a_damaged_file_is_given_up_after_some_patience_with_one_line(tmp_path: Path) -> None:
    said = Said()
    folder = _Folder(tmp_path, said)
    good, broken = record(event(1, plain("x", 1))), bytearray(record(event(2, plain("x", 2))))
    broken[-1] ^= 1
    file = tmp_path / "tfevents"
    file.write_bytes(good + broken)
    assert [scalar.step for _, scalar in folder.read()] == [1]
    assert folder.read() == []
    broken[-1] ^= 1  # what was under way is there
    file.write_bytes(good + broken)
    assert [scalar.step for _, scalar in folder.read()] == [2]
    file.write_bytes(good + broken + b"x" * 20)
    for _ in range(10):
        assert folder.read() == []
    assert len(said.lines) == 1
    assert "tfevents is not followed any longer" in said.lines[0]
