"""What is said about a runtime that is not there."""

from __future__ import annotations

from trainshed.jobs import runtimes

KNOWN = {
    "ClusterTrainingRuntime": ["torch-distributed", "tensorflow-distributed", "pytorch-simple"],
    "TrainingRuntime": ["mine"],
}


def test_the_nearest_name_is_suggested() -> None:
    found = runtimes.suggestion("ClusterTrainingRuntime", "torch-distribted", KNOWN)
    assert found == 'did you mean "torch-distributed"?'


def test_part_of_a_name_suggests_all_names_with_it() -> None:
    found = runtimes.suggestion("ClusterTrainingRuntime", "torch", KNOWN)
    assert found == 'did you mean "torch-distributed" or "pytorch-simple"?'


def test_the_other_kind_of_that_name_is_suggested_first() -> None:
    found = runtimes.suggestion("ClusterTrainingRuntime", "mine", KNOWN)
    assert found == 'there is a TrainingRuntime of that name: set runtimeRef.kind to "TrainingRuntime"'


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert runtimes.suggestion("ClusterTrainingRuntime", "zzz", KNOWN) == ""


def test_a_runtime_that_is_there_is_not_absent() -> None:
    assert runtimes.absence("TrainingRuntime", "mine", KNOWN) == ""
    assert runtimes.absence("TrainingRuntime", "zzz", KNOWN) == 'there is no TrainingRuntime "zzz"'


def test_what_ships_is_known_by_name() -> None:
    assert "torch-distributed" in runtimes.named(runtimes.shipped())["ClusterTrainingRuntime"]
