"""Containers as plain processes, and what every engine needs to look after one: log, records, waiting.

`records`, `logfile` and `supervision` run in processes without site packages: no asyncio, nothing installed.
Nothing here needs Linux to be imported.
"""
