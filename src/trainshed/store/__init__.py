"""Revisions on SQLite: one writer with group commit, reads and watches from memory.

Knows keys, revisions and bytes, not kinds. Only the API server imports it.
"""
