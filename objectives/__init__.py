"""How measurements are judged: metrics, scores, the Pareto front, gains, and verdicts (what limited a measurement).

Nothing in this package depends on how a measurement was taken.
"""
