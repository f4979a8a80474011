"""From what a caller asked for to the objects that run it; pure, and knows no HTTP.

`models` make a `Wanted` of a request body, `trainjob.render` makes objects of that. Whatever cannot be
accepted is an `Unacceptable` that names the field as the body spells it.
"""
