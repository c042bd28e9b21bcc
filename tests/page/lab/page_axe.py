"""axe-core on a page."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = (Path(__file__).parents[1] / "vendor/axe.min.js").read_text(encoding="utf-8")


def findings(page: Page) -> list[tuple[str, str, list[str]]]:
    """Ask axe-core what is serious or critical."""
    # Through the protocol: the page's own policy lets no foreign script in, which is as it should be.
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE + "; undefined")
    report: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        (one["id"], one["help"], [node["html"][:160] for node in one["nodes"][:4]])
        for one in report["violations"]
        if one["impact"] in ("serious", "critical")
    ]
