"""The reports of the repeated papers, as they are written to docs/evidence/papers.md."""

from benchmarks.papers import in_full


def test_the_full_version_leaves_out_the_differences_from_the_paper() -> None:
    report = "- 2 of 2 measurements, 1 round.\n- Differs from the paper: one host.\n- a: the cluster has drifted\n"
    shown = in_full("huawei", report)
    assert shown.startswith("### huawei\n\n![Metrics of huawei](../pictures/huawei-full.png)\n\n")
    assert shown.endswith("- 2 of 2 measurements, 1 round.\n- a: the cluster has drifted\n")
