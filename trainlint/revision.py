"""A git revision in, its files in a folder out: as they are stored, so that nothing of the repository is executed.

The only module that starts git. No hook, filter, text conversion, helper or fetch of the repository has a part in what
it asks: it looks up a revision, lists a tree, and reads objects.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence

from trainlint.record import dataclass
from trainlint.source.text import LARGEST, LARGEST_NOTEBOOK, NOTEBOOK

OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never", "--no-pager")
QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
OURS = ("GIT_CONFIG", "GIT_CEILING_DIRECTORIES")
"""Of what a hook sets in the environment, what speaks of the user and not of one repository."""

BINARY = (
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".pdf", ".mp3", ".mp4", ".wav", ".flac", ".zip", ".gz", ".tar"),
    *(".npy", ".npz", ".pt", ".pth", ".bin", ".ckpt", ".onnx", ".parquet", ".so", ".ttf", ".woff", ".woff2", ".csv"),
)
"""Files that no settings are read from; most bytes of a repository are in them."""

MANY = 2000
"""Objects that are asked for at once: what git answers stays in memory."""


class NoRevision(ValueError):
    """A revision, or a repository, that there is not; the message says which."""


@dataclass(frozen=True)
class Repository:
    """A working tree: the folder at its top."""

    top: str


@dataclass(frozen=True)
class Blob:
    """A file of a revision: its path from the top, and the name and the size of what it holds."""

    path: str
    name: str
    size: int


def repository(path: str) -> Repository:
    """The working tree that a path lies in.

    Raises:
        NoRevision: it lies in none, or there is no git.
    """
    folder = path
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    top = _git(folder, ("rev-parse", "--show-toplevel"), f"{path}: not in a git repository").decode()
    return Repository(os.path.normpath(top.removesuffix("\n")))


def commit(repository: Repository, revision: str) -> str:
    """The commit that a revision names.

    Raises:
        NoRevision: there is none.
    """
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return _git(repository.top, words, f"unknown revision {revision!r} in {repository.top}").decode().strip()


def write(repository: Repository, commit: str, folder: str) -> None:
    """Write the files of a commit that may be read below a folder."""
    blobs = [blob for blob in _blobs(repository, commit) if _is_wanted(blob)]
    for start in range(0, len(blobs), MANY):
        some = blobs[start : start + MANY]
        for blob, data in zip(some, _data(repository, some), strict=True):
            path = os.path.join(folder, *blob.path.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)


def _is_wanted(blob: Blob) -> bool:
    """Whether a file may be read; a path that would lead out of the folder is none of git's making."""
    if any(part in {"", ".", ".."} or part.lower() == ".git" for part in blob.path.split("/")):
        return False
    largest = LARGEST_NOTEBOOK if blob.path.endswith(NOTEBOOK) else LARGEST
    return blob.size <= largest and not blob.path.lower().endswith(BINARY)


def _blobs(repository: Repository, commit: str) -> Iterator[Blob]:
    """The regular files of a commit; links and other repositories are not followed."""
    listed = _git(repository.top, ("ls-tree", "-r", "-z", "-l", "--full-tree", commit), f"{commit}: no tree")
    for entry in listed.split(b"\0"):
        about, _, path = entry.partition(b"\t")
        if about.startswith(b"100"):
            _, _, name, size = about.split()
            yield Blob(os.fsdecode(path), name.decode(), int(size))


def _data(repository: Repository, blobs: Sequence[Blob]) -> Iterator[bytes]:
    asked = "".join(f"{blob.name}\n" for blob in blobs).encode()
    answer = _git(repository.top, ("cat-file", "--batch"), "git cannot read its objects", asked)
    place = 0
    for blob in blobs:
        end = answer.find(b"\n", place)
        if not answer[place:end].endswith(f"blob {blob.size}".encode()):
            raise NoRevision(f"{blob.path}: git does not hold it here")
        yield answer[end + 1 : end + 1 + blob.size]
        place = end + 1 + blob.size + 1


def _git(folder: str, words: Sequence[str], failed: str, given: bytes = b"") -> bytes:
    try:
        done = subprocess.run(
            ["git", *OPTIONS, "-C", folder, *words], input=given, capture_output=True, env=_environment(), check=False
        )
    except FileNotFoundError as error:
        raise NoRevision("git is not installed, or not on the PATH") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        known = not said or "not a git repository" in said
        raise NoRevision(failed if known else f"{failed}: {said}")
    return done.stdout


def _environment() -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(OURS)}
    return {**kept, **QUIET}
