"""Settings: where the database is, and how a search runs.

Precedence everywhere: flag > environment > ``pathrag.toml`` > default.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pathrag_gds.errors import ConfigError, TenantError

__all__ = [
    "DEFAULT_PRESET",
    "DEFAULT_TENANT",
    "PRESETS",
    "SETTINGS_FILE",
    "Connection",
    "Endpoint",
    "SearchConfig",
    "Settings",
    "check_tenant",
    "read_settings",
]

DEFAULT_TENANT = "default"
DEFAULT_PRESET = "balanced"
SETTINGS_FILE = "pathrag.toml"

RevisitPolicy = Literal["node", "edge", "topic", "none"]
StartPolicy = Literal["anchors", "both", "seeds"]
Strategy = Literal["auto", "paths", "chains", "both"]
Intent = Literal["off", "weight", "restrict"]
Pruner = Literal[
    "beam",
    "flow:paper",
    "flow:reference",
    "flow:pagerank",
    "flow:yens",
    "flow:maxflow",
    "flow:steiner",
    "flow:hops",
    "flow:random",
]
Keywords = Literal["linker", "llm"]
FlowEnds = Literal["auto", "between", "outward"]


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a Neo4j server is, and who we are there.

    Attributes:
        uri: Such as ``bolt://localhost:7687`` or ``neo4j+s://….databases.neo4j.io``.
        password: Never shown by ``repr``.
        database: Name of the database, empty for the user's home database.
    """

    uri: str
    username: str = "neo4j"
    password: str = field(default="", repr=False)
    database: str = ""

    def __post_init__(self) -> None:
        if "@" in self.uri:
            # The address is shown in messages, so no password may hide in it.
            raise ConfigError(
                "The address of the server holds a user name or a password.",
                hint="Give them by NEO4J_USERNAME and NEO4J_PASSWORD.",
            )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a language model answers in the format of OpenAI's chat completions.

    Attributes:
        base_url: What comes before ``/chat/completions``, such as ``http://localhost:11434/v1``.
        model: Name of the model there.
        api_key: Never shown by ``repr``; empty where the endpoint asks for none.

    Raises:
        ConfigError: The address is none, or holds more than an address; the key cannot be sent.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        # The address is shown in messages, so no secret may hide in it.
        if any(sign in self.base_url for sign in "@?#"):
            raise ConfigError(
                "The base URL of the language model holds a user name, a password or a query.",
                hint="Give the address alone, and the key by PATHRAG_LLM_API_KEY.",
            )
        if not _is_address(self.base_url):
            raise ConfigError(
                f"{self.base_url!r} is not the base URL of a language model.",
                hint="It looks like http://localhost:11434/v1.",
            )
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        # A key that was read from a file ends in a line break, which no header may hold.
        object.__setattr__(self, "api_key", self.api_key.strip())
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ConfigError(
                "The key of the language model has characters that no HTTP header can hold.",
                hint="Set PATHRAG_LLM_API_KEY again.",
            )


