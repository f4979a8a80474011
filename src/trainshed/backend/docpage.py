"""The OpenAPI document as one page for people: every route, what it takes and gives, and a curl line to try.

Plain HTML without scripts: the usual pages load theirs from the internet, which may not be there. Pure.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from html import escape

from trainshed.kube.objects import JSON, Object, dig

_DEEPEST = 6
_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.45 ui-monospace, monospace }
pre { overflow-x: auto; padding: .75rem; border-radius: .5rem; background: #8881 }
h2 { margin-top: 2rem }
details { border-bottom: 1px solid #8884 }
summary { cursor: pointer; padding: .35rem 0 }
summary b { display: inline-block; min-width: 4.5rem }
td { padding: .15rem 1rem .15rem 0; vertical-align: top }
"""


def page(document: Object) -> str:
    """The whole page."""
    title = escape(str(dig(document, "info", "title") or ""))
    version = escape(str(dig(document, "info", "version") or ""))
    about = escape(str(dig(document, "info", "description") or ""))
    head = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"<h1>{title} {version}</h1><p>{about}</p>"
        "<p>Send <code>Authorization: Bearer &lt;token&gt;</code>; <code>trainshed token</code> prints one. "
        'For programs: <a href="openapi.json">openapi.json</a>.</p>'
    )
    return head + "".join(_sections(document))


def _sections(document: Object) -> Iterator[str]:
    by_tag: dict[str, list[str]] = {}
    for path, methods in (document.get("paths") or {}).items():
        for method, operation in methods.items():
            tag = str((operation.get("tags") or ["other"])[0])
            by_tag.setdefault(tag, []).append(_operation(document, method.upper(), path, operation))
    for tag, shown in by_tag.items():
        yield f"<h2>{escape(tag)}</h2>{''.join(shown)}"


def _operation(document: Object, method: str, path: str, operation: Object) -> str:
    summary = escape(str(operation.get("summary") or ""))
    text = escape(str(operation.get("description") or ""))
    answers: Object = operation.get("responses") or {}
    answer: Object = next((body for code, body in answers.items() if code < "300"), {})
    parts = [
        f"<p>{text}</p>",
        _parameters(operation.get("parameters") or []),
        f"<pre>{escape(_curl(document, method, path, operation))}</pre>",
        _shown("Answer", example(document, _content(answer))),
    ]
    return (
        f"<details><summary><b>{method}</b> <code>{escape(path)}</code> {summary}</summary>"
        f"{''.join(parts)}</details>"
    )


def _parameters(parameters: list[Object]) -> str:
    rows = []
    for one in parameters:
        place = f"{one.get('in')}{', needed' if one.get('required') else ''}"
        about = str(one.get("description") or "")
        rows.append(
            f"<tr><td><code>{escape(str(one.get('name')))}</code></td><td>{escape(place)}</td>"
            f"<td>{escape(about)}</td></tr>"
        )
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _curl(document: Object, method: str, path: str, operation: Object) -> str:
    words = ["curl", "-H", "Authorization: Bearer $TOKEN"]
    if method != "GET":
        words += ["-X", method]
    body = example(document, _content(operation.get("requestBody") or {}))
    if body is not None:
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(body, ensure_ascii=False)]
    words += _form(document, operation)
    line = " ".join(shlex.quote(word) for word in words)
    return f'{line} "$URL{path}"'.replace("'Authorization: Bearer $TOKEN'", '"Authorization: Bearer $TOKEN"')


def _form(document: Object, operation: Object) -> list[str]:
    """The fields of a form: a file is sent from where the caller has it, texts as their example."""
    schema = dig(operation, "requestBody", "content", "multipart/form-data", "schema")
    fields: Object = _resolved(document, schema).get("properties") or {} if isinstance(schema, dict) else {}
    words: list[str] = []
    for name, field in fields.items():
        value = _of_schema(document, field, _DEEPEST)
        words += ["-F", f"{name}=@code.zip" if value is None else f"{name}={value}"]
    return words


def _shown(title: str, example: JSON) -> str:
    if example is None:
        return ""
    return f"<p>{title}</p><pre>{escape(json.dumps(example, indent=2, ensure_ascii=False))}</pre>"


def _content(body: Object) -> Object:
    found = dig(body, "content", "application/json")
    return found if isinstance(found, dict) else {}


def example(document: Object, content: Object) -> JSON:
    """The example of a body: its own, its schema's, or one put together from those of its parts."""
    if "example" in content:
        return content["example"]
    for named in (content.get("examples") or {}).values():
        return named.get("value")
    return _of_schema(document, content.get("schema") or {}, _DEEPEST)


def _of_schema(document: Object, schema: Object, depth: int) -> JSON:
    schema = _resolved(document, schema)
    for found in (*(schema.get("examples") or ()), schema.get("example")):
        if found is not None:
            return found
    if not depth:
        return None
    for other in schema.get("anyOf") or schema.get("oneOf") or ():
        found = _of_schema(document, other, depth - 1)
        if found is not None:
            return found
    if schema.get("type") == "array":
        item = _of_schema(document, schema.get("items") or {}, depth - 1)
        return None if item is None else [item]
    fields: Object = schema.get("properties") or {}
    parts = {name: _of_schema(document, field, depth - 1) for name, field in fields.items()}
    return {name: part for name, part in parts.items() if part is not None} or None


def _resolved(document: Object, schema: Object) -> Object:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        found = dig(document, *reference.removeprefix("#/").split("/"))
        return found if isinstance(found, dict) else {}
    return schema
