# SPDX-License-Identifier: Apache-2.0
"""Which class of a framework an integration derives from, and that none is imported for nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from milepost import environment
from milepost.integrations.bases import bases
from milepost.integrations.lightning_entry import for_lightning, for_pytorch_lightning

SOURCE = Path(__file__).resolve().parent.parent / "src"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packages, and one that is broken."""
    for name in ("first", "second"):
        (tmp_path / f"of_{name}.py").write_text("class Callback:\n    pass\n")
    (tmp_path / "of_broken.py").write_text("import of_nowhere\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("of_first", "of_second", "of_broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.usefixtures("packages")
def test_packages_that_are_imported_count() -> None:
    import of_second  # type: ignore[import-not-found]

    assert bases("of_first:Callback", "of_second:Callback") == (of_second.Callback,)
    assert "of_first" not in sys.modules


@pytest.mark.usefixtures("packages")
def test_of_packages_that_are_not_imported_all_count() -> None:
    found = bases("of_first:Callback", "of_broken:Callback", "of_missing:Callback", "of_second:Callback")
    assert [base.__module__ for base in found] == ["of_first", "of_second"]


@pytest.mark.usefixtures("packages")
def test_without_any_package_the_error_names_them() -> None:
    with pytest.raises(ImportError, match="of_broken, of_missing"):
        bases("of_broken:Callback", "of_missing:Callback")


def test_lightning_gets_nothing_from_us_outside_a_train_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.URL, raising=False)
    assert (for_lightning(), for_pytorch_lightning()) == ([], [])


def test_a_trainer_is_made_whatever_goes_wrong_with_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.URL, "https://example.invalid")
    monkeypatch.setitem(sys.modules, "milepost.integrations.lightning", None)  # importing it fails
    assert (for_lightning(), for_pytorch_lightning()) == ([], [])


def test_importing_the_package_imports_no_integration() -> None:
    program = "import sys, milepost; print([name for name in sys.modules if 'integrations' in name])"
    ended = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(SOURCE)}, check=True, capture_output=True, text=True
    )
    assert ended.stdout.strip() == "[]"
