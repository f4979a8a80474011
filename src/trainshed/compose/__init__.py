"""Puts the parts together and runs them as processes: data folder, start, stop, readiness, machine checks.

The only package that knows the API server. Commands call it; it prints nothing and raises `Trouble`
with one line for people. Importing it is cheap: the server's own imports happen in the server's process.
"""
