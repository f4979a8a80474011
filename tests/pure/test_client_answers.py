"""From an answer to an object or a fault."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.client import answers
from trainshed.client.answers import Answer
from trainshed.kube import faults
from trainshed.kube.objects import encode


class TestObjects:
    def test_success_is_an_object(self) -> None:
        assert answers.read_object(Answer(201, body=b'{"a": 1}')) == {"a": 1}

    @pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"7"])
    def test_success_with_anything_else_is_the_servers_fault(self, body: bytes) -> None:
        with pytest.raises(faults.InternalError):
            answers.read_object(Answer(200, body=body))


class TestFaults:
    @pytest.mark.parametrize("cls", faults.CLASSES)
    def test_every_fault_survives_the_trip(self, cls: type[faults.Fault]) -> None:
        sent = cls(
            "why", kind="pods", group="g", name="n", causes=[faults.Cause("R", "m", "f")], retry_after=3
        )
        got = answers.fault(Answer(cls.code, body=encode(sent.status())))
        assert type(got) is cls
        assert got.status() == sent.status()

    def test_a_text_is_quoted_with_its_code(self) -> None:
        got = answers.fault(Answer(404, body=b"404 page\nnot found"))
        assert (type(got), got.message) == (faults.NotFound, "HTTP 404: 404 page not found")

    def test_a_redirect_is_no_success(self) -> None:
        with pytest.raises(faults.Fault, match="HTTP 301"):
            answers.read(Answer(301))

    def test_the_header_tells_when_to_come_back(self) -> None:
        assert answers.fault(Answer(429, {"retry-after": ("7",)}, b"busy")).retry_after == 7

    @given(st.integers(300, 599), st.binary(max_size=200), st.text(max_size=20))
    @settings(deadline=None)
    def test_no_answer_is_too_strange(self, code: int, body: bytes, header: str) -> None:
        assert isinstance(answers.fault(Answer(code, {"retry-after": (header,)}, body)), faults.Fault)


class TestWarnings:
    def test_warnings_are_read_with_their_escapes(self) -> None:
        lines = ('299 - "unknown field \\"spec.a\\""', '299 k8s "one", 299 - "two\\\\"')
        assert list(answers.warnings({"warning": lines})) == ['unknown field "spec.a"', "one", "two\\"]

    @pytest.mark.parametrize("line", ["", "299", '199 - "other code"', '299 - "open', "nonsense"])
    def test_what_is_no_warning_is_not_told(self, line: str) -> None:
        assert list(answers.warnings({"warning": (line,)})) == []


class TestTypes:
    def test_items_of_built_in_lists_get_their_type(self) -> None:
        assert answers.with_type({"metadata": {}}, "v1", "Pod") == {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {},
        }

    def test_a_type_that_is_there_stays(self) -> None:
        assert answers.with_type({"kind": "Widget"}, "v1", "Pod") == {"kind": "Widget"}
