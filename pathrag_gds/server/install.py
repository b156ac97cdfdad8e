"""Fetch the locked artifacts once per user; every home shares them."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathrag_gds.errors import EmbeddedServerError
from pathrag_gds.server.artifacts import DEFAULT_LANE, Artifact, Lane, find_lane, locked
from pathrag_gds.server.files import exclusive, make_folder, refused

__all__ = [
    "Installation",
    "Progress",
    "default_cache",
    "install",
    "local_repository",
]

Progress = Callable[[int, int, str], None]
"""Receives bytes done, bytes in all and the jar just done; called in the caller's thread."""

_THREADS = 12
_ATTEMPTS = 3
_WAIT_S = 900.0
_CACHE_HINT = "Set PATHRAG_CACHE to a folder that you can write in, then run the command again."


@dataclass(frozen=True, slots=True)
class Installation:
    """The jars of a lane, complete on disk.

    Attributes:
        folder: Root of the cache; jars lie in it as in a Maven repository.
        jars: In the order of the class path.
        plugins: Those of them that go into the plugins folder.
        fetched: How many were downloaded by this call.
        reused: How many this call took from the local Maven repository.
    """

    lane: Lane
    folder: Path
    jars: tuple[Path, ...]
    plugins: tuple[Path, ...]
    fetched: int = 0
    reused: int = 0


def default_cache() -> Path:
    """Give the folder for jars: ``PATHRAG_CACHE``, or the user's cache folder of the platform."""
    if chosen := os.environ.get("PATHRAG_CACHE"):
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("pathrag-gds", appauthor=False)


def local_repository() -> Path | None:
    """Find the user's Maven repository: ``M2_REPO``, ``settings.xml``, the usual place; or None."""
    home = Path.home() / ".m2"
    candidates = [os.environ.get("M2_REPO"), _from_settings(home / "settings.xml")]
    chosen = next((Path(c).expanduser() for c in candidates if c), home / "repository")
    return chosen if chosen.is_dir() else None


def _from_settings(settings: Path) -> str | None:
    try:
        root = ElementTree.parse(settings).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    text = root.findtext("{*}localRepository") or root.findtext("localRepository")
    return text.strip().replace("${user.home}", str(Path.home())) if text else None


def install(
    lane: str = DEFAULT_LANE,
    progress: Progress | None = None,
    *,
    cache: Path | None = None,
    verify: bool = True,
) -> Installation:
    """Make every jar of a lane present, fetching what is missing or damaged.

    Jars that are complete are kept, so an interrupted call goes on where it stopped. Several
    processes may call at once; the later ones wait.

    Args:
        cache: Where jars are kept; ``default_cache()`` when not given.
        verify: Hash the jars that are already there; otherwise only their sizes are looked at.

    Raises:
        ConfigError: There is no such lane.
        EmbeddedServerError: A jar cannot be fetched or written.
    """
    chosen, artifacts = find_lane(lane), locked(lane)
    folder = (cache or default_cache()).absolute()
    if os.pathsep in str(folder):
        raise EmbeddedServerError(
            f"Java cannot use jars in {folder}: {os.pathsep!r} separates class path entries.",
            hint="Set PATHRAG_CACHE to a folder without it, then run the command again.",
        )
    missing = [a for a in artifacts if not _intact(folder / a.path, a, hashed=verify)]
    fetched = reused = 0
    if missing:
        make_folder(folder, hint=_CACHE_HINT)
        with exclusive(
            folder / "install.lock", wait_s=_WAIT_S, doing="installing jars", hint=_CACHE_HINT
        ):
            missing = [a for a in missing if not _intact(folder / a.path, a, hashed=True)]
            fetched, reused = _supply(missing, artifacts, folder, progress)
    return Installation(
        lane=chosen,
        folder=folder,
        jars=tuple(folder / a.path for a in artifacts),
        plugins=tuple(folder / a.path for a in artifacts if a.plugin),
        fetched=fetched,
        reused=reused,
    )


def _intact(path: Path, artifact: Artifact, *, hashed: bool) -> bool:
    try:
        if path.stat().st_size != artifact.size:
            return False
        return not hashed or _sha256(path) == artifact.sha256
    except OSError:
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _supply(
    missing: list[Artifact], artifacts: Iterable[Artifact], folder: Path, progress: Progress | None
) -> tuple[int, int]:
    total = sum(a.size for a in artifacts)
    done = total - sum(a.size for a in missing)
    # Only the holder of the lock is here: what an earlier, killed call left can go.
    for leftover in folder.glob("staging-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix="staging-", dir=folder))
    repository = local_repository()
    pool = ThreadPoolExecutor(max_workers=_THREADS)
    reused = 0
    try:
        jobs = {pool.submit(_place, a, folder, staging, repository): a for a in missing}
        for job in as_completed(jobs):
            reused += job.result()
            done += jobs[job].size
            if progress:
                progress(done, total, jobs[job].file_name)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(staging, ignore_errors=True)
    return len(missing) - reused, reused


def _place(artifact: Artifact, folder: Path, staging: Path, repository: Path | None) -> bool:
    """Bring one jar to its place; tell whether it came from the local repository."""
    target = folder / artifact.path
    draft = staging / artifact.sha256
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source = repository / artifact.path if repository else None
        local = source is not None and _intact(source, artifact, hashed=True)
        if source is not None and local:
            _link_or_copy(source, draft)
        else:
            os.replace(_download(artifact, staging), draft)
        os.replace(draft, target)
    except OSError as error:
        raise refused("write", target, error, hint=_CACHE_HINT) from error
    return local


def _link_or_copy(source: Path, target: Path) -> None:
    with suppress(OSError):
        os.link(source.resolve(), target)
        return
    shutil.copyfile(source, target)


def _download(artifact: Artifact, staging: Path) -> Path:
    problem = ""
    for attempt in range(_ATTEMPTS):
        # A folder per attempt, as jgo writes to the final name and takes what it finds there.
        place = staging / f"{artifact.sha256}-{attempt}"
        try:
            path = Path(_resolve(artifact, place))
        except OSError as error:
            # requests' network errors are OSErrors too; those of the file system stop at once.
            if error.errno is not None:
                raise
            problem = f"{type(error).__name__}"
        except (RuntimeError, AssertionError):
            problem = "the repository does not have it or refused it"
        else:
            if _intact(path, artifact, hashed=True):
                return path
            problem = "what arrived has another size or SHA-256 than the lock file says"
    raise EmbeddedServerError(
        f"Cannot fetch {artifact}: {problem} ({_ATTEMPTS} attempts).",
        hint="Check the network (HTTPS_PROXY, PATHRAG_MAVEN_URL for a mirror), then run: "
        "pathrag server install (it goes on where it stopped)",
    )


def _resolve(artifact: Artifact, place: Path) -> Any:
    from jgo.maven import MavenContext

    mirror = os.environ.get("PATHRAG_MAVEN_URL")
    context = MavenContext(
        repo_cache=place,
        remote_repos={"mirror": mirror.rstrip("/")} if mirror else None,
        timeout=60,
    )
    component = context.project(artifact.group, artifact.artifact).at_version(artifact.version)
    return component.artifact(classifier=artifact.classifier).resolve()
