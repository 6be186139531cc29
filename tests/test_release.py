"""What a release is made of agrees with itself: versions, extras, targets, what is public beside the code."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]


CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_version_is_in_one_place_and_the_changelog_and_the_citation_follow_it() -> None:
    version = PROJECT["version"]
    headings = re.findall(r"^## (.+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    told = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in headings]
    assert all(told)
    assert told[0] is not None
    assert told[0].groups() == (version, str(CITATION["date-released"]))
    assert CITATION["version"] == version
    others = [*(ROOT / "src").rglob("*.py"), ROOT / "README.md", *ROOT.glob(".github/**/*.*")]
    assert [str(path) for path in others if version in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_extras_and_targets_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    extras = {name for names in re.findall(r"(?:regard|\.)\[([a-z,]+)\]'", text) for name in names.split(",")}
    assert extras - PROJECT["optional-dependencies"].keys() == set()
    targets = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M))
    assert {target for target in targets if not re.search(rf"^{target}:", MAKEFILE, re.M)} == set()


def test_make_release_tries_every_line_that_installs_from_a_clone() -> None:
    (recipe,) = re.findall(r"^release: \$\(READY\)\n((?:\t.*\n)+)", MAKEFILE, re.M)
    tried = {frozenset(names.split(",")) for names in re.findall(r"'\.\[([a-z,]+)\]'", recipe)}
    lines = [page.read_text(encoding="utf-8") for page in PAGES]
    told = {frozenset(names.split(",")) for text in lines for names in re.findall(r"install '\.\[([a-z,]+)\]'", text)}
    assert told
    assert [names for names in told if not any(names <= others for others in tried)] == []


def test_the_workflow_runs_targets_that_exist_on_every_python_that_is_supported() -> None:
    jobs = WORKFLOW["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {run.split()[1] for run in runs} == {"test", "release"}
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"


def test_what_is_said_to_be_cited_is_complete() -> None:
    assert {"cff-version", "message", "title", "authors"} <= CITATION.keys()
    assert CITATION["license"] == PROJECT["license"]
    assert [each["name"] for each in CITATION["authors"]] == [each["name"] for each in PROJECT["authors"]]
    page = (ROOT / "docs/citing.md").read_text(encoding="utf-8")
    assert CITATION["title"] in page
    assert f"year = {{{CITATION['date-released'].year}}}" in page


def test_a_stranger_reads_the_readme_on_one_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60
