"""What the documentation points at exists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from trainshed.jobs import converting
from trainshed.kube.documents import read_yaml

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md"), *(ROOT / "examples").glob("**/*.md")])
MANIFESTS = Path(__file__).parent / "converting" / "manifests"
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    broken = [link for link in _LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert broken == []


def test_the_pages_are_found() -> None:
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "flow.md"} <= {page.name for page in PAGES}


def test_the_converter_is_used_from_python_as_its_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text((MANIFESTS / "pytorch.yaml").read_text())
    (snippet,) = _PYTHON.findall((ROOT / "docs" / "convert.md").read_text())
    exec(compile(snippet, "convert.md", "exec"), {})
    assert "kind: TrainJob" in (tmp_path / "trainjob.yaml").read_text()
    assert "behaves differently: PyTorchJob/" in capsys.readouterr().out


def test_objects_and_texts_have_a_door_each() -> None:
    job = read_yaml((MANIFESTS / "pytorch.yaml").read_text().split("\n---\n")[0].encode())
    assert converting.convert([job]).documents == converting.convert_text(json.dumps(job)).documents
