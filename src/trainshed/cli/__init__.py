"""The `trainshed` command: one file per command, thin; exit codes 0 done, 1 failed, 2 usage, 3 cannot start or reach.

Output and messages live here; decisions live below.
"""
