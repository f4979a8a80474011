"""SPDY/3.1 as kubectl's port-forward (and older kubectls' exec) speak it: many streams on one connection.

`codec` and `headers` are pure, `session` runs streams over any byte pipe. Imported by the streams into pods
only. Flow control is left out: no client of these streams keeps to it.
"""
