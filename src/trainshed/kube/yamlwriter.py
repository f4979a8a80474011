"""Plain values to YAML that a Kubernetes client reads back as the same values."""

from __future__ import annotations

import yaml

from trainshed.kube.objects import JSON, decode, encode
from trainshed.kube.yamlreader import resolve


def write(value: JSON) -> bytes:
    # A fresh copy: PyYAML writes anchors for values that merely happen to be the same Python object.
    fresh = decode(encode(value))
    text: str = yaml.dump(fresh, Dumper=_Dumper, allow_unicode=True, default_flow_style=False, width=2**30)
    return text.encode()


def one_line(text: str) -> str:
    """A text as a scalar of one line, quoted where it has to be."""
    style = '"' if "\n" in text else None
    written: str = yaml.dump(text, Dumper=_Dumper, allow_unicode=True, width=2**30, default_style=style)
    return written.removesuffix("...\n").rstrip("\n")


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time
    """Quotes every text that a Kubernetes client would read as something else (`y`, `08`, `<<`)."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if _is_special(text) else None)


def _is_special(text: str) -> bool:
    try:
        return text == "<<" or resolve(text) is not text
    except ValueError:
        return True


_Dumper.add_representer(str, _represent_text)
