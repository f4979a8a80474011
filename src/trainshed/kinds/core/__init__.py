"""The core group (`v1`): defaults, server-set fields and validation, one file per kind.

Parts that several kinds share have files of their own: `podspecs` and what it is made of (containers,
volumes, probes, placement, ...) also serve jobs and everything else with a pod template.
"""
