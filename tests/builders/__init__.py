"""Studies, trials and runners that the tests of several packages build their cases from."""
