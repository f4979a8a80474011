"""CustomResourceDefinitions: their defaults, the checks on them and on the schemas they bring, their names.

Pure, like all kinds. What a definition turns into once it is accepted (a served kind) is in `kinds.custom`.
"""
