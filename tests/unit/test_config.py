"""Settings and their precedence; the configuration of a search."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pathrag_gds.config import (
    PRESETS,
    Connection,
    Endpoint,
    SearchConfig,
    Settings,
    check_tenant,
    read_settings,
)
from pathrag_gds.errors import ConfigError, TenantError

TOML = """\
uri = "bolt://file:7687"
username = "file-user"
password = "file-password"
database = "file-database"
tenant = "file-tenant"
lane = "current"
"""


def read(
    folder: Path,
    flags: dict[str, str | None] | None = None,
    environment: Any = None,
    toml: str = "",
) -> Settings:
    if toml:
        (folder / "pathrag.toml").write_text(toml, encoding="utf-8")
    return read_settings(flags, environment=environment or {}, folder=folder)


def test_nothing_given(tmp_path: Path) -> None:
    settings = read(tmp_path)
    assert settings == Settings()
    assert settings.connection() is None


def test_flag_before_environment_before_file(tmp_path: Path) -> None:
    environment = {"PATHRAG_TENANT": "env-tenant", "PATHRAG_LANE": "lts"}
    assert read(tmp_path, toml=TOML).tenant == "file-tenant"
    assert read(tmp_path, environment=environment).tenant == "env-tenant"
    settings = read(tmp_path, {"tenant": "flag-tenant", "lane": None}, environment)
    assert (settings.tenant, settings.lane) == ("flag-tenant", "lts")
    assert settings.uri == "bolt://file:7687"
    assert settings.source == str(tmp_path / "pathrag.toml")


def test_every_variable_is_read(tmp_path: Path) -> None:
    environment = {
        "NEO4J_URI": "bolt://e",
        "NEO4J_USERNAME": "u",
        "NEO4J_PASSWORD": "p",
        "NEO4J_DATABASE": "d",
        "PATHRAG_HOME": "h",
        "PATHRAG_LANE": "l",
        "PATHRAG_TENANT": "t",
        "PATHRAG_MODEL": "m",
        "PATHRAG_RERANKER": "r",
        "PATHRAG_PRESET": "p",
        "PATHRAG_LLM_BASE_URL": "http://l/v1",
        "PATHRAG_LLM_MODEL": "lm",
        "PATHRAG_LLM_API_KEY": "k",
    }
    settings = read(tmp_path, environment=environment)
    assert settings == Settings(
        *("bolt://e", "u", "p", "d", "h", "l", "t", "m", "r", "NEO4J_URI"),
        *("http://l/v1", "lm", "k", "p"),
    )
    assert settings.connection() == Connection("bolt://e", "u", "p", "d")
    assert settings.endpoint() == Endpoint("http://l/v1", "lm", "k")


def test_empty_is_not_given(tmp_path: Path) -> None:
    settings = read(tmp_path, {"uri": ""}, {"NEO4J_URI": ""}, TOML)
    assert settings.uri == "bolt://file:7687"


@pytest.mark.parametrize(
    ("flags", "environment", "expected"),
    [
        ({"uri": "bolt://flag"}, {"NEO4J_PASSWORD": "env"}, ("bolt://flag", "", "env", "")),
        (
            {"uri": "bolt://flag"},
            {"NEO4J_URI": "bolt://env", "NEO4J_PASSWORD": "env"},
            ("bolt://flag", "", "", ""),
        ),
        (
            {"uri": "bolt://file:7687"},
            {},
            ("bolt://file:7687", "file-user", "file-password", "file-database"),
        ),
        ({"uri": "bolt://flag"}, {}, ("bolt://flag", "", "", "")),
        (
            {"uri": "bolt://flag", "password": "flag"},
            {"NEO4J_USERNAME": "env"},
            ("bolt://flag", "env", "flag", ""),
        ),
        ({}, {"NEO4J_URI": "bolt://env"}, ("bolt://env", "", "", "")),
        (
            {"password": "flag"},
            {"NEO4J_URI": "bolt://env", "NEO4J_USERNAME": "env"},
            ("bolt://env", "env", "flag", ""),
        ),
        (
            {},
            {"NEO4J_PASSWORD": "env"},
            ("bolt://file:7687", "file-user", "env", "file-database"),
        ),
    ],
)
def test_a_password_never_goes_to_another_server_than_the_one_beside_it(
    tmp_path: Path,
    flags: dict[str, str | None],
    environment: dict[str, str],
    expected: tuple[str, ...],
) -> None:
    s = read(tmp_path, flags, environment, TOML)
    assert (s.uri, s.username, s.password, s.database) == expected


LLM_TOML = """\
llm_base_url = "http://file/v1"
llm_model = "file-model"
llm_api_key = "file-key"
"""
OPENAI = {"OPENAI_API_KEY": "open-key", "OPENAI_MODEL": "open-model"}
OPENAI_AT = {**OPENAI, "OPENAI_BASE_URL": "http://open/v1"}


@pytest.mark.parametrize(
    ("environment", "toml", "expected"),
    [
        ({}, LLM_TOML, ("http://file/v1", "file-model", "file-key")),
        ({"PATHRAG_LLM_BASE_URL": "http://env/v1"}, LLM_TOML, ("http://env/v1", "", "")),
        (
            {"PATHRAG_LLM_MODEL": "env", "PATHRAG_LLM_API_KEY": "env-key"},
            LLM_TOML,
            ("http://file/v1", "env", "env-key"),
        ),
        # A key alone is no leave to send anything anywhere.
        (OPENAI, "", ("", "", "")),
        (OPENAI_AT, "", ("http://open/v1", "open-model", "open-key")),
        (OPENAI_AT, LLM_TOML, ("http://file/v1", "file-model", "file-key")),
        (
            {**OPENAI_AT, "PATHRAG_LLM_MODEL": "env"},
            "",
            ("http://open/v1", "env", "open-key"),
        ),
        # OpenAI's key goes to no other endpoint than its own.
        ({**OPENAI, "PATHRAG_LLM_BASE_URL": "http://env/v1"}, "", ("http://env/v1", "", "")),
        ({**OPENAI_AT, "PATHRAG_LLM_BASE_URL": "http://env/v1"}, "", ("http://env/v1", "", "")),
        (
            {**OPENAI, "PATHRAG_LLM_BASE_URL": "https://api.openai.com/v1/"},
            "",
            ("https://api.openai.com/v1/", "open-model", "open-key"),
        ),
        (
            {**OPENAI_AT, "PATHRAG_LLM_BASE_URL": "http://open/v1/"},
            "",
            ("http://open/v1/", "open-model", "open-key"),
        ),
    ],
)
def test_a_key_never_goes_to_another_endpoint_than_the_one_beside_it(
    tmp_path: Path, environment: dict[str, str], toml: str, expected: tuple[str, str, str]
) -> None:
    s = read(tmp_path, environment=environment, toml=toml)
    assert (s.llm_base_url, s.llm_model, s.llm_api_key) == expected


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "PATHRAG_LLM_BASE_URL and PATHRAG_LLM_MODEL are not set."),
        (OPENAI, "PATHRAG_LLM_BASE_URL and PATHRAG_LLM_MODEL are not set."),
        ({"PATHRAG_LLM_MODEL": "m"}, "PATHRAG_LLM_BASE_URL is not set."),
        ({"PATHRAG_LLM_BASE_URL": "http://e/v1"}, "PATHRAG_LLM_MODEL is not set."),
    ],
)
def test_what_an_endpoint_lacks_is_named(
    tmp_path: Path, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, environment=environment).endpoint()
    assert caught.value.message == f"No language model is configured: {message}"
    assert "OPENAI_BASE_URL" in caught.value.hint
    assert "pathrag query" in caught.value.hint


@pytest.mark.parametrize(
    "base_url",
    ["localhost:11434", "ftp://e/v1", "http://", "http://e:x/v1", "http://[e/v1", "http://e:0", ""],
)
def test_a_base_url_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match="is not the base URL of a language model"):
        Endpoint(base_url, "m")


@pytest.mark.parametrize("base_url", ["http://u:geheim@e/v1", "http://e/v1?key=geheim"])
def test_no_secret_hides_in_a_base_url(base_url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Endpoint(base_url, "m")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("key", ["geheim\nX-Other: y", "geheimß"])
def test_a_key_that_no_header_holds_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="no HTTP header can hold") as caught:
        Endpoint("http://e/v1", "m", key)
    assert "geheim" not in str(caught.value)


def test_passwords_are_not_shown() -> None:
    for value in (
        Settings(uri="x", password="geheim", llm_api_key="geheim"),
        Connection("x", "u", "geheim"),
        Endpoint("http://e/v1", "m", "geheim"),
    ):
        assert "geheim" not in repr(value)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("uri = ", "cannot be read"),
        ('colour = "red"', "unknown setting 'colour'"),
        ("[search]\ntop_k = 3", "unknown setting 'search'"),
        ("uri = 3", "uri must be a string, not 3"),
        ('source = "x"', "unknown setting 'source'"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, toml=toml)
    assert message in str(caught.value)
    assert str(tmp_path / "pathrag.toml") in str(caught.value)


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "pathrag.toml").write_bytes(b'tenant = "\xff"')
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path)


@pytest.mark.parametrize("tenant", ["default", "ACME Ltd", "猫", "a/b", "x" * 500, "`", "$t"])
def test_tenants(tenant: str) -> None:
    assert check_tenant(tenant) == tenant


@pytest.mark.parametrize("tenant", ["", " ", " a", "a\n", "a\0b"])
def test_impossible_tenants(tenant: str) -> None:
    with pytest.raises(TenantError, match="not a tenant name"):
        check_tenant(tenant)


def test_defaults_are_those_of_the_seed_but_for_the_threshold() -> None:
    c = SearchConfig()
    assert (c.top_k, c.seed_k, c.max_depth, c.beam_width) == (5, 30, 6, 30)
    assert (c.expand_per_path, c.local_keep) == (20, 2)
    # 0.10 was meant for raw scores; at a confidence of 0.15 one in fifty right answers is lost.
    assert c.min_score == 0.15


def test_presets() -> None:
    assert list(PRESETS) == ["fast", "balanced", "thorough", "option_d", "a3"]
    assert SearchConfig.preset("balanced") == SearchConfig()
    widths = [SearchConfig.preset(name).beam_width for name in ("fast", "balanced", "thorough")]
    assert widths == sorted(set(widths))
    assert SearchConfig.preset("option_d", top_k=3, seed_k=None) == SearchConfig(top_k=3)
    a3 = SearchConfig.preset("a3")
    assert (a3.normalize_within_depth, a3.depth_penalty) == (True, 0.2)
    with pytest.raises(ConfigError, match="no preset 'b4'") as caught:
        SearchConfig.preset("b4")
    assert "option_d" in caught.value.hint


PRESET_TOML = """
preset = "careful"
[presets.careful]
beam_width = 60
rel_types = ["owns"]
[presets.fast]
top_k = 3
"""


def test_the_preset_of_flag_environment_and_file(tmp_path: Path) -> None:
    settings = read(tmp_path, toml=PRESET_TOML)
    assert settings.search_config() == SearchConfig(beam_width=60, rel_types=("owns",))
    assert settings.search_config(beam_width=7, top_k=None).beam_width == 7
    environment = {"PATHRAG_PRESET": "fast"}
    # A table of a shipped preset's name changes that one.
    from_environment = read(tmp_path, environment=environment).search_config()
    assert from_environment == SearchConfig.preset("fast", top_k=3)
    assert read(tmp_path, {"preset": "a3"}, environment).search_config().depth_penalty == 0.2
    assert settings.search_config("thorough") == PRESETS["thorough"]
    assert read(tmp_path / "elsewhere").search_config() == SearchConfig()


def test_balanced_of_the_file_changes_the_default(tmp_path: Path) -> None:
    settings = read(tmp_path, toml="[presets.balanced]\nbeam_width = 5\n")
    assert settings.search_config().beam_width == 5


def test_a_preset_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no preset 'fats'") as caught:
        read(tmp_path, toml='preset = "fats"\n[presets.mine]\n').search_config()
    assert caught.value.hint == "Presets: a3, balanced, fast, mine, option_d, thorough"


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("presets = 3", "presets are tables"),
        ("[presets]\nfast = 3", "presets are tables"),
        ("[presets.mine]\nbeam = 3", "preset 'mine': Unknown search option 'beam'"),
        ("[presets.fast]\nbeam_width = 0", "preset 'fast': beam_width must be an integer"),
    ],
)
def test_a_wrong_preset_in_the_file_is_named(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read(tmp_path, toml=toml)
    assert str(tmp_path / "pathrag.toml") in caught.value.message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top_k", 0),
        ("top_k", 2.5),
        ("top_k", True),
        ("top_k", "5"),
        ("seed_k", 0),
        ("max_depth", -1),
        ("max_depth", 11),
        ("beam_width", 0),
        ("expand_per_path", 0),
        ("cap_per_relation", 0),
        ("max_rows", 0),
        ("max_bytes", -1),
        ("local_keep", -1),
        ("rerank_limit", -1),
        ("min_score", -0.1),
        ("min_score", 1.1),
        ("min_score", float("nan")),
        ("revisit", "never"),
        ("time_limit_s", 0),
        ("time_limit_s", -1.0),
        ("time_limit_s", float("nan")),
        ("rel_types", "KNOWS"),
        ("labels", "Person"),
    ],
)
def test_values_out_of_range_are_named(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=field) as caught:
        SearchConfig().with_(**{field: value})
    assert repr(value) in str(caught.value)


def test_edges_of_the_ranges_are_allowed() -> None:
    SearchConfig(top_k=1, seed_k=1, max_depth=0, min_depth=0, beam_width=1, local_keep=0)
    SearchConfig(max_depth=10, min_depth=10, min_score=0.0, rerank_limit=0)
    SearchConfig(min_score=1, time_limit_s=0.001)


def test_unknown_options_are_named() -> None:
    with pytest.raises(ConfigError, match="Unknown search option 'depth'") as caught:
        SearchConfig().with_(depth=3)
    assert "max_depth" in caught.value.hint


def test_none_leaves_a_field_as_it_is() -> None:
    config = SearchConfig(time_limit_s=2.0, top_k=9)
    assert config.with_(top_k=None, time_limit_s=None) == config


def test_sequences_become_tuples_and_lists_in_json() -> None:
    config = SearchConfig(rel_types=["A", "B"], node_filter={"year": {"$gte": 1999}})  # type: ignore[arg-type]
    assert config.rel_types == ("A", "B")
    plain = config.to_dict()
    assert list(plain) == [f.name for f in fields(SearchConfig)]
    assert plain["rel_types"] == ["A", "B"]
    assert json.loads(json.dumps(plain)) == plain


def test_no_password_hides_in_the_address() -> None:
    with pytest.raises(ConfigError) as caught:
        Connection("bolt://neo4j:secret-word@localhost:7687")
    assert "secret-word" not in str(caught.value)
    assert "NEO4J_PASSWORD" in caught.value.hint


def test_an_empty_tenant_is_not_the_default_one() -> None:
    with pytest.raises(TenantError):
        read_settings({"tenant": ""}, environment={}, folder=Path("/nowhere"))


def test_home_names_the_embedded_server_whatever_the_environment_says() -> None:
    environment = {"NEO4J_URI": "bolt://elsewhere:7687", "NEO4J_PASSWORD": "secret-word"}
    settings = read_settings({"home": "/h"}, environment=environment, folder=Path("/nowhere"))
    assert (settings.home, settings.uri, settings.password, settings.source) == ("/h", "", "", "")
    with pytest.raises(ConfigError, match="two servers"):
        read_settings({"home": "/h", "uri": "bolt://x"}, environment={}, folder=Path("/nowhere"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("min_score", "a"),
        ("min_score", float("nan")),
        ("weight_rerank", "x"),
        ("depth_penalty", float("inf")),
        ("weight_link", True),
        ("time_limit_s", "5"),
        ("rel_types", 3),
        ("rel_types", "ONE"),
        ("labels", (1,)),
        ("node_filter", [1]),
    ],
)
def test_values_of_the_wrong_kind_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=field):
        SearchConfig(**{field: value})  # type: ignore[arg-type]
