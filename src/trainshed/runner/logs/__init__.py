"""Logs of containers on this machine: files in the CRI format, one per run, kept after the pod.

`lines` and `retention` decide, the others read. Writing is the engines' business. Imported by `serving`, the
agent and the command line.
"""
