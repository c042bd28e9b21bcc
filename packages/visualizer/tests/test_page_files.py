"""The files of the page: joined into few, each module once, and nothing of it lost."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from agent_workflow.visualizer._joined import UnknownStyle, join_modules, join_sheets
from agent_workflow.visualizer._page import is_apart

PAGE = Path(str(files("agent_workflow.visualizer") / "page"))
MODULES = {path.relative_to(PAGE).as_posix(): path.read_text(encoding="utf-8") for path in PAGE.rglob("*.js")}


def test_every_module_is_in_one_joined_file_only() -> None:
    """No state exists twice: what a later screen shares with the first ones is taken from there."""
    first = join_modules(MODULES, "main.js", is_apart)
    later = join_modules(MODULES, "fleet/fleet.js", is_apart, "main.js")
    held = [set(re.findall(r"^const (m_\w+) = \(\(\) => \{$", joined, re.MULTILINE)) for joined in (first, later)]
    own = {"m_" + re.sub(r"\W", "_", path.removesuffix(".js")) for path in MODULES if not is_apart(path)}

    assert not held[0] & held[1]
    assert own == held[0] | held[1]


def test_joined_files_import_only_what_stays_apart() -> None:
    """Beside libraries and the early requests there is nothing left to fetch."""
    first = join_modules(MODULES, "main.js", is_apart)
    later = join_modules(MODULES, "fleet/fleet.js", is_apart, "main.js")

    targets = re.findall(r'^import .* from "([^"]+)";$', first, re.MULTILINE)
    assert {"./early.js", "./vendor/preact.js", "./vendor/hooks.js", "./vendor/htm.js"} == set(targets)
    assert {"../vendor/uplot.js", "../main.js"} == set(re.findall(r'^import .* from "([^"]+)";$', later, re.MULTILINE))


SMALL = {
    "main.js": 'import { double as twice } from "./a/b.js";\nimport lib from "./vendor/lib.js";\nlib(twice(2));\n',
    "a/b.js": 'export { one } from "../c.js";\nexport function double(x) {\n  return 2 * x;\n}\nexport const z = 1;\n',
    "c.js": "export class one {}\n",
    "vendor/lib.js": "export default print;\n",
}


def test_modules_keep_their_names_and_their_order() -> None:
    """What is imported stands before what imports it; renamed, passed-on and default imports are bound."""
    joined = join_modules(SMALL, "main.js", is_apart)

    assert joined.index("// c.js") < joined.index("// a/b.js") < joined.index("// main.js")
    assert "const { double: twice } = m_a_b;" in joined
    assert "const lib = m_vendor_lib.default;" in joined
    assert "return { double, z, one: m_c.one };" in joined


@pytest.mark.parametrize(
    "text",
    [
        'import * as all from "./c.js";\n',
        "export default 1;\n",
        "export let moving = 1;\n",
        'import { one } from "elsewhere";\n',
        'import { one } from "./gone.js";\n',
        'import { main } from "./main.js";\n',
        'export async function later() {\n  return import("./c.js");\n}\n',
    ],
)
def test_what_cannot_be_joined_is_refused(text: str) -> None:
    """At the start of the server and in the tests, and not by a page that stays empty."""
    texts = SMALL | {"a/b.js": text, "a/main.js": 'import { x } from "./b.js";\nexport const main = x;\n'}

    with pytest.raises(UnknownStyle):
        join_modules(texts, "main.js", is_apart)


def test_style_sheets_are_put_together_in_their_order() -> None:
    """A later one wins, as it does where they are fetched one by one."""
    texts = {
        "css/page.css": '/* all */\n@import "a.css";\n@import "../v/b.css";\n',
        "css/a.css": "a{}",
        "v/b.css": "b{}",
    }

    assert "/* all */\na{}b{}" == join_sheets(texts, "css/page.css")


def test_the_page_is_told_how_many_databases_there_are(serve: object, client: TestClient, tmp_path: Path) -> None:
    """It asks for the sessions at once where no project must be named."""
    several: TestClient = serve(tmp_path / "a" / "sssf.db", tmp_path / "b" / "sssf.db")  # type: ignore[operator]

    assert 'data-databases="1"' in client.get("/").text
    assert 'data-databases="2"' in several.get("/").text


def test_files_are_named_by_their_content(client: TestClient) -> None:
    """Asked for again, a file is 304; each module can still be had by itself."""
    reply = client.get("/main.js")

    assert 304 == client.get("/main.js", headers={"if-none-match": reply.headers["etag"]}).status_code
    assert MODULES["core/api.js"] == client.get("/core/api.js").text
    assert "@import" not in client.get("/css/page.css").text
    assert 404 == client.get("/core/%2e%2e/main.js.map").status_code
