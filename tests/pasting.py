"""Run what ``pathrag query --cypher`` prints, as Neo4j Browser does."""

from __future__ import annotations

import re
from typing import Any

from pathrag_gds.graph.database import Database
from pathrag_gds.graph.queries import Query


def pasted(db: Database, text: str) -> list[dict[str, Any]]:
    """Run what is printed as Browser does: each value is evaluated as Cypher, then the query."""
    lines = text.split("\n")
    head = [line for line in lines if line.startswith((":param ", "//"))]
    assert lines[: len(head)] == head
    parameters = {}
    for line in head:
        if line.startswith(":param "):
            given = re.fullmatch(r":param (\w+) => (.+)", line)
            assert given, line
            evaluated = Query("test", f"RETURN {given[2]} AS value", "read")
            parameters[given[1]] = db.run(evaluated)[0]["value"]
    query = "\n".join(lines[len(head) :])
    assert query.endswith(";")
    with db.lent_driver("test") as driver, driver.session() as session:
        return [dict(record) for record in session.run(query[:-1], parameters)]
