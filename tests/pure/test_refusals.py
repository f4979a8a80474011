"""What a server says of fields it refuses, and what is made of it."""

from __future__ import annotations

import pytest

from trainshed.controllers.trainjob.lints import Lint
from trainshed.jobs import refusals

BEGIN = "failed to create typed patch object (default/a; trainer.kubeflow.org/v1alpha1, Kind=TrainJob): "
LINTS = [
    Lint("unknown-field", "spec.env[0].values", 'there is no such field; did you mean "value"?', "error")
]


def test_a_field_that_a_preview_finds_too_is_told_in_its_words() -> None:
    said = refusals.reworded(f'{BEGIN}.spec.env[name="A"].values: field not declared in schema', LINTS)
    assert said == 'spec.env[0].values: there is no such field; did you mean "value"?'


def test_what_only_the_server_refuses_stays_in_its_words() -> None:
    known = '.spec.env[name="A"].values: field not declared in schema'
    both = f"{BEGIN}errors:\n  {known}\n  .spec.x: expected list"
    assert refusals.reworded(both, LINTS).endswith('"value"?; .spec.x: expected list')
    assert refusals.reworded(f"{BEGIN}.spec.newer: field not declared in schema", LINTS) == ""


@pytest.mark.parametrize(
    ("theirs", "ours"), [(("[1]", "[3]"), "13"), (("[3]", "[1]"), "31"), (('[="a"]', '[="b"]'), "13")]
)
def test_several_elements_of_a_list_are_told_each(theirs: tuple[str, str], ours: str) -> None:
    lints = [Lint("wrong-type", f"spec.args[{place}]", "must be a string", "error") for place in (1, 3)]
    lines = "".join(f"\n  .spec.args{one}: expected string, got 1" for one in theirs)
    said = "; ".join(f"spec.args[{place}]: must be a string" for place in ours)
    assert refusals.reworded(f"{BEGIN}errors:{lines}", lints) == said


def test_a_path_of_many_brackets_is_read_once() -> None:
    torn = f"{BEGIN}errors:\n  .spec.{'[' * 1_000_000}: expected list\n  .spec.env[0].values: expected list"
    assert refusals.reworded(torn, LINTS).endswith(
        "[: expected list; spec.env[0].values: " + LINTS[0].message
    )


def test_other_refusals_are_left_as_they_are() -> None:
    assert refusals.reworded("spec.env[0].values: is not allowed", LINTS) == ""


def test_a_complaint_that_names_no_field_stays_as_it_is() -> None:
    torn = f'{BEGIN}errors:\n  .spec.env[name="A"].values: field not declared in schema\n  too deep'
    assert refusals.reworded(torn, LINTS).endswith("; too deep")
