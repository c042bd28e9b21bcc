"""Everything that may be wrong with a seal."""

import os
import shutil
from collections.abc import Callable

from .evidence_documents import command_catalog
from .evidence_files import CARD, CATALOG, RECEIPT, RunDirectory, artifact, final_receipt
from .fault import Fault
from .place_faults import fifo_at, link_at, place_outside


def _receipt(**changes: object) -> Callable[[RunDirectory], None]:
    """Change fields of the receipt; it stays read-only."""
    return lambda run: run.rewrite(RECEIPT, changes)


def _listing(path: str) -> Callable[[RunDirectory], None]:
    """Let the receipt list the card under another path as well."""

    def inflict(run: RunDirectory) -> None:
        entry = artifact(run.path, "prompt.md") | {"path": path}
        run.rewrite(RECEIPT, {"artifacts": [*run.read(RECEIPT)["artifacts"], entry]})

    return inflict


def _disagreeing(run: RunDirectory) -> None:
    entry = artifact(run.path, "prompt.md") | {"sha256": "0" * 64}
    run.rewrite(RECEIPT, {"artifacts": [*run.read(RECEIPT)["artifacts"], entry]})


def _unlisted(name: str) -> Callable[[RunDirectory], None]:
    def inflict(run: RunDirectory) -> None:
        kept = [entry for entry in run.read(RECEIPT)["artifacts"] if entry["path"] != name]
        run.rewrite(RECEIPT, {"artifacts": kept})

    return inflict


def _flipped(name: str) -> Callable[[RunDirectory], None]:
    def inflict(run: RunDirectory) -> None:
        data = bytearray((run.path / name).read_bytes())
        data[len(data) // 2] ^= 1
        run.write(name, bytes(data), mode=0o444)

    return inflict


def _sealed_with_another_catalog(run: RunDirectory) -> None:
    run.write(CATALOG, command_catalog() | {"role": "review"}, mode=0o444)
    run.seal([entry["path"] for entry in run.read(RECEIPT)["artifacts"]])


def _sealed_with_another_card(run: RunDirectory) -> None:
    run.write(CARD, "another card\n", mode=0o444)
    run.seal([entry["path"] for entry in run.read(RECEIPT)["artifacts"]])


def _artifact_as_link(run: RunDirectory) -> None:
    copy = place_outside(run) / "output.log"
    shutil.copyfile(run.path / "output.log", copy)
    link_at("output.log", lambda _: str(copy))(run)


def _artifact_behind_link(run: RunDirectory) -> None:
    copy = place_outside(run) / "collections"
    shutil.move(run.path / "collections", copy)
    (run.path / "collections").symlink_to(copy)


def _receipt_as_link(run: RunDirectory) -> None:
    copy = place_outside(run) / "receipt"
    shutil.move(run.path / RECEIPT, copy)
    (run.path / RECEIPT).symlink_to(copy)


def _artifact_as_directory(run: RunDirectory) -> None:
    (run.path / "output.log").unlink()
    (run.path / "output.log").mkdir()


def _grown(run: RunDirectory) -> None:
    data = (run.path / "output.log").read_bytes()
    run.write("output.log", data + b"\n", mode=0o444)


def _empty_receipt(run: RunDirectory) -> None:
    run.write(RECEIPT, final_receipt(run.session_id, []), mode=0o444)


SEAL_FAULTS = (
    Fault("missing artifact", lambda run: (run.path / "output.log").unlink(), "output.log"),
    Fault("missing structured artifact", lambda run: (run.path / "completion.json").unlink(), "completion.json"),
    Fault("changed artifact", _flipped("prompt.md"), "prompt.md"),
    Fault("changed structured artifact", _flipped("completion.json"), "completion.json"),
    Fault("grown artifact", _grown, "output.log"),
    Fault("emptied artifact", lambda run: os.truncate(run.path / "prompt.md", 0), "prompt.md"),
    Fault("link for an artifact", _artifact_as_link, "output.log"),
    Fault("artifact behind a linked directory", _artifact_behind_link, "collections"),
    Fault("directory for an artifact", _artifact_as_directory, "output.log"),
    Fault("FIFO for an artifact", fifo_at("output.log"), "output.log"),
    Fault("link for the receipt", _receipt_as_link, RECEIPT, None, "unsafe_source"),
    Fault("receipt its owner may write", lambda run: (run.path / RECEIPT).chmod(0o644), RECEIPT),
    Fault("receipt others may write", lambda run: (run.path / RECEIPT).chmod(0o446), RECEIPT),
    Fault("receipt that is no JSON", lambda run: run.write(RECEIPT, "{sealed", mode=0o444), RECEIPT),
    Fault("empty receipt", lambda run: run.write(RECEIPT, "", mode=0o444), RECEIPT),
    Fault("receipt over nothing", _empty_receipt, RECEIPT),
    Fault("receipt of another session", _receipt(session_id="other-live-run"), RECEIPT),
    Fault("receipt of another contract", _receipt(schema="agent-workflow/heartbeat/v2"), RECEIPT),
    Fault("receipt with a path out of the run", _listing("../sealed-run/prompt.md"), RECEIPT),
    Fault("receipt with a path out of the run and back", _listing("collections/../prompt.md"), RECEIPT),
    Fault("receipt with an absolute path", _listing("/etc/hostname"), RECEIPT),
    Fault("receipt with a path that is not normalised", _listing("./prompt.md"), RECEIPT),
    Fault("receipt with an empty component", _listing("collections//completion.json"), RECEIPT),
    Fault("receipt with an empty path", _listing(""), RECEIPT),
    Fault("receipt with a NUL in a path", _listing("prompt.md\0"), RECEIPT),
    Fault("receipt with entries that disagree", _disagreeing, RECEIPT),
    Fault("receipt without a required artifact", _unlisted("patch.diff"), RECEIPT),
    Fault("receipt without the completion's collection", _unlisted("collections/completion.json"), RECEIPT),
    Fault("receipt without the catalog", _unlisted(CATALOG), RECEIPT),
    Fault("sealed catalog that was not launched with", _sealed_with_another_catalog, CATALOG),
    Fault("sealed card that was not launched with", _sealed_with_another_card, CARD),
)
"""What breaks a seal that was whole."""
