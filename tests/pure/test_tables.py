"""Tables and partial objects as they go over the wire."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trainshed.apiserver import tables
from trainshed.apiserver.tables import Options
from trainshed.kinds.kind import Kind
from trainshed.kinds.printing import PRINTERS
from trainshed.kube.objects import Object
from trainshed.kube.schema import Schema

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
POD: Object = {
    "metadata": {"name": "p", "namespace": "ns", "creationTimestamp": "2026-11-15T11:00:00Z"},
    "spec": {"containers": [{"name": "c"}]},
    "status": {"phase": "Pending"},
}


def a_kind(**more: object) -> Kind:
    printer = PRINTERS["pods"]
    given = {
        "group": "",
        "version": "v1",
        "kind": "Pod",
        "plural": "pods",
        "singular": "pod",
        "namespaced": True,
    }
    shown = {"columns": printer.columns, "cells": printer.cells}
    return Kind(**{**given, "schema": Schema, **shown, **more})  # type: ignore[arg-type]  # many types


def test_a_table_has_columns_rows_and_the_lists_metadata() -> None:
    found = tables.table(a_kind(), [POD], Options(NOW), {"resourceVersion": "7", "continue": "t"})
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert found["metadata"] == {"resourceVersion": "7", "continue": "t"}
    assert found["columnDefinitions"][0].keys() == {"name", "type", "format", "description", "priority"}
    assert [column["name"] for column in found["columnDefinitions"]][:3] == ["Name", "Ready", "Status"]
    assert found["rows"][0]["cells"][:5] == ["p", "0/1", "Pending", "0", "60m"]


def test_a_row_carries_metadata_with_kind_and_version_so_that_kubectl_reads_it() -> None:
    [row] = tables.table(a_kind(), [POD], Options(NOW), {})["rows"]
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": POD["metadata"]}
    assert row["object"] == partial


@pytest.mark.parametrize("include", ["None", "Object"])
def test_a_row_carries_what_was_asked_for(include: str) -> None:
    [row] = tables.table(a_kind(), [POD], Options(NOW, include), {})["rows"]
    assert row["object"] == (None if include == "None" else {"kind": "Pod", "apiVersion": "v1", **POD})


def test_an_empty_list_is_a_table_without_rows() -> None:
    assert tables.table(a_kind(), [], Options(NOW), {})["rows"] == []


def test_columns_are_left_out_after_a_watchs_first_event() -> None:
    assert tables.table(a_kind(), [POD], Options(NOW, headers=False), {})["columnDefinitions"] == []


def test_a_kind_without_printer_shows_name_and_creation() -> None:
    found = tables.table(a_kind(columns=()), [POD], Options(NOW), {})
    assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Created At"]
    assert found["rows"][0]["cells"] == ["p", "2026-11-15T11:00:00Z"]


def test_the_older_version_is_spoken_throughout() -> None:
    found = tables.table(a_kind(), [POD], Options(NOW, version="v1beta1"), {})
    assert {found["apiVersion"], found["rows"][0]["object"]["apiVersion"]} == {"meta.k8s.io/v1beta1"}


def test_partial_lists_name_the_kind_of_every_item() -> None:
    found = tables.partial_list([POD, {}], {"resourceVersion": "1"})
    assert found["kind"] == "PartialObjectMetadataList"
    assert [item["kind"] for item in found["items"]] == ["PartialObjectMetadata"] * 2
    assert found["items"][1]["metadata"] == {}