def _is_address(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url)
        # Reading the port checks it.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Settings:
    """What flags, environment and settings file say; empty string or None where they are silent.

    Attributes:
        source: Where ``uri`` came from (``--uri``, ``NEO4J_URI``, the file), for messages.
        preset: Name of the configuration that searches start from.
        presets: What the file's tables ``[presets.NAME]`` say, fields of :class:`SearchConfig` by
            name of the preset.
        telemetry: And ``telemetry_text``: see :func:`pathrag_gds.telemetry.start`.
    """

    uri: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    home: str = ""
    lane: str = ""
    tenant: str = ""
    model: str = ""
    reranker: str = ""
    source: str = ""
    llm_base_url: str = ""
    llm_model: str = ""
    llm_api_key: str = field(default="", repr=False)
    preset: str = ""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    telemetry: str = ""
    telemetry_text: str = ""

    def embedded(self) -> Settings:
        """Give these settings without the server that they name: the embedded one is meant."""
        return replace(self, uri="", username="", password="", database="", source="")

    def connection(self) -> Connection | None:
        """Give the server that was named, or None when none was."""
        if not self.uri:
            return None
        return Connection(self.uri, self.username or "neo4j", self.password, self.database)

    def search_config(self, preset: str | None = None, **overrides: Any) -> SearchConfig:
        """Give how searches run: the preset, what the file changes of it, then the overrides.

        Args:
            preset: Instead of the one that the settings name; without either, ``balanced``.
            **overrides: Fields of :class:`SearchConfig`; None leaves a field as it is.

        Raises:
            ConfigError: There is no such preset, or a value is out of range.
        """
        name = preset or self.preset or DEFAULT_PRESET
        known = {*PRESETS, *self.presets}
        if name not in known:
            raise ConfigError(
                f"There is no preset {name!r}.", hint="Presets: " + ", ".join(sorted(known))
            )
        shipped = PRESETS.get(name, PRESETS[DEFAULT_PRESET])
        return shipped.with_(**self.presets.get(name, {})).with_(**overrides)

    def endpoint(self) -> Endpoint:
        """Give the endpoint of the language model that was named.

        Raises:
            ConfigError: None was named, or it is none.
        """
        missing = [
            variable
            for value, variable in (
                (self.llm_base_url, _ENVIRONMENT["llm_base_url"]),
                (self.llm_model, _ENVIRONMENT["llm_model"]),
            )
            if not value
        ]
        if missing:
            raise ConfigError(
                f"No language model is configured: {' and '.join(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} not set.",
                hint=(
                    "Set PATHRAG_LLM_BASE_URL (such as http://localhost:11434/v1), "
                    "PATHRAG_LLM_MODEL and, where it asks for one, PATHRAG_LLM_API_KEY; or "
                    "OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY. Without a language model, "
                    'pathrag query "…" prints the paths.'
                ),
            )
        return Endpoint(self.llm_base_url, self.llm_model, self.llm_api_key)


_ENVIRONMENT = {
    "uri": "NEO4J_URI",
    "username": "NEO4J_USERNAME",
    "password": "NEO4J_PASSWORD",
    "database": "NEO4J_DATABASE",
    "home": "PATHRAG_HOME",
    "lane": "PATHRAG_LANE",
    "tenant": "PATHRAG_TENANT",
    "model": "PATHRAG_MODEL",
    "reranker": "PATHRAG_RERANKER",
    "preset": "PATHRAG_PRESET",
    "llm_base_url": "PATHRAG_LLM_BASE_URL",
    "llm_model": "PATHRAG_LLM_MODEL",
    "llm_api_key": "PATHRAG_LLM_API_KEY",
    "telemetry": "PATHRAG_TELEMETRY",
    "telemetry_text": "PATHRAG_TELEMETRY_TEXT",
}
# What belongs to an address, and goes to no other than the one that stands beside it.
_BELONGS = {
    "username": "uri",
    "password": "uri",
    "database": "uri",
    "llm_model": "llm_base_url",
    "llm_api_key": "llm_base_url",
}
# Where OPENAI_API_KEY belongs when OPENAI_BASE_URL is not set. Never used as an endpoint unless
# somebody names it.
_OPENAI_URL = "https://api.openai.com/v1"


