"""`tuner studies` lists the studies."""

from tuner.cli.options import common_options
from tuner.cli.printing.studies import print_studies_on_this_host


def studies(as_json: common_options.Json = False, as_csv: common_options.Csv = False) -> None:
    """List your studies, newest first. Each line shows the state, the trials and the best proven gain.

    \b
    Examples:
        tuner studies
        tuner studies --csv > studies.csv
    """
    print_studies_on_this_host(as_json=as_json, as_csv=as_csv)
