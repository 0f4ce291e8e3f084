"""What the tests of several packages share: studies, trials, servers, runners, and ways to run commands and to wait."""
