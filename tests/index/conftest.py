"""The state roots that the tests of this directory share."""

import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_workflow import index_store

from .corpus_reading import Expected
from .evidence_files import EvidenceRoot
from .evidence_runs import write_host
from .genuine_run import GenuineRun

CopyOfCorpus = Callable[[], EvidenceRoot]


@pytest.fixture
def host(tmp_path: Path) -> EvidenceRoot:
    """Return a state root of our own, not yet indexed."""
    return write_host(tmp_path / "state")


@pytest.fixture
def indexed(host: EvidenceRoot) -> EvidenceRoot:
    """Return our own state root, indexed."""
    index_store.rebuild(host.path)
    return host


@pytest.fixture(scope="session")
def corpus_archives() -> Path:
    """Return the folder of the genuine archives."""
    folder = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not folder:
        pytest.skip("AGENT_WORKFLOW_CORPUS names no folder of genuine evidence")
    return Path(folder)


@pytest.fixture(scope="session")
def unpacked_corpus(corpus_archives: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the genuine state root, unpacked once; nobody may change it."""
    place = tmp_path_factory.mktemp("corpus")
    with tarfile.open(corpus_archives / "agent-workflow-state.tar.xz") as archive:
        # By attribute, because Python 3.11.2 has no filter argument yet; the corpus holds links and modes on purpose.
        archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
        archive.extractall(place)
    (place / "state").chmod(0o700)
    return place / "state"


@pytest.fixture(scope="session")
def copy_of_corpus(unpacked_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> CopyOfCorpus:
    """Return what makes a copy of the genuine state root that may be changed."""

    def copy() -> EvidenceRoot:
        place = tmp_path_factory.mktemp("host") / "state"
        shutil.copytree(unpacked_corpus, place, symlinks=True)
        place.chmod(0o700)
        return EvidenceRoot(place)

    return copy


@pytest.fixture(scope="session")
def root(copy_of_corpus: CopyOfCorpus) -> EvidenceRoot:
    """Return a copy of the genuine state root, indexed; nobody may change it."""
    copy = copy_of_corpus()
    index_store.rebuild(copy.path)
    return copy


@pytest.fixture(scope="session")
def expected(corpus_archives: Path) -> Expected:
    """Return what must be concluded about each genuine run."""
    conclusions: Expected = json.loads((corpus_archives / "agent-workflow-state.expected.json").read_bytes())
    return conclusions


@pytest.fixture(scope="session")
def current_runs(root: EvidenceRoot, expected: Expected) -> list[GenuineRun]:
    """Return the genuine run directories that are evidence."""
    places = {"active": "runs", "archive": "archive"}
    return [
        GenuineRun(root.path / places[conclusion["storage_class"]] / session_id)
        for session_id, conclusion in expected.items()
        if conclusion["index_state"] == "current"
    ]
