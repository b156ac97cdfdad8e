"""An interrupt ends a statement at once, in the program and on the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pathrag_gds.graph.database import Database
from tests.statements import statement

ENDLESS = "UNWIND range(1, 1000000000000) AS i WITH i WHERE i < 0 RETURN count(i) AS n"
RUNNING = statement(
    "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery STARTS WITH 'UNWIND range(1, 10000' "
    "RETURN count(*) AS n",
    "read",
)
CODE = """
import os
from pathrag_gds.config import Connection
from pathrag_gds.graph.database import Database
from tests.statements import statement

mode = os.environ["MODE"]
query = statement(os.environ["QUERY"], "write" if mode == "transaction" else mode)
where = Connection(os.environ["URI"], os.environ["WHO"], os.environ["SECRET"], os.environ["DB"])
with Database(where, timeout_s=3600) as db:
    try:
        if mode == "transaction":
            with db.transaction("endless") as tx:
                tx.run(query)
        else:
            db.run(query)
    except KeyboardInterrupt:
        print("interrupted", db.run(statement("RETURN 1 AS one", "read")))
"""


@pytest.mark.parametrize("mode", ["read", "write", "auto", "transaction"])
def test_interrupt_ends_the_statement(connection: Database, mode: str) -> None:
    where = connection.connection
    environment = os.environ | {
        "MODE": mode,
        "QUERY": ENDLESS,
        "URI": where.uri,
        "WHO": where.username,
        "SECRET": where.password,
        "DB": where.database,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    with subprocess.Popen(
        [sys.executable, "-c", CODE],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            _until_running(connection, 1)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")
    assert output == "interrupted [{'one': 1}]\n"
    _until_running(connection, 0)


def _until_running(db: Database, number: int) -> None:
    deadline = time.monotonic() + 120
    while db.run(RUNNING) != [{"n": number}]:
        assert time.monotonic() < deadline, f"there are not {number} endless statements"
        time.sleep(0.1)
