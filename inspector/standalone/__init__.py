"""Pages that open from disk, without a server or a request."""
