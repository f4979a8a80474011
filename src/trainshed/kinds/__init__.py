"""The kinds we serve: their schemas, defaults, validation and printer columns, one folder per API group.

Pure: a kind is described by data and by functions from objects to objects or field errors.
No sockets, no clock of its own, no store. Imported by the API server, controllers and the CLI alike.
"""
