"""Volumes of pods: what a spec asks for, the files behind it, and where containers see them.

`wanted`, `payloads` and `mounts` decide; `writing`, `hostpaths`, `subpaths` and `preparing` act on the host.
Used by the agent's pods only.
"""
