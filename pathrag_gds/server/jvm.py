"""Run the JVM: argument files, the process and whether it is still the one that was started."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pathrag_gds.errors import ConfigError, EmbeddedServerError
from pathrag_gds.server.files import write_atomically
from pathrag_gds.server.home import Home
from pathrag_gds.server.install import Installation

__all__ = ["Process", "admin", "check_memory", "spawn", "tail"]

_OPENED = (
    "java.nio",
    "java.io",
    "sun.nio.ch",
    "java.util.concurrent",
    "java.lang",
    "java.lang.invoke",
)
_ADMIN_TIMEOUT_S = 6 * 3600
_KILL_WAIT_S = 30.0

_children: dict[int, subprocess.Popen[bytes]] = {}
"""Servers that this very process started; a parent must collect its children."""


@dataclass(frozen=True, slots=True)
class Process:
    """A server process as noted in ``run/server.pid``.

    Attributes:
        started: When the system says that it started; a reused pid has another.
    """

    pid: int
    started: str

    @classmethod
    def read(cls, home: Home) -> Process | None:
        """Read the note, or give None when there is none that can be read."""
        try:
            values = json.loads((home.run / "server.pid").read_text(encoding="utf-8"))
            return cls(pid=int(values["pid"]), started=str(values["started"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, home: Home) -> None:
        """Note the process."""
        text = json.dumps({"pid": self.pid, "started": self.started}) + "\n"
        write_atomically(home.run / "server.pid", text)

    @staticmethod
    def forget(home: Home) -> None:
        """Remove the note."""
        (home.run / "server.pid").unlink(missing_ok=True)

    def alive(self) -> bool:
        """Tell whether this very process runs; one that reuses its pid does not count."""
        if child := _children.get(self.pid):
            child.poll()
        return self.started != "" and started_at(self.pid) == self.started

    def end(self, timeout_s: float) -> bool:
        """Ask it to end, and kill its group if it has not after that time.

        Returns:
            Whether it ended by itself.

        Raises:
            EmbeddedServerError: It is still there long after it was killed.
            PermissionError: It belongs to another user.
        """
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
        gentle = self._gone_within(timeout_s)
        if not gentle:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            if not self._gone_within(_KILL_WAIT_S):
                raise EmbeddedServerError(
                    f"The server (pid {self.pid}) is still there {_KILL_WAIT_S:.0f} s after it "
                    "was killed.",
                    hint="A disk that does not answer can hold it; look at it with: ps -p "
                    f"{self.pid}",
                )
        if child := _children.pop(self.pid, None):
            # A zombie counts as ended above, but is only gone once it is waited for.
            child.wait()
        return gentle

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        return True


def started_at(pid: int) -> str:
    """Give the start time of a running process as the system notes it, empty when none runs."""
    return _from_proc(pid) if Path("/proc/self/stat").exists() else _from_ps(pid)


def _from_proc(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    # The name, in parentheses, may hold anything; the state is the first field after it.
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def _from_ps(pid: int) -> str:
    """Ask ``ps``, as macOS has no /proc."""
    shown = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=1)
    return shown[1].strip() if len(shown) == 2 and not shown[0].startswith("Z") else ""


def check_memory(option: str, value: str) -> str:
    """Give a size such as ``1g`` or ``512m`` back in lower case.

    Raises:
        ConfigError: It is not one.
    """
    if not re.fullmatch(r"[1-9]\d*[kmg]", value.lower()):
        raise ConfigError(f"{option} must be a size such as 512m or 2g, not {value!r}.")
    return value.lower()


def spawn(home: Home, installation: Installation, java: Path, heap: str) -> Process:
    """Start the server in a session of its own, its output in ``console.log``, and note its pid.

    ``PATHRAG_JAVA_OPTIONS`` adds options, such as ``-XX:TieredStopAtLevel=1`` for short tests.
    """
    options = [
        "-Xms256m" if _mebibytes(heap) >= 256 else f"-Xms{heap}",
        f"-Xmx{heap}",
        "-XX:+UseG1GC",
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={home.logs}/hs_err_%p.log",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "--enable-native-access=ALL-UNNAMED",
        "-Djol.skipHotspotSAAttach=true",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dlog4j2.disable.jmx=true",
        "-Dfile.encoding=UTF-8",
        *shlex.split(os.environ.get("PATHRAG_JAVA_OPTIONS", "")),
        "-cp",
        os.pathsep.join(map(str, installation.jars)),
    ]
    arguments = _argument_file(home.run / "server.args", options)
    command = [
        str(java),
        f"@{arguments}",
        installation.lane.main_class,
        f"--home-dir={home.path}",
        f"--config-dir={home.conf}",
        "--console-mode",
    ]
    with home.console_log.open("wb") as console:
        child = subprocess.Popen(
            command,
            cwd=home.path,
            env=_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    try:
        process = Process(child.pid, started_at(child.pid))
        process.write(home)
    except BaseException:
        # A server without a note would run on, and no command would find it.
        _kill(child)
        Process.forget(home)
        raise
    return process


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    del _children[child.pid]


def _mebibytes(size: str) -> int:
    return int(size[:-1]) * {"k": 1, "m": 1024, "g": 1024**2}[size[-1]] // 1024


def admin(
    home: Home,
    installation: Installation,
    java: Path,
    arguments: Sequence[str],
    *,
    doing: str,
    hint: str = "",
) -> str:
    """Run Neo4j's own administration tool on a stopped home, and give what it printed.

    Args:
        doing: What for, for the message.
        hint: What to do when it fails.

    Raises:
        EmbeddedServerError: It failed; shows the last lines of its output.
    """
    options = ["-Xmx512m", "-Dlog4j2.disable.jmx=true", "-Dfile.encoding=UTF-8",
               *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
               "-cp", os.pathsep.join(map(str, installation.jars)),
               "org.neo4j.cli.AdminTool", *arguments]  # fmt: skip
    # In a file that only the user can read: a password must not stand in the process list.
    file = _argument_file(home.run / "admin.args", options)
    try:
        done = subprocess.run(
            [str(java), f"@{file}"],
            cwd=home.path,
            env=_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_ADMIN_TIMEOUT_S,
            check=False,
        )
    finally:
        file.unlink(missing_ok=True)
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if not line.startswith("Files: ")]
        shown = "\n".join(f"  {line}" for line in said[-12:])
        raise EmbeddedServerError(
            f"{doing} failed: Neo4j's administration tool gave {done.returncode} and said\n{shown}",
            hint=hint or "Check space and rights on the disk, then run the command again.",
        )
    return done.stdout


def _argument_file(path: Path, arguments: Sequence[str]) -> Path:
    """Write arguments for ``java @file``; a command line has no room for 400 long jar paths."""
    quoted = ['"' + a.replace("\\", "\\\\").replace('"', '\\"') + '"' for a in arguments]
    write_atomically(path, "\n".join(quoted) + "\n", mode=0o600)
    return path


def _environment(home: Home) -> dict[str, str]:
    """Give our environment without what would lead the tools to another Neo4j or class path."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NEO4J_") and name not in ("CLASSPATH", "JDK_JAVA_OPTIONS")
    }
    # Without it a POSIX locale keeps Java from opening files with names beyond ASCII.
    locale = {"LC_ALL": "C.UTF-8"} if sys.platform == "linux" else {}
    return {**kept, **locale, "NEO4J_HOME": str(home.path), "NEO4J_CONF": str(home.conf)}


def tail(file: Path, lines: int) -> list[str]:
    """Give the last lines of a text file, none when it is not there."""
    try:
        with file.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            # Enough for long stack traces without reading a log of gigabytes.
            stream.seek(max(0, stream.tell() - max(65536, lines * 512)))
            text = stream.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    return text.splitlines()[-lines:] if lines > 0 else []
