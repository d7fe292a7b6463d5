"""The page of an arena: ranks, and where each leader gains and loses."""

from __future__ import annotations

from mcsim.contests.ranking import Ranking
from mcsim.figures.arena import scores, scores_by_cache
from mcsim.report.page import Block, Page, Prose, Section, render
from mcsim.report.tables import page_table


def arena_page(ranking: Ranking, title: str, command: str) -> str:
    """Return the HTML of the page; the same ranking gives the same page."""
    answer: list[Block] = [Prose(ranking.answer.replace("`", ""))]
    sections = [Section("Answer", answer)]
    if len(ranking.by_trace):
        answer += scores(ranking, ranking.by_trace).charts
        cells = scores_by_cache(ranking, ranking.by_trace).charts
        sections.append(Section("Where each leader gains and loses", cells))
    sections.append(Section("Ranks", [page_table(ranking)]))
    if len(ranking.by_trace):
        sections.append(Section("Full replays", [page_table(ranking.by_trace)], folded=True))
    lead = "Which eviction policy comes nearest to the optimum?"
    return render(Page(title, lead, sections, command))
