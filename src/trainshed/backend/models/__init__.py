"""Bodies of the REST API as pydantic models: what may be said, with examples.

Models check shapes; what a value means for a job is decided in `rendering`.
"""
