"""The docs are a site: it builds, and each link and anchor leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

ROOT = Path(__file__).parents[3]
MKDOCS = Path(sys.executable).with_name("mkdocs")


def build(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MKDOCS, "build", "--strict", "--config-file", source / "mkdocs.yml", "--site-dir", folder],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_site_builds_and_each_page_is_in_its_menu(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path)

    assert done.returncode == 0, done.stderr
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "index.md"]
    names = [page.relative_to(ROOT / "docs").with_suffix("") for page in pages]
    assert [str(name) for name in names if not (tmp_path / name / "index.html").exists()] == []


def test_a_link_to_a_heading_that_is_not_there_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# One\n\n[gone](#two)\n")
    config = re.sub(r"(?s)^nav:.*|^hooks:.*?\n", "", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    (tmp_path / "mkdocs.yml").write_text(config)

    done = build(tmp_path, tmp_path / "site")

    assert done.returncode == 1
    assert "#two" in done.stderr


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_each_link_from_outside_the_site_leads_to_a_page_and_a_heading(page: str) -> None:
    links = re.findall(r"\]\(([^):]+)\)", (ROOT / page).read_text())
    parts = [(ROOT / link.partition("#")[0], link.partition("#")[2]) for link in links]

    assert [str(file) for file, _ in parts if not file.exists()] == []
    assert [f"{file.name}#{anchor}" for file, anchor in parts if anchor not in anchors(file)] == []


def anchors(file: Path) -> set[str]:
    if file.suffix != ".md":
        return {""}
    headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
    return {"", *(slugify(heading.replace("`", ""), "-") for heading in headings)}
