# SPDX-License-Identifier: Apache-2.0
"""How programs end, and what the server has then. Each test runs a real program. D24, D25, D26."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass

import pytest
from endpoint import Answer, Endpoint, Handler, Silence

LIMIT = 30.0

#: Reports step 1 and, when that has arrived, step 7 of 10, which waits for its turn.
TRAIN = """
import os, signal, sys, threading, time
import milepost

m = milepost.start()
m.report(1, 10)
while m._sender._unsent:
    time.sleep(0.005)
m.report(7, 10, {"loss": 0.5})
"""

WAIT = """
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


@dataclass
class Ended:
    code: int
    took: float
    out: str
    errors: str


@dataclass
class Programs:
    """Runs programs in the environment of a TrainJob."""

    environment: dict[str, str]

    def start(self, *parts: str, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        program = "".join(textwrap.dedent(part) for part in parts)
        return subprocess.Popen(
            [sys.executable, *options, "-c", program],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *parts: str, options: tuple[str, ...] = ()) -> Ended:
        return self.end(self.start(*parts, options=options))

    def signal(self, number: int, *parts: str) -> Ended:
        """Sends a signal as soon as the program says that it is ready."""
        process = self.start(*parts)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        return self.end(process)

    def end(self, process: subprocess.Popen[str]) -> Ended:
        begin = time.monotonic()
        try:
            out, errors = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
        return Ended(process.returncode, time.monotonic() - begin, out, errors)


@pytest.fixture
def programs(program_environment: dict[str, str]) -> Programs:
    return Programs(program_environment)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param("", 0, id="the end of the program"),
        pytest.param("sys.exit(3)", 3, id="an exit call"),
        pytest.param("raise SystemExit('why')", 1, id="an exit with a text"),
        pytest.param("raise ValueError('why')", 1, id="an error that nobody catches"),
        pytest.param("raise KeyboardInterrupt", -signal.SIGINT, id="an interrupt from within"),
        pytest.param("threading.Thread(target=time.sleep, args=(0.2,)).start()", 0, id="a thread that goes on"),
        pytest.param("del m", 0, id="a reporter that was forgotten"),
    ],
)
def test_the_last_report_arrives(server: Endpoint, programs: Programs, end: str, code: int) -> None:
    ended = programs.run(TRAIN, end)
    assert ended.code == code, ended.errors
    assert server.percents() == [10, 70]
    assert server.requests[-1].status["metrics"] == [{"name": "loss", "value": "0.5"}]
    assert ended.out == ""
    assert "milepost" not in ended.errors


def test_the_only_report_arrives(server: Endpoint, programs: Programs) -> None:
    assert programs.run("import milepost; milepost.start().report(1, 10)").code == 0
    assert server.percents() == [10]


def test_a_report_at_the_very_end_arrives(server: Endpoint, programs: Programs) -> None:
    """Hooks run in reverse, so the first one that is registered runs when the reporter has flushed."""
    late = "import atexit; atexit.register(lambda: (m.report(9, 10), m.complete()))\n"
    early = "import milepost; m = milepost.start(); import atexit; atexit.register(lambda: m.report(9, 10))"
    assert programs.run(early).code == 0
    assert server.percents() == [90]
    ended = programs.run(late, "import milepost; m = milepost.start()\n")
    assert (ended.code, ended.out, ended.errors) == (0, "", "")


def test_a_reporter_that_starts_at_the_very_end_reports(server: Endpoint, programs: Programs) -> None:
    program = "import atexit, milepost; atexit.register(lambda: milepost.start().complete())"
    ended = programs.run(program)
    assert (ended.code, ended.out, ended.errors) == (0, "", "")
    assert server.percents() == [100]


def test_calls_while_the_interpreter_ends_do_no_harm(programs: Programs) -> None:
    program = """
    import milepost
    class Last:
        def __del__(self):
            m.report(9, 10, {"loss": 1})
            m.complete()
            m.stored()
    m = milepost.start()
    m.report(1, 10)
    last = Last()
    """
    ended = programs.run(program)
    assert (ended.code, ended.out) == (0, "")
    assert "Error" not in ended.errors


def test_warnings_as_errors_do_no_harm(server: Endpoint, programs: Programs) -> None:
    ended = programs.run(TRAIN, options=("-W", "error", "-X", "dev"))
    assert (ended.code, ended.errors) == (0, "")
    assert server.percents() == [10, 70]


