"""Sessions in one SQLite file: the only package that speaks SQL. Start at storage.store.Store."""

from storage.errors import StoreError
from storage.info import SessionInfo
from storage.store import Store, default_path

__all__ = ["SessionInfo", "Store", "StoreError", "default_path"]
