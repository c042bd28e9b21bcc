"""The files of the page: whole, listed, and nothing of them from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import agent_workflow.visualizer

ROOT = Path(__file__).parents[2]
IMPORT = re.compile(r"""^(?:import|export)\b(?:[^;"']*?\bfrom)?\s*["']([^"']+)["']""", re.MULTILINE)
PAGE = Path(agent_workflow.visualizer.__file__).parent / "page"


def test_vendored_files_are_what_was_brought() -> None:
    """Every vendored file has the digest that VENDORED.json names."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/vendor-page-libraries", "--check"], capture_output=True, text=True, check=False
    )

    assert (0, "") == (done.returncode, done.stdout)


def test_what_the_first_screens_need_is_fetched_at_once() -> None:
    """index.html names each file that main.js stands on, so that none is found only when another has come."""
    listed = re.findall(r'rel="modulepreload" href="([^"]+)"', (PAGE / "index.html").read_text())
    scripts = re.findall(r'<script type="module" src="([^"]+)"', (PAGE / "index.html").read_text())

    assert ["main.js", "vendor/hooks.js", "vendor/htm.js", "vendor/preact.js"] == sorted(listed)
    assert ["early.js", "main.js"] == scripts


def test_every_style_sheet_is_listed() -> None:
    """page.css names each style sheet, and index.html names page.css."""
    sheets = {path.relative_to(PAGE / "css").as_posix() for path in (PAGE / "css").glob("*.css")} - {"page.css"}
    libraries = {f"../vendor/{path.name}" for path in (PAGE / "vendor").glob("*.css")}

    assert sheets | libraries == set(re.findall(r'@import "([^"]+)"', (PAGE / "css/page.css").read_text()))
    assert ["css/page.css"] == re.findall(r'rel="stylesheet" href="([^"]+)"', (PAGE / "index.html").read_text())


def test_nothing_comes_from_elsewhere_and_nothing_is_inline() -> None:
    """No address of another host, no inline script or style, and no way from text to markup."""
    own = [path for path in PAGE.rglob("*") if path.suffix in {".js", ".css", ".html"} and "vendor" not in path.parts]
    for path in own:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(src|href)=[\"']?https?:|url\(\s*[\"']?https?:", text), path
        assert path.name == "page.css" or "@import" not in text, path
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function", text
        ), path
    index = (PAGE / "index.html").read_text()
    assert not re.search(r"<style|<script(?![^>]*\bsrc=)| style=| on\w+=", index)


def test_modules_import_only_what_is_there() -> None:
    """Each import is a relative path to a file of the page."""
    for path in PAGE.rglob("*.js"):
        for target in IMPORT.findall(path.read_text(encoding="utf-8")):
            assert target.startswith("."), (path, target)
            assert (path.parent / target).is_file(), (path, target)