def test_a_silent_server_delays_the_end_by_5_seconds_at_most(programs: Programs) -> None:
    with Silence() as silence:
        programs.environment["KUBEFLOW_TRAINER_SERVER_URL"] = f"https://127.0.0.1:{silence.port}/"
        ended = programs.run("import sys, milepost; m = milepost.start(); m.report(1, 10); sys.exit(4)")
    assert ended.code == 4
    assert 4.5 < ended.took < 8
    assert "not sent" in ended.errors


def test_nothing_is_left_open(programs: Programs) -> None:
    with Silence() as silence:
        programs.environment["KUBEFLOW_TRAINER_SERVER_URL"] = f"https://127.0.0.1:{silence.port}/"
        program = """
        from milepost.reporter import Reporter, Settings
        from milepost.sender import Scales
        m = Reporter(Settings(scales=Scales(time=0.01, limit=0.05)))
        m.report(1, 10)
        m.stored()
        m.complete()
        """
        ended = programs.run(program, options=("-X", "dev", "-W", "always"))
    assert ended.code == 0
    assert "ResourceWarning" not in ended.errors


def test_several_reporters_share_the_5_seconds(programs: Programs) -> None:
    with Silence() as silence:
        programs.environment["KUBEFLOW_TRAINER_SERVER_URL"] = f"https://127.0.0.1:{silence.port}/"
        ended = programs.run("import milepost\nfor _ in range(3): milepost.start().report(1, 10)\n")
    assert ended.code == 0
    assert ended.took < 8


def test_sigterm(server: Endpoint, programs: Programs) -> None:
    ended = programs.signal(signal.SIGTERM, TRAIN, WAIT)
    assert ended.code == -signal.SIGTERM
    assert ended.took < 5
    assert server.percents() == [10, 70]


def test_sigterm_in_the_middle_of_a_call(programs: Programs) -> None:
    program = """
    import milepost
    m = milepost.start()
    print("ready", flush=True)
    step = 0
    while True:
        step += 1
        m.report(step % 50, 100, {"a": {"loss": step, "lr": 0.5}})
    """
    for _ in range(5):
        ended = programs.signal(signal.SIGTERM, program)
        assert ended.code == -signal.SIGTERM, ended.errors
        assert ended.took < 5
        assert ended.errors == ""


def test_sigterm_while_a_silent_server_is_waited_for(programs: Programs) -> None:
    with Silence() as silence:
        programs.environment["KUBEFLOW_TRAINER_SERVER_URL"] = f"https://127.0.0.1:{silence.port}/"
        program = 'import milepost; m = milepost.start(); print("ready", flush=True); m.complete()'
        ended = programs.signal(signal.SIGTERM, program)
    assert ended.code == -signal.SIGTERM
    assert ended.took < 8


def test_sigint(server: Endpoint, programs: Programs) -> None:
    ended = programs.signal(signal.SIGINT, TRAIN, WAIT)
    assert ended.code == -signal.SIGINT
    assert "KeyboardInterrupt" in ended.errors
    assert server.percents() == [10, 70]


def test_sigint_that_would_kill(server: Endpoint, programs: Programs) -> None:
    program = TRAIN.replace("m = milepost", "signal.signal(signal.SIGINT, signal.SIG_DFL)\nm = milepost")
    ended = programs.signal(signal.SIGINT, program, WAIT)
    assert (ended.code, ended.errors) == (-signal.SIGINT, "")
    assert server.percents() == [10, 70]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_handler_of_the_program_wins(server: Endpoint, programs: Programs, when: str) -> None:
    handler = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    parts = (handler, TRAIN) if when == "before" else (TRAIN, handler)
    ended = programs.signal(signal.SIGTERM, *parts, WAIT)
    assert ended.code == 7
    assert server.percents() == [10, 70]


def test_a_handler_that_exits_in_the_middle_of_complete_costs_nothing(server: Endpoint, programs: Programs) -> None:
    def slowly(_: Handler) -> bool:
        time.sleep(1)
        return True

    server.script(Answer(), then=Answer(before=slowly))
    handler = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    process = programs.start(TRAIN, handler, "m.complete()\n")
    server.await_request(2)
    process.send_signal(signal.SIGTERM)
    assert programs.end(process).code == 7
    assert server.percents() == [10, 100]


def test_a_handler_that_calls_the_one_before_it_decides(server: Endpoint, programs: Programs) -> None:
    handler = """
    before = signal.getsignal(signal.SIGTERM)
    def handle(number, frame):
        before(number, frame)
        sys.exit(7)
    signal.signal(signal.SIGTERM, handle)
    """
    ended = programs.signal(signal.SIGTERM, TRAIN, handler, WAIT)
    assert ended.code == 7
    assert server.percents() == [10, 70]


