"""The routes, one file for each group of them: thin, each says what it takes and answers and calls one thing.

A file here has a `router`; `app.py` lists the files.
"""
