"""The state roots that the tests of this directory share."""

import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from .evidence_builder import EvidenceRoot, write_host

CopyOfCorpus = Callable[[], EvidenceRoot]


@pytest.fixture
def host(tmp_path: Path) -> EvidenceRoot:
    """Return a state root of our own, not yet indexed."""
    return write_host(tmp_path / "state")


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