def read_settings(
    flags: Mapping[str, str | None] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Merge flags, environment and ``pathrag.toml`` of the folder, in that order of precedence.

    A user name, password or database beside a URI belongs to that URI, so a password for one
    server never goes to another. One without a URI beside it belongs to whichever is named:
    ``--uri`` with ``NEO4J_PASSWORD`` works. ``--home`` names the embedded server, so it goes before
    a server that environment or file name. Model and key of a language model belong to its base URL
    in the same way. Where none of the three places names one, ``OPENAI_BASE_URL`` does;
    ``OPENAI_API_KEY`` and ``OPENAI_MODEL`` are for that address, or for OpenAI's own where it is
    not set.

    Args:
        flags: Values by field name; None or empty means not given, but an empty tenant is refused.
        environment: Defaults to the process's.
        folder: Where ``pathrag.toml`` may lie; defaults to the current folder.

    Raises:
        ConfigError: ``uri`` and ``home`` are both given; the file is not valid TOML, or has a key
            or type that is unknown.
        TenantError: The tenant is no tenant.
    """
    flags = flags or {}
    if flags.get("tenant") is not None:
        # An empty variable must not turn one tenant's call into another's.
        check_tenant(flags["tenant"] or "")
    given = {key: value for key, value in flags.items() if value}
    if "uri" in given and "home" in given:
        raise ConfigError(
            "--uri and --home name two servers.",
            hint="--home is the folder of the embedded server; leave one of them out.",
        )
    environment = os.environ if environment is None else environment
    file = (folder or Path.cwd()) / SETTINGS_FILE
    in_file, presets = _read_file(file)
    levels: list[tuple[str, dict[str, str]]] = [
        ("flag", given),
        (
            "environment",
            {k: environment[name] for k, name in _ENVIRONMENT.items() if environment.get(name)},
        ),
        (str(file), in_file),
    ]
    merged: dict[str, str] = {}
    for source, values in levels:
        if "uri" in values and "uri" not in merged:
            merged["source"] = {"flag": "--uri", "environment": "NEO4J_URI"}.get(source, source)
        elsewhere = {
            place
            for place in _BELONGS.values()
            if values.get(place, merged.get(place)) != merged.get(place, values.get(place))
        }
        for key, value in values.items():
            if key not in merged and _BELONGS.get(key) not in elsewhere:
                merged[key] = value
    settings = Settings(**_fall_back(merged, environment), presets=presets)
    if settings.tenant:
        check_tenant(settings.tenant)
    return settings.embedded() if "home" in given else settings


def _fall_back(merged: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Add what the variables of OpenAI's own library say, where ours are silent."""
    named = environment.get("OPENAI_BASE_URL", "")
    filled = ({"llm_base_url": named} if named else {}) | dict(merged)
    if filled.get("llm_base_url", "").rstrip("/") == (named or _OPENAI_URL).rstrip("/"):
        for key, name in (("llm_model", "OPENAI_MODEL"), ("llm_api_key", "OPENAI_API_KEY")):
            if environment.get(name):
                filled.setdefault(key, environment[name])
    return filled


def _read_file(file: Path) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Give the settings of a file, and its presets."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    presets = _presets(data.pop("presets", {}), file)
    known = {f.name for f in fields(Settings)} - {"source"}
    for key, value in data.items():
        if key not in known:
            raise ConfigError(
                f"{file}: unknown setting {key!r}.", hint="Known: " + ", ".join(sorted(known))
            )
        if not isinstance(value, str):
            raise ConfigError(f"{file}: {key} must be a string, not {value!r}.")
    return {key: value for key, value in data.items() if value}, presets


def _presets(tables: Any, file: Path) -> dict[str, dict[str, Any]]:
    """Check the tables of presets, so that a wrong one is found whether it is used or not."""
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise ConfigError(
            f"{file}: presets are tables.", hint="Such as [presets.fast] and beam_width = 10."
        )
    for name, table in tables.items():
        try:
            SearchConfig.preset(name if name in PRESETS else DEFAULT_PRESET, **table)
        except ConfigError as error:
            raise ConfigError(
                f"{file}: preset {name!r}: {error.message}", hint=error.hint
            ) from None
    return tables


def check_tenant(tenant: str) -> str:
    """Give the tenant back, or refuse an empty one and one with a NUL or surrounding space."""
    if not tenant or "\0" in tenant or tenant != tenant.strip():
        raise TenantError(
            f"{tenant!r} is not a tenant name.",
            hint="A tenant is any non-empty text without NUL or surrounding space.",
        )
    return tenant


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How a search runs. Defaults of depth, beam and seeds are those of seeds/000.

    Attributes:
        top_k: Paths in the result, at least 1.
        seed_k: Nodes that paths may start from, at least 1.
        start_from: ``anchors``: at the entities that the question names, at seeds where it names
            none; ``both``: at both; ``seeds``: at seeds, as seeds/000 does.
        keywords: ``linker``: starts are found by the names and words of the question, without a
            language model. ``llm``: one names keywords, as in PathRAG's paper, and starts are found
            by each of them; it gets the question and nothing else.
        strategy: ``paths``: whole paths are read; ``chains``: only chains of relations, once each
            whatever the number of their paths; ``both``: chains first, then the paths of the best;
            ``auto``: with a reranker that was trained on chains both, or chains alone where nodes
            have nothing but names and types are few; else paths.
        intent: ``weight``: the question's wording says whether it asks for the end of a path or for
            something else (a property, a number, how two things are connected, …), and which type
            of end it asks for; ``restrict``: besides, only relationships are followed whose type
            the wording names, or that lead the shortest way to a type that it names; ``off``: every
            question asks for the end of a path, of any type.
        max_depth: Hops at most, 0 to 10; 0 ranks the seeds alone.
        min_depth: Below it each parent is guaranteed twice ``local_keep`` children.
        beam_width: Paths kept from one depth to the next, at least 1; with ``chains``, chains.
        frontier_width: With ``chains``, nodes from which each chain is extended, at least 1; of
            more, those nearest to the question.
        min_prefix: Paths that lead on less surely than this are not extended.
        expand_per_path: Extensions of one path that are considered, at least 1.
        cap_per_relation: Relationships read per node, type and direction, at least 1.
        max_rows: Relationships read per depth, at least 1. Nodes, types and directions take turns,
            so that none is left without.
        max_bytes: Bytes read of them, about; 0 for any number. The row that goes beyond is the
            last.
        local_keep: Children that each parent is guaranteed while half the beam lasts.
        rerank_limit: Texts scored per depth at most; 0 for all. Parents take turns, each with its
            most similar node.
        text_budget: Tokens of a path's text at most, as far as the encoder reads; 0 for all that.
        patterns: Best groups of paths that become queries, which count their answers and, with
            ``chains``, give all of them; 0 for none.
        max_answers: Answers of each of these that are given, at least 1.
        min_score: Paths whose confidence is below are left out of the result.
        revisit: ``node``: no node twice in a path; ``edge``: no relationship twice; ``topic``:
            never back to the start; ``none``: anything.
        normalize_within_depth: Min-max the reranker's scores of each depth to [0, 1] (A3).
        depth_penalty: Subtracted from the score per hop.
        weight_rerank: Weight of the reranker's score.
        weight_chain: With ``both``, share of the chain in the reranker's score, from 0 to 1.
        weight_similarity: What is added to the logit of a path's score for each unit by which what
            one of its nodes tells is nearer to the question than its like; at least 0. Only with a
            reranker that matches nodes, and for nodes with a description.
        weight_type: The same for the type of a path's end, as labels and properties name it, beside
            the type that the question asks for; at least 0. Only with such a reranker.
        weight_link: Weight of how surely the start was linked to the question.
        weight_coverage: Weight of the share of the question's words that the text of a path has,
            names apart; at least 0. Endings such as those of "directed" and "director" do not
            count.
        weight_relation_prior: Weight of how much of the wording of a path's relationships the
            question has, the mean of its hops; at least 0.
        rel_types: Relationship types that may be followed; empty for all.
        labels: Labels that seeds and neighbours must have one of; empty for all.
        scope: Labels, or ids of communities in force, that paths stay within: every node of a path,
            its start too, has one of the labels or is in one of the communities. Empty for the
            whole graph.
        node_filter: In neo4j-graphrag's syntax, on seeds and on every node after the start.
        relationship_filter: The same on every relationship.
        pruner: ``beam``: the reranker chooses what is extended, depth by depth. ``flow:…``: flow
            chooses paths in what lies around the starts, and the reranker ranks them: ``paper`` and
            ``reference`` as PathRAG's paper and its published code have it, ``pagerank``, ``yens``,
            ``maxflow`` and ``steiner`` by Graph Data Science; ``hops`` and ``random`` choose
            without flow, as the paper's ablations.
        flow_ends: With flow, ``between``: paths run from start to start, and what lies on them may
            be the answer. ``outward``: from each start to all that it reaches. ``auto``: between
            where there are several starts.
        flow_hops: With flow, hops of a path at most, from 1 to 4.
        flow_paths: With flow, paths that it keeps for the reranker, at least 1.
        flow_decay: With flow, what is left of it after a hop; above 0, at most 1.
        flow_threshold: With flow, where it stops; at least 0. By default that of the way.
        weight_flow: Weight of a path's flow beside the reranker's score; at least 0. With the beam
            the paper's flow spreads from the starts first, flow_hops far, in one statement more.
        time_limit_s: Stop after so many seconds and give the best so far, outcome ``partial``.
    """

    top_k: int = 5
    seed_k: int = 30
    start_from: StartPolicy = "anchors"
    keywords: Keywords = "linker"
    strategy: Strategy = "auto"
    intent: Intent = "weight"
    max_depth: int = 6
    min_depth: int = 1
    beam_width: int = 30
    frontier_width: int = 100
    min_prefix: float = 0.05
    expand_per_path: int = 20
    cap_per_relation: int = 20
    max_rows: int = 20_000
    max_bytes: int = 64_000_000
    local_keep: int = 2
    rerank_limit: int = 200
    text_budget: int = 64
    patterns: int = 3
    max_answers: int = 1_000
    min_score: float = 0.15
    revisit: RevisitPolicy = "node"
    normalize_within_depth: bool = False
    depth_penalty: float = 0.0
    weight_rerank: float = 1.0
    weight_chain: float = 0.3
    weight_similarity: float = 6.0
    weight_type: float = 2.0
    weight_link: float = 0.0
    weight_coverage: float = 0.0
    weight_relation_prior: float = 0.0
    rel_types: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    node_filter: Mapping[str, Any] = field(default_factory=dict)
    relationship_filter: Mapping[str, Any] = field(default_factory=dict)
    pruner: Pruner = "beam"
    flow_ends: FlowEnds = "auto"
    flow_hops: int = 3
    flow_paths: int = 200
    flow_decay: float = 0.8
    flow_threshold: float | None = None
    weight_flow: float = 0.0
    time_limit_s: float | None = None

    def __post_init__(self) -> None:
        for name, low, high in (
            ("top_k", 1, 10_000),
            ("seed_k", 1, 10_000),
            ("max_depth", 0, 10),
            ("min_depth", 0, 10),
            ("beam_width", 1, 100_000),
            ("frontier_width", 1, 100_000),
            ("expand_per_path", 1, 100_000),
            ("cap_per_relation", 1, 100_000),
            ("max_rows", 1, 10_000_000),
            ("max_bytes", 0, 1_000_000_000_000),
            ("local_keep", 0, 100_000),
            ("rerank_limit", 0, 10_000_000),
            ("text_budget", 0, 1_000_000),
            ("patterns", 0, 100),
            ("max_answers", 1, 10_000),
            ("flow_hops", 1, 4),
            ("flow_paths", 1, 100_000),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ConfigError(f"{name} must be an integer from {low} to {high}, not {value!r}.")
        for name, policies in (
            ("revisit", get_args(RevisitPolicy)),
            ("start_from", get_args(StartPolicy)),
            ("strategy", get_args(Strategy)),
            ("intent", get_args(Intent)),
            ("pruner", get_args(Pruner)),
            ("flow_ends", get_args(FlowEnds)),
            ("keywords", get_args(Keywords)),
        ):
            if getattr(self, name) not in policies:
                raise ConfigError(
                    f"{name} must be one of {', '.join(policies)}, not {getattr(self, name)!r}."
                )
        for name in (
            "min_score",
            "min_prefix",
            "depth_penalty",
            "weight_rerank",
            "weight_chain",
            "weight_similarity",
            "weight_type",
            "weight_link",
            "weight_coverage",
            "weight_relation_prior",
            "weight_flow",
            "flow_decay",
            "flow_threshold",
            "time_limit_s",
        ):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            missing = value is None and name in ("flow_threshold", "time_limit_s")
            if not (number and math.isfinite(value)) and not missing:
                raise ConfigError(f"{name} must be a number, not {value!r}.")
        if self.time_limit_s is not None and not self.time_limit_s > 0:
            raise ConfigError(f"time_limit_s must be above 0, not {self.time_limit_s!r}.")
        for name in ("min_score", "weight_chain"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must be from 0 to 1, not {getattr(self, name)!r}.")
        if not 0 < self.flow_decay <= 1:
            raise ConfigError(f"flow_decay must be above 0, at most 1, not {self.flow_decay!r}.")
        if self.flow_threshold is not None and not self.flow_threshold >= 0:
            raise ConfigError(
                f"flow_threshold must not be below 0, but is {self.flow_threshold!r}."
            )
        for name in (
            "weight_similarity",
            "weight_type",
            "weight_coverage",
            "weight_relation_prior",
            "weight_flow",
        ):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} must not be below 0, but is {getattr(self, name)!r}.")
        for name in ("rel_types", "labels", "scope"):
            values = getattr(self, name)
            named = isinstance(values, (list, tuple)) and all(isinstance(v, str) for v in values)
            if not named:
                raise ConfigError(f"{name} takes a sequence of names, not {values!r}.")
            object.__setattr__(self, name, tuple(values))
        for name in ("node_filter", "relationship_filter"):
            if not isinstance(getattr(self, name), Mapping):
                raise ConfigError(f"{name} takes a filter, not {getattr(self, name)!r}.")

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> SearchConfig:
        """Give a named configuration, changed by the overrides.

        Args:
            name: ``fast``, ``balanced`` (the defaults) or ``thorough``, which read few, some or
                many texts; ``option_d`` (raw reranker scores, seeds/000: 10 of 10) or ``a3``
                (min-max within each depth and 0.2 off per hop; 4 of 10).

        Raises:
            ConfigError: The name or a field is unknown, or a value out of range.
        """
        if name not in PRESETS:
            raise ConfigError(
                f"There is no preset {name!r}.", hint="Presets: " + ", ".join(sorted(PRESETS))
            )
        return PRESETS[name].with_(**overrides)

    def with_(self, **overrides: Any) -> SearchConfig:
        """Give this configuration with some fields changed; None leaves a field as it is."""
        known = {f.name for f in fields(self)}
        unknown = sorted(set(overrides) - known)
        if unknown:
            raise ConfigError(
                f"Unknown search option {unknown[0]!r}.", hint="Known: " + ", ".join(sorted(known))
            )
        return replace(self, **{k: v for k, v in overrides.items() if v is not None})

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values, in the order of the fields."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }


PRESETS: Mapping[str, SearchConfig] = {
    "fast": SearchConfig(beam_width=10, local_keep=1, min_prefix=0.1, rerank_limit=40),
    "balanced": SearchConfig(),
    "thorough": SearchConfig(
        seed_k=60,
        beam_width=100,
        frontier_width=300,
        min_prefix=0.01,
        expand_per_path=50,
        cap_per_relation=100,
        rerank_limit=1_000,
    ),
    "option_d": SearchConfig(),
    "a3": SearchConfig(normalize_within_depth=True, depth_penalty=0.2),
}
