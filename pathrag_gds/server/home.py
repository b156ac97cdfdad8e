"""A home: the folder that holds one embedded server's data, settings, password and logs.

server.json     lane, address, user and password; mode 600
conf/           neo4j.conf, written anew at each start
data/ import/   the store
logs/           console.log (what the JVM prints), neo4j.log, debug.log
plugins/        links to the GDS jars
rerankers/      rerankers adapted to graphs, each in a folder named by its fingerprint
run/            server.pid, argument files
"""

from __future__ import annotations

import json
import os
import random
import secrets
import socket
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pathrag_gds.config import Connection
from pathrag_gds.errors import EmbeddedServerError
from pathrag_gds.server.artifacts import DEFAULT_LANE, LANES
from pathrag_gds.server.files import make_folder, refused, write_atomically

__all__ = ["Home", "Record", "default_home", "free_port", "port_is_free"]

HOST = "127.0.0.1"
_PORTS = range(17687, 32768)
HOME_HINT = "Choose a folder that you can write in with --home (or PATHRAG_HOME)."


def default_home() -> Path:
    """Give the home in use when none is named: ``PATHRAG_HOME``, or the user's data folder."""
    if chosen := os.environ.get("PATHRAG_HOME"):
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("pathrag-gds", appauthor=False) / "server"


@dataclass(frozen=True, slots=True)
class Record:
    """What ``server.json`` says."""

    lane: str
    port: int
    username: str = "neo4j"
    password: str = field(default="", repr=False)
    database: str = "neo4j"

    @property
    def connection(self) -> Connection:
        """The address and credentials for the driver."""
        return Connection(
            uri=f"bolt://{HOST}:{self.port}",
            username=self.username,
            password=self.password,
            database=self.database,
        )


