"""Whatever takes a tenant is tried by the test that interleaves two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pathrag_gds.communities import (
    community_status,
    detect_communities,
    plan_reports,
    report_communities,
    search_communities,
)
from pathrag_gds.errors import TenantError
from pathrag_gds.models.encoder import load_encoder
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
