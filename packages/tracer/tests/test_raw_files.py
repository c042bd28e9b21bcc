"""Files of a session: in bounded pieces, by checked names, without following a link."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.tracer._prompt_files import newest_prompts, prompts_of_send, sends
from agent_workflow.tracer._raw_files import MAX_RANGE, NoSuchFile, UnsafeName, list_files, read_range, segments


@given(path=st.text())
def test_no_text_names_anything_but_plain_segments(path: str) -> None:
    """What passes holds no dots alone, no separator, no control character."""
    try:
        parts = segments(path)
    except UnsafeName:
        return

    assert path == "/".join(parts)
    assert not {"", ".", ".."} & set(parts)
    assert all(part.isascii() and part.isprintable() and " " not in part for part in parts)


@pytest.mark.parametrize(
    ("offset", "length", "data"), [(0, 4, b"0123"), (8, 4, b"89"), (-3, 9, b"789"), (99, 4, b""), (-99, 2, b"01")]
)
def test_a_piece_is_read_from_either_end(offset: int, length: int, data: bytes, tmp_path: Path) -> None:
    """Beyond the end there is nothing; before the beginning is the beginning."""
    (tmp_path / "log").write_bytes(b"0123456789")

    piece = read_range(tmp_path, ("log",), offset, length)

    assert (data, 10) == (piece.data, piece.size)


def test_a_piece_is_bounded(tmp_path: Path) -> None:
    """However much is asked for."""
    (tmp_path / "log").write_bytes(b"x" * (MAX_RANGE + 10))

    assert MAX_RANGE == len(read_range(tmp_path, ("log",), 0, 10**12).data)


def test_links_folders_and_pipes_are_no_files(tmp_path: Path) -> None:
    """Neither as the file nor on the way to it; a pipe does not block."""
    session, outside = tmp_path / "session", tmp_path / "outside"
    session.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (session / "link").symlink_to(outside / "secret")
    (session / "folder").symlink_to(outside)
    (session / "inner").mkdir()
    os.mkfifo(session / "pipe")

    for parts in (("link",), ("folder", "secret"), ("inner",), ("pipe",), ("nothing",)):
        with pytest.raises(NoSuchFile):
            read_range(session, parts, 0, 10)
    assert [] == list_files(session)


def test_prompts_are_listed_by_send(tmp_path: Path) -> None:
    """In the order they were sent, ten after nine."""
    folder = tmp_path / "builder" / "prompts"
    folder.mkdir(parents=True)
    for number in (9, 10):
        (folder / f"02_build.{number}.user.md").write_text(f"send {number}")
    (folder / "user.md").write_text("send 10")
    (folder / "system.md").write_text("")

    found = sends(tmp_path, "builder")

    assert ["02_build.9", "02_build.10"] == [send["label"] for send in found]
    assert (2, "build", False, True) == tuple(
        found[0][name] for name in ("seq", "phase_name", "has_system", "has_user")
    )
    assert "send 9" == prompts_of_send(tmp_path, "builder", "02_build.9").user
    assert ("", "send 10") == newest_prompts(tmp_path, "builder")
    assert (None, None) == newest_prompts(tmp_path, "nobody")
