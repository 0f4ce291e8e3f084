"""The tests of `search_spaces`, with the real client wherever there is something to ask it."""
