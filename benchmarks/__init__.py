"""Programs that measure the tool itself; each prints what the README quotes. Run one at a time, on an idle machine."""
