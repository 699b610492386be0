"""Objects of the store, checked before they are used: what is damaged is neither served nor trained on.

A folder is `objects/<aa>/<sha256>`; next to it is `<sha256>.manifest.json`: canonical JSON, a list of
{"path", "sha256", "bytes"} whose own sha256 is the folder's name. A file is `objects/<aa>/<sha256>.<suffix>`.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.plain_files import read_plain_file

CHUNK = 1 << 22
HEARTBEAT_BYTES = 1 << 28
"""Bytes hashed between two heartbeats: well below a second of work, so that a large folder shows progress."""


class Damaged(InvalidArtifact):
    """A stored object is missing, torn or altered; `file` is where."""

    def __init__(self, file: Path, problem: str):
        super().__init__(f"{file}: {problem}")
        self.file = str(file)


def is_stored(path: Path) -> bool:
    """True for what has the place of an object in a store; anything else, such as a pretrained model's
    folder, has no hash."""
    name = path.name.partition(".")[0]
    return (
        re.fullmatch("[0-9a-f]{64}", name) is not None
        and path.parent.name == name[:2]
        and path.parent.parent.name == "objects"
    )


def is_inside(path: str) -> bool:
    """True for a relative path that leads nowhere outside the folder that it is relative to."""
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def check_stored(path: Path, heartbeat: Callable[[], None] = lambda: None) -> None:
    """Compare every byte of a stored file or folder with its name; a path outside a store passes. Raises
    Damaged."""
    path = Path(os.path.abspath(path))
    if not is_stored(path):
        return
    if path.is_symlink():
        raise Damaged(path, "a link, where an object belongs")
    if path.suffix:
        _check_file(path, path.name.partition(".")[0], None, heartbeat)
        return
    if not path.is_dir():
        raise Damaged(path, "missing")
    manifest = _manifest(path)
    files = sorted(path.rglob("*"))
    for file in files:
        if file.is_symlink():
            raise Damaged(file, "a link, where a file of the object belongs")
    for entry in manifest:
        _check_file(path / entry["path"], entry["sha256"], entry["bytes"], heartbeat)
    listed = {entry["path"] for entry in manifest}
    for file in files:
        if file.is_file() and file.relative_to(path).as_posix() not in listed:
            raise Damaged(file, "a file that is not in the manifest")


def folder_hash(folder: Path, heartbeat: Callable[[], None] = lambda: None) -> str:
    """The sha256 of the manifest that a store would make of the folder: its name there."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    manifest = [
        {"bytes": file.stat().st_size, "path": path, "sha256": sha256_of(file, heartbeat)}
        for path, file in sorted(files.items())
    ]
    return hashlib.sha256(
        json.dumps(manifest, separators=(",", ":"), ensure_ascii=False).encode()
    ).hexdigest()


def sha256_of(path: Path, heartbeat: Callable[[], None] = lambda: None) -> str:
    digest, since = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            since += len(chunk)
            if since >= HEARTBEAT_BYTES:
                heartbeat()
                since = 0
    return digest.hexdigest()


def _manifest(folder: Path) -> list[dict]:
    file = folder.with_name(f"{folder.name}.manifest.json")
    try:
        data = read_plain_file(file)
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        problem = "missing" if is_missing else "a link, a pipe or too large"
        raise Damaged(file, f"the manifest is {problem}") from None
    if hashlib.sha256(data).hexdigest() != folder.name:
        raise Damaged(file, "the manifest was altered")
    manifest = json.loads(data)
    if not all(is_inside(entry["path"]) for entry in manifest):
        raise Damaged(file, "it lists what is not a file of the folder")
    return manifest


def _check_file(file: Path, expected: str, size: int | None, heartbeat: Callable[[], None]) -> None:
    if not file.is_file():
        raise Damaged(file, f"missing (expected {expected})")
    found = (
        f"{file.stat().st_size} bytes"
        if size not in (None, file.stat().st_size)
        else sha256_of(file, heartbeat)
    )
    if found != expected:
        raise Damaged(file, f"altered or torn (expected {expected}, found {found})")
