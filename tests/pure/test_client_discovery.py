"""Reading discovery documents and the words people use for kinds."""

from __future__ import annotations

import pytest

from trainshed.client import discovery
from trainshed.client.discovery import Entry, match
from trainshed.client.requests import Resource

PODS = Entry(Resource("", "v1", "pods", "Pod", True), "pod", ("po",))
JOBS = Entry(Resource("batch", "v1", "jobs", "Job", True), "job")
OLD_JOBS = Entry(Resource("batch", "v1beta1", "jobs", "Job", True), "job")
OTHER_JOBS = Entry(Resource("example.com", "v1", "jobs", "Job", True), "job", ("po",))
ALL = (PODS, JOBS, OLD_JOBS, OTHER_JOBS)


class TestWords:
    @pytest.mark.parametrize(
        ("words", "entry"),
        [
            ("pods", PODS),
            ("pod", PODS),
            ("po", PODS),
            ("Pod", PODS),
            ("jobs", JOBS),
            ("jobs.batch", JOBS),
            ("jobs.v1beta1.batch", OLD_JOBS),
            ("Job.example.com", OTHER_JOBS),
            ("po.example.com", OTHER_JOBS),
            ("pods.v1", PODS),
        ],
    )
    def test_each_spelling_finds_its_resource(self, words: str, entry: Entry) -> None:
        assert match(ALL, words) == entry.resource

    @pytest.mark.parametrize("words", ["", "PODS", "jobs.none", ".batch", "pods."])
    def test_others_find_nothing_or_the_plain_word(self, words: str) -> None:
        assert match(ALL, words) in (None, PODS.resource)

    def test_a_plural_wins_over_an_earlier_short_name(self) -> None:
        first = Entry(Resource("a", "v1", "things", "Thing", True), "thing", ("jobs",))
        assert match((first, JOBS), "jobs") == JOBS.resource


class TestDocuments:
    def test_a_resource_list_is_read_without_subresources(self) -> None:
        document = {
            "groupVersion": "batch/v1",
            "resources": [
                {"name": "jobs", "singularName": "job", "kind": "Job", "namespaced": True, "verbs": ["get"]},
                {"name": "jobs/status", "kind": "Job", "namespaced": True},
            ],
        }
        assert list(discovery.read_legacy(document)) == [Entry(JOBS.resource, "job", (), ("get",))]

    def test_an_aggregated_list_says_the_same(self) -> None:
        resource = {
            "resource": "jobs",
            "singularResource": "job",
            "responseKind": {"kind": "Job"},
            "scope": "Namespaced",
            "verbs": ["get"],
        }
        document = {
            "items": [
                {"metadata": {"name": "batch"}, "versions": [{"version": "v1", "resources": [resource]}]}
            ]
        }
        assert list(discovery.read_aggregated(document)) == [Entry(JOBS.resource, "job", (), ("get",))]

    def test_preferred_versions_come_first(self) -> None:
        versions = [{"groupVersion": "a/v1beta1"}, {"groupVersion": "a/v1"}]
        document = {"groups": [{"versions": versions, "preferredVersion": {"groupVersion": "a/v1"}}]}
        assert list(discovery.listed_versions(document)) == ["a/v1", "a/v1beta1"]

    @pytest.mark.parametrize("document", [None, 7, [], {}, {"items": 7}, {"resources": [7]}, {"groups": "x"}])
    def test_a_strange_document_has_nothing_in_it(self, document: object) -> None:
        assert list(discovery.read_legacy(document)) == list(discovery.read_aggregated(document)) == []
        assert list(discovery.listed_versions(document)) == []
