"""Pods as bubblewrap sandboxes: own mounts, processes, network address and hostname; with root and without.

`engine` is the agent's side. `holder` and what it imports run in a small process that outlives the agent,
without site packages: nothing there may import asyncio or anything installed.
"""
