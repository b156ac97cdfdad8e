"""Communities of entities and what is told about them."""

from pathrag_gds.communities.content import content_hash
from pathrag_gds.communities.contradict import (
    Claim,
    Contradiction,
    claims_of,
    find_contradictions,
)
from pathrag_gds.communities.detect import Detection, NodeFilter, detect_communities
from pathrag_gds.communities.extractive import extractive_report
from pathrag_gds.communities.partition import LevelFigures
from pathrag_gds.communities.read import StoredCommunity, read_communities, read_content
from pathrag_gds.communities.report import (
    ReportPlan,
    ReportSummary,
    plan_reports,
    report_communities,
)
from pathrag_gds.communities.report_parse import parse_report
from pathrag_gds.communities.retrieve import (
    CommunityScore,
    CommunitySeed,
    CommunityTerms,
    SeedOrigin,
    choose_communities,
    collect_seeds,
    score_by_cosine,
    score_by_overlap,
    terms_of,
)
from pathrag_gds.communities.search import CommunityResult, search_communities
from pathrag_gds.communities.status import CommunityStatus, community_status
from pathrag_gds.communities.types import Community, CommunityContent, CommunityReport, Finding

__all__ = [
    "Claim",
    "Community",
    "CommunityContent",
    "CommunityReport",
    "CommunityResult",
    "CommunityScore",
    "CommunitySeed",
    "CommunityStatus",
    "CommunityTerms",
    "Contradiction",
    "Detection",
    "Finding",
    "LevelFigures",
    "NodeFilter",
    "ReportPlan",
    "ReportSummary",
    "SeedOrigin",
    "StoredCommunity",
    "choose_communities",
    "claims_of",
    "collect_seeds",
    "community_status",
    "content_hash",
    "detect_communities",
    "extractive_report",
    "find_contradictions",
    "parse_report",
    "plan_reports",
    "read_communities",
    "read_content",
    "report_communities",
    "score_by_cosine",
    "score_by_overlap",
    "search_communities",
    "terms_of",
]
