"""Communities of entities and what is told about them."""

from pathrag_gds.communities.content import content_hash
from pathrag_gds.communities.extractive import extractive_report
from pathrag_gds.communities.report_parse import parse_report
from pathrag_gds.communities.types import Community, CommunityContent, CommunityReport, Finding

__all__ = [
    "Community",
    "CommunityContent",
    "CommunityReport",
    "Finding",
    "content_hash",
    "extractive_report",
    "parse_report",
]