def test_an_ignored_signal_stays_ignored(server: Endpoint, programs: Programs) -> None:
    program = TRAIN.replace("m = milepost", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nm = milepost")
    process = programs.start(program, "print('ready', flush=True)\ntime.sleep(0.5)\n")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert programs.end(process).code == 0
    assert server.percents() == [10, 70]


def test_signals_are_given_back_at_the_end(programs: Programs) -> None:
    ended = programs.run(TRAIN, "m.complete()\nassert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n")
    assert (ended.code, ended.errors) == (0, "")


def test_signals_can_be_left_alone(programs: Programs) -> None:
    program = "import milepost, signal; m = milepost.start(signals=False)\n"
    ended = programs.run(program, "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n")
    assert (ended.code, ended.errors) == (0, "")


def test_a_process_that_survives_goes_on_reporting(server: Endpoint, programs: Programs) -> None:
    """Process 1 of a container survives. A fake kill stands for the kernel that keeps the signal from it."""
    survive = """
    os.kill, kill = lambda *_: None, os.kill
    kill(os.getpid(), signal.SIGTERM)
    m.report(8, 10)
    kill(os.getpid(), signal.SIGTERM)
    m.complete()
    """
    ended = programs.run(TRAIN, survive)
    assert (ended.code, ended.errors) == (0, "")
    assert server.percents() == [10, 70, 80, 100]


def test_a_reporter_of_another_thread(server: Endpoint, programs: Programs) -> None:
    program = """
    import milepost, threading
    def train():
        m = milepost.start()
        m.report(1, 10)
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    """
    ended = programs.run(program)
    assert (ended.code, ended.errors) == (0, "")
    assert server.percents() == [10]


@pytest.mark.parametrize("end", ["sys.exit(5)", "os._exit(5)", "os.kill(os.getpid(), signal.SIGTERM); time.sleep(20)"])
def test_a_forked_child_does_nothing(server: Endpoint, programs: Programs, end: str) -> None:
    fork = f"""
    child = os.fork()
    if child == 0:
        assert not m.active
        m.report(99, 100)
        m.complete()
        m.fail("no")
        assert m.stored() is None
        {end}
    ended = os.waitpid(child, 0)[1]
    print(os.WEXITSTATUS(ended), os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else 0)
    m.report(8, 10)
    """
    begin = time.monotonic()
    ended = programs.run(TRAIN, fork)
    assert time.monotonic() - begin < 8
    assert ended.code == 0, ended.errors
    assert ended.out == ("0 15\n" if "kill" in end else "5 0\n")
    assert server.percents() == [10, 80]
    assert len({request.connection for request in server.requests}) == 1


def test_a_fork_while_others_report(server: Endpoint, programs: Programs) -> None:
    program = """
    import os, sys, threading, milepost
    m = milepost.start()
    done = threading.Event()
    def work():
        while not done.is_set():
            m.report(1, 10, {"loss": 0.5})
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            m.report(99, 100)
            own = milepost.start(interval=0)
            own.report(50, 100)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    done.set()
    m.complete()
    """
    ended = programs.run(program)
    assert ended.code == 0, ended.errors
    assert server.percents()[-1] == 100
    assert 99 not in server.percents()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing(server: Endpoint, programs: Programs, method: str) -> None:
    worker = """
    import milepost
    m = milepost.start()
    def work(number):
        m.report(99, 100)
        return number * number
    """
    module = server.folder / "worker.py"
    module.write_text(textwrap.dedent(worker))
    programs.environment["PYTHONPATH"] += f":{server.folder}"
    # Workers that import the module anew are processes of their own; the rank says that they do not report.
    program = f"""
    import multiprocessing, os, sys
    if __name__ == "__main__":
        import worker
        os.environ["RANK"] = "1"
        worker.m.report(1, 10)
        with multiprocessing.get_context("{method}").Pool(2) as pool:
            assert pool.map(worker.work, range(4)) == [0, 1, 4, 9]
        worker.m.complete()
    """
    ended = programs.run(program)
    assert ended.code == 0, ended.errors
    assert 99 not in server.percents()
    assert server.percents()[-1] == 100


def test_the_last_report_survives_a_server_that_is_down_for_a_moment(server: Endpoint, programs: Programs) -> None:
    server.script(Answer(503), Answer(503))
    assert programs.run("import milepost; milepost.start().report(1, 10)").code == 0
    assert server.percents() == [10, 10, 10]
