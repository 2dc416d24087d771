"""The pure heart: standard library and numpy only, no model, no clock of its own, no global randomness."""
