"""Sessions in one SQLite file: the only package that speaks SQL. Start at storage.store.Store."""

from storage.errors import StoreError
from storage.info import SessionInfo
from storage.listing import Listing
from storage.store import Store, default_path

__all__ = ["Listing", "SessionInfo", "Store", "StoreError", "default_path"]
