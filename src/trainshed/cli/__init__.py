"""The `trainshed` command: one file per command, thin.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 could not start or reach. Output and messages live here;
decisions live below.
"""
