"""Measure a search on question sets with known answers: ``pathrag eval``.

Data sets are read from the user's folder, never shipped; see :mod:`pathrag_gds.evaluation.datasets`
for what is known and :mod:`pathrag_gds.evaluation.run` for what a run does.
"""
