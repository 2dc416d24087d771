"""The engine runs a speculative generation and says what it did; it knows no screen and no database."""
