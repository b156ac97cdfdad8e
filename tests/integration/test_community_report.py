"""Reports on communities of a real graph: by a model, without one, again, and where one fails."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Generator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli import cli
from pathrag_gds.communities import (
    detect_communities,
    plan_reports,
    read_communities,
    report_communities,
)
from pathrag_gds.communities.store import live_run
from pathrag_gds.config import Connection
from pathrag_gds.errors import ConfigError, LLMError
from pathrag_gds.graph.database import Database
from pathrag_gds.ingest import embed
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.models.llm import Message
from tests.endpoint import ScriptedEndpoint, serving, streams
from tests.integration.test_communities import cliques, fill
from tests.statements import statement

pytestmark = pytest.mark.integration


def words(text: str) -> int:
    return len(text.split())


def answer_to(user: str) -> str:
    """Answer as demanded: name the first entity that is told."""
    first = re.search(r"(?m)^<entities>\n(\S+):", user)
    assert first is not None
    return json.dumps({"summary": f"About {first[1]}.", "key_entities": [first[1]]})


class Reporter:
    """A language model that answers as demanded, but for what ``slip`` says."""

    name = "reporter"

    def __init__(self, slip: Callable[[str, int], str | None] = lambda user, times: None) -> None:
        self.slip = slip
        self.asked: list[Sequence[Message]] = []
        self.lock = threading.Lock()

    def chat(
        self, messages: Sequence[Message], *, stream: bool = True
    ) -> Generator[str, None, str]:
        user = messages[1]["content"]
        with self.lock:
            self.asked.append(messages)
            times = sum(m[1]["content"] == user for m in self.asked)
        text = self.slip(user, times)
        yield answer_to(user) if text is None else text
        return "stop"


@pytest.fixture
def four(migrated: Database) -> Database:
    """Four communities of five entities: k0…, k1…, k2…, k3…, in the order of their ids."""
    fill(migrated, "t", cliques(4, 5))
    detect_communities(migrated, tenant="t")
    return migrated


def summaries(db: Database, tenant: str = "t") -> dict[str, str]:
    run = live_run(db, tenant)
    assert run is not None
    return {
        c.id.partition(".")[2]: c.report.summary
        for c in read_communities(db, tenant, run["id"])
        if c.report
    }


def about(group: str) -> str:
    """Give how the best linked entity of a community is told."""
    return f"\n{group}n"


def test_each_community_gets_a_report_once(four: Database) -> None:
    plan = plan_reports(four, tenant="t", with_model=True, count_tokens=words)
    assert (plan.communities, len(plan.wanted), plan.unchanged) == (4, 4, 0)
    llm = Reporter()
    done = report_communities(four, tenant="t", llm=llm, count_tokens=words)
    assert (done.written, done.unchanged, done.failures, done.model) == (4, 0, (), "reporter")
    assert done.prompt_tokens == plan.prompt_tokens
    assert done.answer_tokens == 4 * words(answer_to("<entities>\nk0n0:"))
    assert summaries(four) == {f"0.{n}": f"About k{n}n0." for n in range(4)}
    again = report_communities(four, tenant="t", llm=llm, count_tokens=words)
    assert (again.written, again.unchanged, len(llm.asked)) == (0, 4, 4)


def test_only_what_changed_is_reported_again(four: Database) -> None:
    report_communities(four, tenant="t", llm=Reporter(), count_tokens=words)
    four.run(statement("MATCH (e {tenant: 't', id: 'k2n3'}) SET e.description = 'New.'"))
    llm = Reporter()
    done = report_communities(four, tenant="t", llm=llm, count_tokens=words)
    assert (done.written, done.unchanged) == (1, 3)
    assert "k2n3: k2n3. New." in llm.asked[0][1]["content"]
    # Detected anew, the reports stay with the same entities.
    assert detect_communities(four, tenant="t").carried == 4
    assert report_communities(four, tenant="t", llm=llm, count_tokens=words).written == 0


def test_one_refused_report_fails_that_community_alone(four: Database) -> None:
    llm = Reporter(lambda user, times: '{"summary": ""}' if about("k2") in user else None)
    done = report_communities(four, tenant="t", llm=llm, count_tokens=words)
    assert done.written == 3
    assert set(summaries(four)) == {"0.0", "0.1", "0.3"}
    ((id_, why),) = done.failures
    assert id_.endswith(".0.2")
    assert why == "summary is empty; key_entities is missing"
    error = done.error()
    assert error is not None
    assert (error.exit_code, error.failures) == (8, done.failures)
    # It was asked twice, the second time with what was wrong.
    twice = [m for m in llm.asked if about("k2") in m[1]["content"]]
    assert [len(m) for m in twice] == [2, 4]
    assert "summary is empty" in twice[1][3]["content"]
    rest = Reporter()
    assert report_communities(four, tenant="t", llm=rest, count_tokens=words).written == 1
    assert len(rest.asked) == 1


def test_refused_once_is_mended_by_the_model(four: Database) -> None:
    llm = Reporter(lambda user, times: "{}" if times == 1 else None)
    done = report_communities(four, tenant="t", llm=llm, count_tokens=words)
    assert (done.written, done.failures, len(llm.asked)) == (4, (), 8)


def test_no_json_is_kept_as_the_summary_and_told(four: Database) -> None:
    llm = Reporter(lambda user, times: "A group of five." if about("k1") in user else None)
    done = report_communities(four, tenant="t", llm=llm, count_tokens=words)
    assert [id_.partition(".")[2] for id_ in done.fallback] == ["0.1"]
    assert summaries(four)["0.1"] == "A group of five."


def silent(user: str, times: int) -> str:
    raise LLMError("The language model cannot be reached.")


def test_a_dead_endpoint_is_not_asked_for_ever(four: Database) -> None:
    llm = Reporter(silent)
    done = report_communities(four, tenant="t", llm=llm, count_tokens=words, concurrency=1)
    assert len(llm.asked) == 3
    assert [why.split(",")[0] for _, why in done.failures] == [
        *["The language model cannot be reached."] * 3,
        "was not asked",
    ]


def test_one_answer_that_does_not_come_fails_one(four: Database) -> None:
    llm = Reporter(lambda user, times: silent(user, times) if about("k0") in user else None)
    done = report_communities(four, tenant="t", llm=llm, count_tokens=words, concurrency=2)
    assert (done.written, len(done.failures)) == (3, 1)


def test_without_a_model_reports_are_extracts_and_a_model_replaces_them(four: Database) -> None:
    done = report_communities(four, tenant="t")
    assert (done.written, done.model, done.prompt_tokens) == (4, "", 0)
    assert summaries(four)["0.0"].startswith("Extract of 5 entities and 10 relationships, around")
    assert report_communities(four, tenant="t").unchanged == 4
    assert report_communities(four, tenant="t", llm=Reporter(), count_tokens=words).written == 4
    assert report_communities(four, tenant="t").unchanged == 4
    assert summaries(four)["0.0"] == "About k0n0."


def test_large_communities_are_told_by_the_reports_on_their_parts(migrated: Database) -> None:
    long = "word " * 100
    fill(migrated, "t", cliques(24, 5))
    migrated.run(statement(f"MATCH (e:__Entity__ {{tenant: 't'}}) SET e.description = '{long}'"))
    found = detect_communities(migrated, tenant="t")
    assert len(found.levels) == 2
    llm = Reporter()
    done = report_communities(
        migrated, tenant="t", llm=llm, count_tokens=words, budget=900, concurrency=1
    )
    assert done.written == found.communities
    users = [m[1]["content"] for m in llm.asked]
    fine = found.levels[1].communities
    assert not any("<reports>" in user for user in users[:fine])
    assert all("<reports>" in user for user in users[fine:])
    again = report_communities(migrated, tenant="t", llm=llm, count_tokens=words, budget=900)
    assert again.unchanged == found.communities
    # A report on a part that changes is told in the one above, so that one is written again.
    migrated.run(
        statement("MATCH (e {tenant: 't', id: 'k3n4'}) SET e.description = 'Something else.'")
    )
    changed = report_communities(migrated, tenant="t", llm=llm, count_tokens=words, budget=900)
    assert changed.written == 2


def test_tenants_are_reported_apart(four: Database) -> None:
    fill(four, "u", cliques(3, 5))
    with pytest.raises(ConfigError, match="Tenant 'u' has no communities yet"):
        report_communities(four, tenant="u")
    detect_communities(four, tenant="u")
    report_communities(four, tenant="u")
    assert summaries(four, "t") == {}
    assert len(summaries(four, "u")) == 3


def test_reports_are_embedded_and_other_vectors_left(four: Database) -> None:
    report_communities(four, tenant="t")
    done = embed(four, load_encoder(None), tenant="t", roles=("community",))
    assert (done.communities, done.entities, done.embedded) == (4, 0, 4)
    found = statement(
        "MATCH (c:__Community__ {tenant: 't'}) RETURN min(size(c.embedding)) AS size", "read"
    )
    assert four.run(found) == [{"size": 384}]
    assert embed(four, load_encoder(None), tenant="t", roles=("community",)).unchanged == 4


def answers(handler: BaseHTTPRequestHandler, endpoint: ScriptedEndpoint) -> None:
    """Answer as demanded, but never for the community of k3."""
    user = endpoint.asked[-1].body["messages"][1]["content"]
    text = '{"key_entities": []}' if about("k3") in user else answer_to(user)
    streams(text)(handler, endpoint)


def test_command_shows_the_cost_first_and_ends_with_what_failed(
    four: Database, server: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEO4J_PASSWORD", server.password)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    where = ["--uri", server.uri, "--username", server.username, "--tenant", "t"]

    def report(*words: str, code: int = 0, typed: str = "") -> Result:
        command = ["communities", "report", *words, *where]
        outcome = CliRunner().invoke(cli, command, input=typed)
        assert outcome.exit_code == code, outcome.output
        return outcome

    with serving(answers) as endpoint:
        model = ("--llm-base-url", endpoint.base_url, "--llm-model", "m", "--concurrency", "1")
        refused = report(*model, code=1, typed="n\n")
        assert "4 of 4 communities need a report of m: about " in refused.stderr
        assert endpoint.asked == []
        done = report(*model, "--yes", code=8)
        assert done.stdout.startswith("3 reports by m, 0 unchanged, in ")
        assert "Error: 1 community has no new report; 3 were written:" in done.stderr
        assert ".0.3: summary is missing; key_entities names no member" in done.stderr
    extracts = report()
    assert "No language model is configured: the reports are extracts." in extracts.stderr
    assert extracts.stdout.startswith("1 reports put together from the graph, 3 unchanged, in ")
    assert json.loads(report("--extractive", "--json").stdout)["unchanged"] == 4
