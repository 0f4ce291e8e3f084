"""How measurements are judged: metrics, scores, the Pareto front, gains, and the verdict on what limited them.

Nothing in this package depends on how a measurement was taken.
"""