@dataclass(frozen=True, slots=True)
class Home:
    """The layout of a home folder; nothing is read or made until a method is called."""

    path: Path

    @classmethod
    def at(cls, path: Path | str | None) -> Home:
        """Give the home at a path, or the default one."""
        return cls(Path(path).expanduser().absolute() if path else default_home())

    @property
    def record_file(self) -> Path:
        """``server.json``."""
        return self.path / "server.json"

    @property
    def lock_file(self) -> Path:
        """Held while a server of this home is started, stopped, dumped or restored."""
        return self.path / "server.lock"

    @property
    def conf(self) -> Path:
        """Folder of ``neo4j.conf``."""
        return self.path / "conf"

    @property
    def run(self) -> Path:
        """Folder of the pid and of argument files."""
        return self.path / "run"

    @property
    def logs(self) -> Path:
        """Folder of the logs."""
        return self.path / "logs"

    @property
    def console_log(self) -> Path:
        """What the JVM printed since its last start."""
        return self.logs / "console.log"

    @property
    def rerankers(self) -> Path:
        """Folder of the rerankers that were adapted to graphs, of this server or of another."""
        return self.path / "rerankers"

    @property
    def store(self) -> Path:
        """Folder of the user database."""
        return self.path / "data" / "databases" / "neo4j"

    @property
    def restoring(self) -> Path:
        """Folder in which a dump is unpacked; holds ``old-…`` while the database is exchanged."""
        return self.path / "restoring"

    @property
    def has_password(self) -> bool:
        """Whether the server of this home already has users, so the password is settled."""
        data = self.path / "data"
        return (data / "dbms" / "auth.ini").exists() or (data / "databases" / "system").exists()

    def make(self) -> None:
        """Create the folders.

        Raises:
            EmbeddedServerError: One cannot be made or written in, or the folder holds something
                else, which may be another Neo4j.
        """
        content = set(self.path.iterdir()) if self.path.is_dir() else set()
        # A reranker may have been adapted to a graph elsewhere before this server's first start.
        content.discard(self.rerankers)
        # Looked for after the listing: a start at the same moment makes the lock file first.
        if content and not (self.record_file.exists() or self.lock_file.exists()):
            raise EmbeddedServerError(
                f"{self.path} is not empty and is no home of an embedded server.",
                hint="Name a new or empty folder with --home (or PATHRAG_HOME).",
            )
        # Only the user may look in: a store holds whatever its graph holds.
        make_folder(self.path, hint=HOME_HINT, mode=0o700)
        try:
            self.lock_file.touch()
        except OSError as error:
            raise refused("write", self.lock_file, error, hint=HOME_HINT) from error
        for name in ("conf", "data", "import", "logs", "plugins", "run"):
            make_folder(self.path / name, hint=HOME_HINT)

    def read(self) -> Record | None:
        """Read ``server.json``, or give None when the home is new.

        Raises:
            EmbeddedServerError: The file is damaged, unreadable, or gone while there are data.
        """
        file = self.record_file
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            record = Record(**values)
            texts = (record.lane, record.username, record.password, record.database)
            if not all(isinstance(v, str) and v for v in texts) or record.lane not in LANES:
                raise ValueError("a value is missing or of the wrong type")
            if isinstance(record.port, bool) or not 0 < record.port < 65536:
                raise ValueError("the port is impossible")
            return record
        except FileNotFoundError:
            if self.has_password:
                raise self._unusable("is gone, but there are data") from None
            return None
        except OSError as error:
            raise refused("read", file, error, hint=HOME_HINT) from error
        except (ValueError, TypeError) as error:
            if not self.has_password:
                # No user was made yet, so nothing but the file itself is lost.
                return None
            # The cause may quote the file, which holds the password.
            raise self._unusable(f"is damaged ({type(error).__name__})") from None

    def _unusable(self, what: str) -> EmbeddedServerError:
        return EmbeddedServerError(
            f"{self.record_file} {what}: the server's password is lost with it.",
            hint="Put the file back. Or move the data to a new home: "
            f"pathrag server dump FILE --home {self.path} --lane {'|'.join(LANES)}, then "
            "pathrag server restore FILE --home NEW",
        )

    def write(self, record: Record) -> None:
        """Replace ``server.json``; nobody but the user can read it."""
        text = json.dumps(asdict(record), indent=2) + "\n"
        try:
            write_atomically(self.record_file, text, mode=0o600)
        except OSError as error:
            raise refused("write", self.record_file, error, hint=HOME_HINT) from error

    def check_lane(self, lane: str | None) -> str:
        """Give the lane of this home, which must be the wanted one if that is given.

        A new home gets the wanted lane, or the default one.

        Raises:
            EmbeddedServerError: The home was made by the other lane.
        """
        record = self.read()
        if record is None:
            return lane or DEFAULT_LANE
        if lane and lane != record.lane:
            raise EmbeddedServerError(
                f"{self.path} was made by lane {record.lane}; lane {lane} cannot open its store.",
                hint=f"Run with --lane {record.lane}, or give lane {lane} a home of its own "
                "with --home (or PATHRAG_HOME).",
            )
        return record.lane

    def new_record(self, lane: str, port: int) -> Record:
        """Make a record with a fresh password."""
        # Hexadecimal, for AdminTool takes a password that begins with "-" for an option.
        return Record(lane=lane, port=port, password=secrets.token_hex(16))

    def write_conf(self, port: int, page_cache: str) -> None:
        """Write ``neo4j.conf``: Bolt on the loopback address only, no HTTP, GDS allowed.

        No folder is named in it: they lie in the home by default, and the file is read as
        Latin-1 with backslashes turned around, which would lead other names astray.
        """
        settings = {
            "server.default_listen_address": HOST,
            "server.bolt.listen_address": f"{HOST}:{port}",
            "server.bolt.advertised_address": f"{HOST}:{port}",
            "server.http.enabled": "false",
            "server.https.enabled": "false",
            "dbms.security.procedures.unrestricted": "gds.*",
            "dbms.usage_report.enabled": "false",
            "server.memory.pagecache.size": page_cache,
            # 256 MB per database would be reserved before the first byte is written.
            "db.tx_log.preallocate": "false",
            # The store is closed by then; the server would only linger for 5 to 10 s.
            "internal.dbms.bolt.netty_server_shutdown_quiet_period": "0",
            "internal.server.bolt.thread_pool_shutdown_wait_time": "1s",
        }
        lines = [f"{key}={value}" for key, value in settings.items()]
        text = "# Written at each start; changes are lost.\n" + "\n".join(lines) + "\n"
        write_atomically(self.conf / "neo4j.conf", text)

    def link_plugins(self, jars: Iterable[Path]) -> None:
        """Make the plugins folder hold links to exactly these jars."""
        folder = self.path / "plugins"
        wanted = {jar.name: jar for jar in jars}
        for present in folder.iterdir():
            if present.is_symlink() and present.readlink() != wanted.get(present.name):
                present.unlink()
        for name, jar in wanted.items():
            link = folder / name
            if not link.is_symlink():
                link.symlink_to(jar)


def free_port() -> int:
    """Give a port of the loopback address that nobody listens on.

    Below the range from which systems take ports for outgoing connections: one of those could
    take it in the seconds until the server listens, or while it is stopped.
    """
    for port in random.sample(_PORTS, 100):
        if port_is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        given: int = probe.getsockname()[1]
        return given


def port_is_free(port: int) -> bool:
    """Tell whether a server could listen on this port of the loopback address now."""
    with socket.socket() as probe:
        # As the server does: a port that only lingers in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
