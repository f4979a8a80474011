"""Laws of the merge: they hold for any patches, in either dialect."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.merge_objects import a_torch_runtime, merged, pod
from tests.pure.training_objects import a_patch, a_trainjob, an_override, built_in
from trainshed.controllers.trainjob import desired
from trainshed.controllers.trainjob.preview import preview
from trainshed.kube.objects import JSON, Object, copied

names = st.sampled_from(["a", "b", "c"])
values = st.sampled_from(["1", "2", "3"])
selectors = st.dictionaries(names, values, max_size=3)
tolerations = st.lists(st.builds(lambda key: {"key": key, "operator": "Exists"}, names), max_size=2)
variables = st.lists(
    st.builds(lambda name, value: {"name": name, "value": value}, names, values),
    max_size=3,
    unique_by=lambda item: item["name"],
)
mounts = st.lists(
    st.builds(lambda name, path: {"name": name, "mountPath": f"/{path}"}, names, names),
    max_size=2,
    unique_by=lambda item: item["mountPath"],
)
volumes = st.lists(
    st.builds(lambda name: {"name": name, "emptyDir": {}}, names),
    max_size=2,
    unique_by=lambda item: item["name"],
)
pods = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": selectors,
        "tolerations": tolerations,
        "volumes": volumes,
        "serviceAccountName": names,
        "containers": mounts.map(lambda found: [{"name": "node", "volumeMounts": found}]),
        "initContainers": variables.map(lambda found: [{"name": "init", "env": found}]),
    },
)


def the_runtime() -> Object:
    init = {"name": "init", "image": "I", "env": [{"name": "a", "value": "0"}, {"name": "z", "value": "0"}]}
    mine = {"env": [{"name": "z", "value": "0"}], "volumeMounts": [{"name": "z", "mountPath": "/z"}]}
    return a_torch_runtime(
        mine, initContainers=[init], nodeSelector={"z": "0"}, volumes=[{"name": "z", "emptyDir": {}}]
    )


def patched(*changes: Object) -> Object:
    entries = [a_patch(manager=f"example.com/m{index}", **copied(pod)) for index, pod in enumerate(changes)]
    return merged(the_runtime(), runtimePatches=entries, trainer={"numNodes": 2})


@given(pods)
def test_the_same_patch_twice_is_the_patch_once(change: Object) -> None:
    assert patched(change, change) == patched(change)


@given(pods)
def test_both_dialects_mean_the_same(change: Object) -> None:
    old = merged(the_runtime(), podTemplateOverrides=[an_override(**copied(change))], trainer={"numNodes": 2})
    assert old == patched(change)


@given(pods, pods)
def test_the_later_manager_has_the_last_word(first: Object, second: Object) -> None:
    found, alone = pod(patched(first, second)), pod(patched(second))
    for key in ("tolerations", "serviceAccountName"):
        if key in second:
            assert found.get(key) == alone.get(key)
    for key, value in second.get("nodeSelector", {}).items():
        assert found["nodeSelector"][key] == value


@given(selectors, mounts)
def test_managers_of_different_things_may_come_in_any_order(selector: Object, mounted: list[Object]) -> None:
    one = {"nodeSelector": selector}
    other = {"containers": [{"name": "node", "volumeMounts": mounted}]}
    assert patched(one, other) == patched(other, one)


@given(pods)
def test_nothing_outside_the_patch_is_changed(change: Object) -> None:
    before, after = patched(), patched(change)
    touched = {"nodeSelector", "tolerations", "volumes", "serviceAccountName", "containers", "initContainers"}
    assert _without(after, touched & set(change)) == _without(before, touched & set(change))
    # And of what it touches, what it does not name is still there, as it was.
    for item in pod(before)["initContainers"][0]["env"]:
        named = [own["name"] for own in change.get("initContainers", [{"env": []}])[0]["env"]]
        if item["name"] not in named:
            assert item in pod(after)["initContainers"][0]["env"]
    for volume in pod(before)["volumes"]:
        assert volume in pod(after)["volumes"]


def _without(jobset: Object, keys: set[str]) -> Object:
    rest: Object = copied(jobset)
    for key in keys:
        pod(rest).pop(key, None)
    return rest


@settings(max_examples=20)
@given(st.lists(pods, max_size=3))
def test_what_is_merged_is_what_the_preview_shows_and_every_line_has_a_source(changes: list[Object]) -> None:
    entries = [a_patch(manager=f"example.com/m{index}", **pod) for index, pod in enumerate(changes)]
    job = a_trainjob("r", runtimePatches=entries, trainer={"numNodes": 2})
    runtime = the_runtime()
    shown = preview(job, runtime)
    made = desired.wanted(job, runtime).jobset
    assert _is_part(made, shown.jobset)
    assert set(shown.provenance) == set(_leaves(shown.jobset))


@given(st.lists(pods, max_size=2))
def test_merging_depends_on_nothing_but_its_inputs(changes: list[Object]) -> None:
    assert patched(*changes) == patched(*copied(changes))


def _is_part(part: JSON, whole: JSON) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and _is_part(part[key], whole[key]) for key in part
        )
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(_is_part, part, whole))
    return bool(part == whole)


def _leaves(value: JSON, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [leaf for key, item in parts for leaf in _leaves(item, (*path, key))]
    return found or [path]


@given(
    st.sampled_from(["torch-distributed", "deepspeed-distributed", "tensorflow-runtime"]), st.integers(0, 5)
)
def test_every_pod_of_a_job_has_to_finish(runtime: str, nodes: int) -> None:
    jobset = desired.wanted(a_trainjob(runtime, trainer={"numNodes": nodes}), built_in(runtime)).jobset
    for job in jobset["spec"]["replicatedJobs"]:
        assert job["template"]["spec"]["parallelism"] == job["template"]["spec"]["completions"]


ODD_KEYS = (
    "name", "spec", "template", "replicatedJobs", "containers", "env", "manager", "targetJobs", "metadata",
    "labels", "trainingRuntimeSpec", "resources", "limits", "cpu", "command",
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "node", "auto", "tune", "1"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(ODD_KEYS),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
odd_specs = st.dictionaries(
    st.sampled_from(
        ["runtimeRef", "trainer", "initializer", "runtimePatches", "podTemplateOverrides", "labels"]
    ),
    anything,
)


@settings(max_examples=100)
@given(odd_specs, anything, st.sampled_from(["torch", "mpi", "jax", "xgboost", "flux", "none"]))
def test_odd_manifests_are_shown_without_a_crash(spec: Object, template: JSON, policy: str) -> None:
    job = {"metadata": {"name": "t"}, "spec": spec}
    runtime = {"metadata": {"name": "r"}, "spec": {"mlPolicy": {policy: {}}, "template": template}}
    for lint in preview(job, runtime).warnings:
        assert lint.message
    preview(job, built_in("torch-distributed"))
