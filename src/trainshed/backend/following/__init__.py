"""Streams many may follow: one reader of a job's lines, one spool on disk, followers that are positions.

`frames` and `verdicts` decide, `spool` keeps, `feed` reads, `hub` brings followers to feeds, `followers`
sends, and `permits` looks again and again whether somebody still may.
"""

from __future__ import annotations

from trainshed.backend.following.hub import lifespan

__all__ = ["lifespan"]
