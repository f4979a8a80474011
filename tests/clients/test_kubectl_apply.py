"""kubectl apply, diff and friends: what a real cluster prints, line by line."""

from __future__ import annotations

import pytest

from tests.clients.console import Console

ADVICE = """
    Please review the fields above--they currently have other managers. Here
    are the ways you can resolve this warning:
    * If you intend to manage all of these fields, please re-run the apply
      command with the `--force-conflicts` flag.
    * If you do not intend to manage all of the fields, please edit your
      manifest to remove references to the fields that should keep their
      current managers.
    * You may co-own fields by updating your manifest to match the existing
      value; in this case, you'll become the manager if the other manager(s)
      stop managing the field (remove it from their configuration).
    See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
"""

DEPLOYMENT = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: dep}
    spec:
      replicas: 1
      selector: {matchLabels: {app: dep}}
      template:
        metadata: {labels: {app: dep}}
        spec: {containers: [{name: c, image: nginx}]}
"""


@pytest.fixture
def files(console: Console) -> Console:
    """Two editions of a ConfigMap."""
    config = """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: app}
        data: {a: "1", b: "2"}
    """
    console.write(one_yaml=config, two_yaml=config.replace('{a: "1", b: "2"}', '{a: "9"}'))
    return console


class TestOnTheClient:
    def test_says_what_it_did_with_each_object(self, files: Console) -> None:
        files.plays(r"""
            $ kubectl apply -f one.yaml
            configmap/app created
            $ kubectl apply -f one.yaml
            configmap/app unchanged
            $ kubectl apply -f two.yaml
            configmap/app configured
            $ kubectl get cm app -o jsonpath={.data}
            {"a":"9"}
            $ kubectl apply view-last-applied cm app
            apiVersion: v1
            data:
              a: "9"
            kind: ConfigMap
            metadata:
              annotations: {}
              name: app
              namespace: NS
        """)

    def test_takes_several_documents_in_one_file(self, console: Console) -> None:
        console.write(
            many_yaml="""
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: m1, labels: {set: m}}
            ---
            apiVersion: v1
            kind: Secret
            metadata: {name: m2, labels: {set: m}}
            data: {a: Yg==}
            ---
            apiVersion: v1
            kind: Service
            metadata: {name: m3, labels: {set: m}}
            spec: {ports: [{port: 80, name: http}], selector: {a: b}}
            """
        )
        console.plays(r"""
            $ kubectl apply -f many.yaml
            configmap/m1 created
            secret/m2 created
            service/m3 created
            $ kubectl apply -f many.yaml
            configmap/m1 unchanged
            secret/m2 unchanged
            service/m3 unchanged
            $ kubectl get -f many.yaml
            NAME           DATA   AGE
            configmap/m1   0      AGE

            NAME        TYPE     DATA   AGE
            secret/m2   Opaque   1      AGE

            NAME         TYPE        CLUSTER-IP   EXTERNAL-IP   PORT(S)   AGE
            service/m3   ClusterIP   IP           <none>        80/TCP    AGE
            $ kubectl delete -l set=m cm,secret,svc
            configmap "m1" deleted
            secret "m2" deleted
            service "m3" deleted
        """)

    def test_fails_with_the_words_of_a_cluster(self, console: Console) -> None:
        console.write(broken_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x\n")
        console.write(nokind_yaml="kind: ConfigMap\nmetadata: {name: x}\n")
        console.write(generated_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: gen-}\n")
        console.write(widget_yaml="apiVersion: v1\nkind: Widget\nmetadata: {name: gen}\n")
        console.plays(r"""
            ! kubectl apply -f nokind.yaml
            error: error validating "nokind.yaml": error validating data: apiVersion not set; \
            if you choose to ignore these errors, turn validation off with --validate=false
            ! kubectl apply -f generated.yaml
            error: from gen-: cannot use generate name with apply
            ! kubectl apply -f widget.yaml
            error: resource mapping not found for name: "gen" namespace: "" from "widget.yaml": \
            no matches for kind "Widget" in version "v1"
            ensure CRDs are installed first
        """)

    def test_prunes_what_a_file_no_longer_names(self, console: Console) -> None:
        config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, labels: {set: m}}\n"
        console.write(one_yaml=config.replace("NAME", "one"), two_yaml=config.replace("NAME", "two"))
        console.plays(r"""
            $ kubectl apply -f one.yaml
            configmap/one created
            $ kubectl apply -f two.yaml --prune -l set=m
            configmap/two created
            configmap/one pruned
        """)

    def test_in_a_missing_namespace_names_it(self, files: Console) -> None:
        files.plays(r"""
            ! kubectl apply -f one.yaml -n UNIQUE
            Error from server (NotFound): error when creating "one.yaml": namespaces "UNIQUE" not found
        """)


class TestOnTheServer:
    def test_conflicts_are_named_and_can_be_forced(self, files: Console) -> None:
        files.plays(rf"""
            $ kubectl apply -f two.yaml --server-side
            configmap/app serverside-applied
            ! kubectl apply -f one.yaml --server-side --field-manager=other
            error: Apply failed with 1 conflict: conflict with "kubectl": .data.a
            {ADVICE}
            $ kubectl apply -f one.yaml --server-side --field-manager=other --force-conflicts
            configmap/app serverside-applied
            $ kubectl get cm app -o jsonpath={{.data}}
            {{"a":"1","b":"2"}}
            $ kubectl apply -f one.yaml --server-side --field-manager=other --dry-run=server
            configmap/app serverside-applied (server dry run)
        """)

    def test_takes_over_from_the_client_side(self, files: Console) -> None:
        files.plays(r"""
            $ kubectl apply -f one.yaml
            configmap/app created
            $ kubectl apply -f two.yaml --server-side
            configmap/app serverside-applied
            $ kubectl get cm app -o jsonpath={.data}
            {"a":"9"}
            $ kubectl get cm app -o jsonpath='{.metadata.managedFields[?(@.manager=="kubectl")].fieldsV1}'
            {"f:data":{"f:a":{}}}
            $ kubectl get cm app -o jsonpath='{.metadata.managedFields[?(@.operation=="Update")].manager}'
        """)

    def test_unknown_fields_are_refused_by_path(self, console: Console) -> None:
        console.write(
            bad_yaml="apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {bogus: 1, containers: []}\n"
        )
        console.plays(r"""
            ! kubectl apply -f bad.yaml --server-side
            Error from server: failed to create typed patch object (NS/p; /v1, Kind=Pod): \
            .spec.bogus: field not declared in schema
        """)


class TestDiff:
    def test_shows_what_apply_would_change(self, files: Console) -> None:
        files.plays(r"""
            $ kubectl apply -f one.yaml
            configmap/app created
            $ kubectl diff -f one.yaml
            ! kubectl diff -f two.yaml
            diff -u -N LIVE/v1.ConfigMap.NS.app MERGED/v1.ConfigMap.NS.app
            --- LIVE/v1.ConfigMap.NS.app TIME
            +++ MERGED/v1.ConfigMap.NS.app TIME
            @@ -1,7 +1,6 @@
             apiVersion: v1
             data:
            -  a: "1"
            -  b: "2"
            +  a: "9"
             kind: ConfigMap
             metadata:
               annotations:
        """)

    def test_shows_a_new_object_as_the_server_would_store_it(self, console: Console) -> None:
        console.write(dep_yaml=DEPLOYMENT)
        shown = console.run("kubectl diff -f dep.yaml")
        assert shown.returncode == 1, shown.stderr
        lines = console.words(shown.stdout).splitlines()
        assert "+ progressDeadlineSeconds: 600" in lines
        assert "+ maxSurge: 25%" in lines
        assert "+ terminationMessagePath: /dev/termination-log" in lines
        assert console.run("kubectl get deploy dep").returncode == 1


class TestCreateAndReplace:
    def test_create_refuses_what_exists(self, files: Console) -> None:
        files.plays(r"""
            $ kubectl create -f one.yaml
            configmap/app created
            ! kubectl create -f one.yaml
            Error from server (AlreadyExists): error when creating "one.yaml": configmaps "app" already exists
            ! kubectl create -f one.yaml --namespace other --dry-run=server
            Error from server (NotFound): error when creating "one.yaml": namespaces "other" not found
        """)

    def test_replace_refuses_what_is_missing(self, files: Console) -> None:
        files.plays(r"""
            ! kubectl replace -f one.yaml
            Error from server (NotFound): error when replacing "one.yaml": configmaps "app" not found
            $ kubectl create -f one.yaml
            configmap/app created
            $ kubectl replace -f two.yaml
            configmap/app replaced
            $ kubectl get cm app -o jsonpath={.data}
            {"a":"9"}
            $ kubectl replace --force -f one.yaml
            configmap "app" deleted
            configmap/app replaced
        """)

    def test_unknown_fields_are_refused_warned_about_or_ignored(self, console: Console) -> None:
        console.write(
            pod_yaml="""
            apiVersion: v1
            kind: Pod
            metadata: {name: unk, foo: bar}
            spec:
              bogus: 1
              containers: [{name: main, image: nginx, imag: x}]
              nodeSelector: {place: nowhere}
            """
        )
        console.plays(r"""
            ! kubectl create -f pod.yaml
            Error from server (BadRequest): error when creating "pod.yaml": Pod in version "v1" cannot be \
            handled as a Pod: strict decoding error: unknown field "metadata.foo", \
            unknown field "spec.bogus", unknown field "spec.containers[0].imag"
            $ kubectl create -f pod.yaml --validate=warn --dry-run=server
            pod/unk created (server dry run)
            Warning: unknown field "metadata.foo"
            Warning: unknown field "spec.bogus"
            Warning: unknown field "spec.containers[0].imag"
            $ kubectl create -f pod.yaml --validate=ignore
            pod/unk created
        """)

    def test_every_fault_of_an_object_is_listed(self, console: Console) -> None:
        console.write(
            bad_yaml="""
            apiVersion: v1
            kind: Pod
            metadata: {name: Bad_Name}
            spec:
              restartPolicy: Sometimes
              containers: [{name: a, image: nginx, ports: [{containerPort: 99999}]}, {name: b}]
            """
        )
        console.plays(r"""
            ! kubectl create -f bad.yaml
            The Pod "Bad_Name" is invalid:
            * metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower \
            case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
            (e.g. 'example.com', regex used for validation is \
            '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
            * spec.containers[0].ports[0].containerPort: Invalid value: 99999: must be between 1 and 65535, \
            inclusive
            * spec.containers[1].image: Required value
            * spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", \
            "Never"
        """)
