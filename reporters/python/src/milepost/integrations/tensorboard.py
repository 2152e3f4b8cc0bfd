# SPDX-License-Identifier: Apache-2.0
"""Reports the newest scalars that a training writes for TensorBoard.

For what has no callbacks but writes event files, such as DeepSpeed and Megatron, whoever writes them. From
outside, around the command that trains::

    python -m milepost.integrations.tensorboard --logdir runs --total-steps 1000 -- torchrun train.py

Or within the program::

    from milepost.integrations.tensorboard import follow

    with follow("runs", total_steps=1000):
        train()

TensorBoard itself is not needed. What lies in the folder already is an earlier run's and is not read.
"""

from __future__ import annotations

import argparse
import atexit
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Optional, Union

from ..guard import explain
from ..lines import WARNING, Lines
from .eventfile import Damaged, Scalar, read_scalars, to_end
from .shared import DISABLE, Session

#: Looks at a file with a record that makes no sense. It may be under way from another machine.
_PATIENCE = 5

#: Curves that stay when there are more than 256.
_KEPT = re.compile(r"(?:^|[/_.\s-])(?:dev|eval|test|val)", re.IGNORECASE)

_NOT_FOUND, _NOT_EXECUTABLE, _SIGNALLED = 127, 126, 128


class _File:
    """One event file, and how far it was read."""

    def __init__(self, path: Path, run: str) -> None:
        self.path = path
        self.run = run  # the folder below the one that is followed, as part of the names of curves
        self._at = 0
        self._strikes = 0

    def skip(self) -> None:
        """Leaves out what is there."""
        with open(self.path, "rb") as file:
            to_end(file)
            self._at = file.tell()

    def read(self, lines: Lines) -> list[Scalar]:
        """What was added since the last time."""
        found: list[Scalar] = []
        size = self.path.stat().st_size
        if self._strikes >= _PATIENCE or size == self._at:
            return found
        if size < self._at:  # somebody began it anew
            self._at = 0
        with open(self.path, "rb") as file:
            file.seek(self._at)
            try:
                found.extend(read_scalars(file))
                self._strikes = 0
            except Damaged as fault:
                self._strikes = 1 if found else self._strikes + 1
                if self._strikes == _PATIENCE:
                    lines.write(WARNING, f"{self.path} is not followed any longer: {fault}")
            self._at = file.tell()
        return found


class _Folder:
    """The event files below a folder."""

    def __init__(self, root: Path, lines: Lines) -> None:
        self._root, self._lines = root, lines
        self._files: dict[Path, _File] = {}
        for file in self._look():
            file.skip()

    def read(self) -> list[tuple[str, Scalar]]:
        """The names and values of what was added since the last time, the oldest first."""
        self._look()
        found: list[tuple[str, Scalar]] = []
        for file in self._files.values():
            try:
                found += ((file.run + scalar.tag, scalar) for scalar in file.read(self._lines))
            except OSError:  # the file is gone, or not there yet for this machine
                pass
        return sorted(found, key=lambda item: item[1].time)

    def _look(self) -> list[_File]:
        """Finds new files."""
        found = []
        for folder, _, names in os.walk(self._root):
            run = Path(folder).relative_to(self._root).as_posix()
            for name in sorted(names):
                path = Path(folder, name)
                if "tfevents" in name and path not in self._files:
                    self._files[path] = _File(path, "" if run == "." else run + "/")
                    found.append(self._files[path])
        return found


