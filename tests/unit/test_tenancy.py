"""Whatever takes a tenant is tried by the test that interleaves two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pathrag_gds.communities import (
    Community,
    CommunityContent,
    community_status,
    detect_communities,
    extractive_report,
    find_contradictions,
    plan_reports,
    report_communities,
    score_by_overlap,
    search_communities,
    terms_of,
)
from pathrag_gds.communities.report_prompt import build_report_prompt
from pathrag_gds.communities.store import RunWriter
from pathrag_gds.errors import TenantError
from pathrag_gds.models.encoder import load_encoder
from pathrag_gds.types import Entity
from tests.fakes import RecordingDatabase
from tests.tenancy import COMMANDS, METHODS, WITHOUT_TENANT, public_methods, tenant_commands


def test_every_command_with_a_tenant_is_tried() -> None:
    assert set(COMMANDS) == set(tenant_commands()), (
        "tests/tenancy.py has to say how a command is called for two tenants"
    )


def test_every_public_method_is_tried() -> None:
    assert set(METHODS) | set(WITHOUT_TENANT) == public_methods(), (
        "tests/tenancy.py has to say how a method is called for two tenants"
    )
    assert not set(METHODS) & set(WITHOUT_TENANT)


@pytest.mark.parametrize("tenant", ["", " amber", "amber ", "am\0ber"])
@pytest.mark.parametrize(
    "call",
    [
        detect_communities,
        report_communities,
        plan_reports,
        community_status,
        lambda db, tenant: search_communities(db, load_encoder(None), "Who?", tenant=tenant),
    ],
)
def test_what_is_no_tenant_is_refused_before_anything_is_asked(
    call: Callable[..., Any], tenant: str
) -> None:
    db = RecordingDatabase()
    with pytest.raises(TenantError):
        call(db, tenant=tenant)
    assert db.calls == []


def content(tenant: str) -> CommunityContent:
    """The same community in every tenant."""
    return CommunityContent(Community("c", tenant, ("a",)), (Entity("a", "Jane"),))


REPORTS = [extractive_report(content(tenant)) for tenant in ("amber", "cobalt")]


@pytest.mark.parametrize(
    "call",
    [
        # The report on a part is told in the prompt of the whole.
        lambda: build_report_prompt(
            content("amber"), count_tokens=lambda text: len(text.split()), children=REPORTS[1:]
        ),
        lambda: RunWriter(RecordingDatabase(), "amber", "run", None).write(  # type: ignore[arg-type]
            [content("cobalt").community]
        ),
        lambda: score_by_overlap("Who is Jane?", [terms_of(r, {"a": "Jane"}) for r in REPORTS]),
        lambda: find_contradictions(REPORTS, [Entity("a", "Jane")]),
    ],
)
def test_a_call_that_crosses_from_one_tenant_into_another_is_refused(
    call: Callable[[], Any],
) -> None:
    with pytest.raises(TenantError, match="2 tenants are asked at once: 'amber', 'cobalt'"):
        call()
