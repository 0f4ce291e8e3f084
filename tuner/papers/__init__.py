"""The experiments of five papers, as experiment files; `tuner experiment` runs them."""