class Follower:
    """Follows the event files below a folder. Made by :func:`follow`. No method raises."""

    def __init__(
        self,
        logdir: Union[str, os.PathLike[str]],
        total_steps: Optional[float] = None,
        *,
        step_tag: Optional[str] = None,
        poll: float = 1.0,
        interval: Optional[float] = None,
    ) -> None:
        """Use :func:`follow` instead."""
        self._logdir, self._total, self._step_tag, self._poll = Path(logdir), total_steps, step_tag, poll
        self._lines = Lines()
        # Files are written every two minutes by default. The time remaining follows from the times in them.
        self._time = 0.0
        self._session = Session("tensorboard", interval=interval, clock=lambda: self._time)
        self._steps: dict[str, int] = {}
        self._folder: Optional[_Folder] = None
        self._ends = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def _begin(self) -> None:
        try:
            self._folder = _Folder(self._logdir, self._lines)
            if self._session.begin():
                self._thread = threading.Thread(target=self._follow, name="milepost-tensorboard", daemon=True)
                self._thread.start()
                atexit.register(self._rest)  # behind the hook of the reporter, so that it comes before it
        except Exception as fault:
            explain(self._lines, "follow", fault)

    def complete(self) -> None:
        """Reports what is left, and that the training is complete."""
        self._rest()
        self._session.complete()

    def stop(self, message: object = None) -> None:
        """Reports what is left. The training is not complete, and a message says why not."""
        self._rest()
        self._session.stop(message)

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None:
            self.complete()
        else:
            self.stop()

    def _follow(self) -> None:
        while not self._ends.wait(self._poll):
            self._look()

    def _rest(self) -> None:
        """Ends the thread, and reads what it has not."""
        atexit.unregister(self._rest)
        self._ends.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._look()

    def _look(self) -> None:
        try:
            added = self._folder.read() if self._folder is not None else []
            # Two reports are enough for the speed between them. The rest would be replaced at once.
            for part in (added[:1], added[1:]) if not self._steps else (added,):
                self._report(part)
        except Exception as fault:
            explain(self._lines, "follow", fault)

    def _report(self, added: Sequence[tuple[str, Scalar]]) -> None:
        if not added:
            return
        step = self._step()
        for name, scalar in added:
            self._steps[name] = scalar.step
            if self._step() != step:
                step, self._time = self._step(), scalar.time
        values = {name: scalar.value for name, scalar in added}
        self._session.report(step, self._total, values, keep=[name for name in values if _KEPT.search(name)])

    def _step(self) -> Optional[int]:
        """Where the training is: the step of the curve that counts, else the highest of the newest of all curves."""
        if self._step_tag is not None:
            return self._steps.get(self._step_tag)
        return max(self._steps.values(), default=None)


def follow(
    logdir: Union[str, os.PathLike[str]],
    total_steps: Optional[float] = None,
    *,
    step_tag: Optional[str] = None,
    poll: float = 1.0,
    interval: Optional[float] = None,
) -> Follower:
    """Follows the event files below a folder, until `complete`, `stop` or the end of a `with` block.

    Args:
        logdir: The folder, which may not exist yet.
        total_steps: The step at which the training is complete, in the unit in which steps are written.
        step_tag: The curve whose steps count, where curves count in different units. By default the highest
            step counts.
        poll: Seconds between two looks.
        interval: The least seconds between two reports, 5 by default.
    """
    follower = Follower(logdir, total_steps, step_tag=step_tag, poll=poll, interval=interval)
    follower._begin()
    return follower


def main(arguments: Sequence[str]) -> int:
    """Runs a command and follows what it writes. Gives its exit code, 128 plus the number of a signal included."""
    parser = argparse.ArgumentParser(
        prog="python -m milepost.integrations.tensorboard",
        description="Runs a training command, and reports what it writes for TensorBoard to its TrainJob.",
        epilog="The training is complete when the command ends with exit code 0.",
    )
    parser.add_argument("--logdir", required=True, help="folder with the event files; it may not exist yet")
    parser.add_argument("--total-steps", type=float, help="step at which the training is complete")
    parser.add_argument("--step-tag", help="curve whose steps count (default: the highest step of all curves)")
    parser.add_argument("--poll", type=float, default=1.0, help="seconds between two looks (default: 1)")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...", help="the command that trains")
    options = parser.parse_args(arguments)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("no command given")
    follower = Follower(options.logdir, options.total_steps, step_tag=options.step_tag, poll=options.poll)
    return _run(command, follower)


class _Child:
    """The command that trains, which gets the signals that this process gets."""

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._early: list[int] = []
        for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._pass_on)
        signal.signal(signal.SIGINT, lambda *_: None)  # a terminal sends it to the command as well

    def _pass_on(self, number: int, _: object) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)

    def run(self, command: Sequence[str]) -> int:
        """The exit code, below 0 for a signal."""
        # What registers itself in there would replace what is reported here.
        self._process = subprocess.Popen(command, env={**os.environ, DISABLE: "TRUE"})  # noqa: S603
        for number in self._early:
            self._process.send_signal(number)
        return self._process.wait()


def _run(command: Sequence[str], follower: Follower) -> int:
    """Runs the command beside a follower."""
    child = _Child()
    follower._begin()
    try:
        code = child.run(command)
    except OSError as fault:
        print(f"{command[0]}: {fault.strerror}", file=sys.stderr)  # noqa: T201
        follower.stop(f"{command[0]} does not start")
        return _NOT_FOUND if isinstance(fault, FileNotFoundError) else _NOT_EXECUTABLE
    if code == 0:
        follower.complete()
        return 0
    follower.stop(f"exit code {code}")
    return _SIGNALLED - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
