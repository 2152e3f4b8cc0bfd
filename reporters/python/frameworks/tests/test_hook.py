# SPDX-License-Identifier: Apache-2.0
"""What the installed package does when Python starts, and when a program imports Transformers.

Here Transformers is a fake of a few lines, so that the file runs where the real one is not installed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import run

LAZY = """
import sys, types

class Lazy(types.ModuleType):
    def __getattr__(self, name):
        if name == "Other":
            return "other"
        raise AttributeError(name)

sys.modules[__name__] = Lazy(__name__)
sys.modules[__name__].__path__ = __path__
"""

FILES = {
    "__init__.py": "class TrainerCallback:\n    pass\n",
    "trainer.py": "class Flow:\n    pass\n\nDEFAULT_CALLBACKS = [Flow]\n",
    "integrations/__init__.py": LAZY,
    "integrations/integration_utils.py": "INTEGRATION_TO_CALLBACK = {}\n",
}


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A folder with a package that looks like Transformers to the hook."""
    for name, text in FILES.items():
        path = tmp_path / "transformers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def output(program: str, fake: Path) -> list[str]:
    """The lines that a program writes inside a TrainJob, with the fake on its path."""
    got = run(program, env={"PYTHONPATH": str(fake)})
    assert got.code == 0, got.output
    return [line for line in got.output.splitlines() if line and not line.startswith("milepost: ")]


def test_every_trainer_gets_the_callback_with_a_fake_of_transformers(fake: Path) -> None:
    lines = output(
        """
import transformers.trainer as trainer
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK as names
print([callback.__name__ for callback in trainer.DEFAULT_CALLBACKS], list(names))
from transformers.integrations import KubeflowTrainerCallback, Other
print(issubclass(trainer.DEFAULT_CALLBACKS[1], KubeflowTrainerCallback), Other)
try:
    from transformers.integrations import Nothing
except ImportError:
    print("there is nothing else")
""",
        fake,
    )
    assert lines == ["['Flow', '_Automatic'] ['kubeflow']", "True other", "there is nothing else"]


def test_a_version_with_a_callback_keeps_it_with_a_fake_of_transformers(fake: Path) -> None:
    utils = fake / "transformers" / "integrations" / "integration_utils.py"
    utils.write_text(
        """
class KubeflowCallback:
    def on_log(self, *arguments, **options):
        return "reported"

INTEGRATION_TO_CALLBACK = {"kubeflow": KubeflowCallback}
"""
    )
    lines = output(
        """
import milepost
import transformers.trainer as trainer
from transformers.integrations.integration_utils import KubeflowCallback
print([callback.__name__ for callback in trainer.DEFAULT_CALLBACKS])
theirs = KubeflowCallback()
print(theirs.on_log(None, logs={}))
with milepost.start():
    print(theirs.on_log(None, logs={}))
print(theirs.on_log(None, logs={}))
from transformers.integrations import KubeflowTrainerCallback
ours = KubeflowTrainerCallback()
print(theirs.on_log(None, logs={}))
""",
        fake,
    )
    assert lines == ["['Flow']", "reported", "None", "reported", "None"]


def test_what_does_not_fit_changes_nothing_with_a_fake_of_transformers(fake: Path) -> None:
    (fake / "transformers" / "trainer.py").write_text("DEFAULT_CALLBACKS = None\n")
    assert output("\nimport transformers.trainer\nprint(transformers.trainer.DEFAULT_CALLBACKS)\n", fake) == ["None"]


def test_an_import_that_fails_fails_as_before_with_a_fake_of_transformers(fake: Path) -> None:
    (fake / "transformers" / "trainer.py").write_text("raise RuntimeError('no torch')\n")
    lines = output(
        """
for _ in range(2):
    try:
        import transformers.trainer
    except RuntimeError as error:
        print(error)
""",
        fake,
    )
    assert lines == ["no torch", "no torch"]


def test_nothing_is_imported_before_it_is_needed(tmp_path: Path) -> None:
    lines = output(
        """
import sys
print(sorted(name for name in sys.modules if "milepost" in name))
import milepost
print(sorted(name for name in sys.modules if name.split(".")[0] in ("transformers", "torch", "accelerate", "numpy")))
""",
        tmp_path,
    )
    assert lines == ["['_milepost_hook']", "[]"]


def test_outside_of_a_trainjob_there_is_no_hook(tmp_path: Path) -> None:
    lines = output(
        """
import os, subprocess, sys
outside = {name: text for name, text in os.environ.items() if "KUBEFLOW" not in name}
look = "import sys; print([name for name in sys.modules if 'milepost' in name], len(sys.meta_path))"
subprocess.run([sys.executable, "-c", look], env=outside, check=True)
subprocess.run([sys.executable, "-c", look], check=True)
""",
        tmp_path,
    )
    assert [line.split("] ")[0] for line in lines] == ["[", "['_milepost_hook'"]
    assert int(lines[1][-1]) == int(lines[0][-1]) + 1


def test_a_broken_hook_stops_no_program_and_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "_milepost_hook.py").write_text("raise RuntimeError('broken')\n")
    assert output("\nprint('runs')\n", tmp_path) == ["runs"]
