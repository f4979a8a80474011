"""kubectl describe: pages put together from the object, its relatives and its events."""

from __future__ import annotations

from tests.clients.console import Console


class TestConfiguration:
    def test_config_maps_and_secrets(self, console: Console) -> None:
        console.says("kubectl create cm cm --from-literal=a=1")
        console.says("kubectl create secret generic plain --from-literal=k=v")
        console.plays(r"""
            $ kubectl describe cm cm
            Name:         cm
            Namespace:    NS
            Labels:       <none>
            Annotations:  <none>

            Data
            ====
            a:
            ----
            1

            BinaryData
            ====

            Events:  <none>
            $ kubectl describe secret plain
            Name:         plain
            Namespace:    NS
            Labels:       <none>
            Annotations:  <none>

            Type:  Opaque

            Data
            ====
            k:  1 bytes
        """)

    def test_accounts_and_roles(self, console: Console) -> None:
        console.says("kubectl create role reader --verb=get,list --resource=pods,configmaps")
        console.says("kubectl create rolebinding bob --role=reader --user=bob --serviceaccount=NS:default")
        console.plays(r"""
            $ kubectl describe sa default
            Name:                default
            Namespace:           NS
            Labels:              <none>
            Annotations:         <none>
            Image pull secrets:  <none>
            Mountable secrets:   <none>
            Tokens:              <none>
            Events:              <none>
            $ kubectl describe role reader
            Name:         reader
            Labels:       <none>
            Annotations:  <none>
            PolicyRule:
              Resources   Non-Resource URLs  Resource Names  Verbs
              ---------   -----------------  --------------  -----
              configmaps  []                 []              [get list]
              pods        []                 []              [get list]
            $ kubectl describe rolebinding bob
            Name:         bob
            Labels:       <none>
            Annotations:  <none>
            Role:
              Kind:  Role
              Name:  reader
            Subjects:
              Kind            Name     Namespace
              ----            ----     ---------
              User            bob
              ServiceAccount  default  NS
        """)

    def test_namespaces(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl describe ns NS
            Name:         NS
            Labels:       kubernetes.io/metadata.name=NS
            Annotations:  <none>
            Status:       Active

            No resource quota.

            No LimitRange resource.
        """)

    def test_quotas_with_a_status(self, console: Console) -> None:
        console.says("kubectl create quota few --hard=services.loadbalancers=5")
        status = '{"status":{"hard":{"services.loadbalancers":"5"},"used":{"services.loadbalancers":"0"}}}'
        console.says(f"kubectl patch quota few --subresource=status --type=merge -p '{status}'")
        console.plays(r"""
            $ kubectl describe quota few
            Name:                   few
            Namespace:              NS
            Resource                Used  Hard
            --------                ----  ----
            services.loadbalancers  0     5
        """)


class TestWorkloads:
    def test_pods(self, console: Console) -> None:
        console.write(
            pod_yaml="""
            apiVersion: v1
            kind: Pod
            metadata: {name: web, labels: {app: web}}
            spec:
              automountServiceAccountToken: false
              containers:
              - name: main
                image: nginx:1
                ports: [{containerPort: 80}]
                env: [{name: A, value: "1"}, {name: P, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
                resources: {limits: {cpu: 2, memory: 64Mi}}
                livenessProbe: {httpGet: {path: /, port: 80}}
                volumeMounts: [{name: d, mountPath: /d}]
              volumes: [{name: d, emptyDir: {}}]
              nodeSelector: {place: nowhere}
            """
        )
        console.says("kubectl create -f pod.yaml")
        console.plays(r"""
            $ kubectl describe pod web
            Name:             web
            Namespace:        NS
            Priority:         0
            Service Account:  default
            Node:             <none>
            Labels:           app=web
            Annotations:      <none>
            Status:           Pending
            IP:
            IPs:              <none>
            Containers:
              main:
                Image:      nginx:1
                Port:       80/TCP
                Host Port:  0/TCP
                Limits:
                  cpu:     2
                  memory:  64Mi
                Requests:
                  cpu:     2
                  memory:  64Mi
                Liveness:  http-get http://:80/ delay=0s timeout=1s period=10s #success=1 #failure=3
                Environment:
                  A:  1
                  P:  web (v1:metadata.name)
                Mounts:
                  /d from d (rw)
            Volumes:
              d:
                Type:        EmptyDir (a temporary directory that shares a pod's lifetime)
                Medium:
                SizeLimit:   <unset>
            QoS Class:       Guaranteed
            Node-Selectors:  place=nowhere
            Tolerations:     node.kubernetes.io/not-ready:NoExecute op=Exists for AGE
                             node.kubernetes.io/unreachable:NoExecute op=Exists for AGE
            Events:          <none>
        """)

    def test_events_stand_below_their_object(self, console: Console) -> None:
        console.says("kubectl create cm app")
        uid = console.says("kubectl get cm app -o jsonpath={.metadata.uid}")
        console.write(
            event_yaml=f"""
            apiVersion: v1
            kind: Event
            metadata: {{name: ev}}
            involvedObject: {{apiVersion: v1, kind: ConfigMap, name: app, namespace: NS, uid: {uid}}}
            reason: Read
            message: somebody read it
            type: Normal
            source: {{component: tests}}
            firstTimestamp: "2026-01-01T00:00:00Z"
            lastTimestamp: "2026-01-01T00:00:00Z"
            """
        )
        console.says("kubectl create -f event.yaml")
        shown = console.words(console.says("kubectl describe cm app"))
        assert shown.endswith(
            "Events:\nType Reason Age From Message\n---- ------ ---- ---- -------\n"
            "Normal Read AGE tests somebody read it"
        )

    def test_jobs(self, console: Console) -> None:
        console.write(
            job_yaml="""
            apiVersion: batch/v1
            kind: Job
            metadata: {name: once}
            spec:
              suspend: true
              template: {spec: {containers: [{name: main, image: busybox}], restartPolicy: Never}}
            """
        )
        console.says("kubectl create -f job.yaml")
        lines = console.words(console.says("kubectl describe job once")).splitlines()
        assert lines[:2] == ["Name: once", "Namespace: NS"]
        assert "Selector: batch.kubernetes.io/controller-uid=UID" in lines
        assert "Labels: batch.kubernetes.io/controller-uid=UID" in lines
        assert "Parallelism: 1" in lines
        assert "Completion Mode: NonIndexed" in lines
        assert "Backoff Limit: 6" in lines

    def test_services(self, console: Console) -> None:
        console.says("kubectl create service clusterip headless --clusterip=None")
        console.plays(r"""
            $ kubectl describe svc headless
            Name:                     headless
            Namespace:                NS
            Labels:                   app=headless
            Annotations:              <none>
            Selector:                 app=headless
            Type:                     ClusterIP
            IP Family Policy:         SingleStack
            IP Families:              IPv4
            IP:                       None
            IPs:                      None
            Session Affinity:         None
            Internal Traffic Policy:  Cluster
            Events:                   <none>
        """)

    def test_priority_classes(self, console: Console) -> None:
        console.says("kubectl create priorityclass UNIQUE --value=1000 --description=d")
        console.plays(r"""
            $ kubectl describe priorityclass UNIQUE
            Name:              UNIQUE
            Value:             1000
            GlobalDefault:     false
            PreemptionPolicy:  PreemptLowerPriority
            Description:       d
            Annotations:       <none>
            Events:            <none>
        """)
        console.says("kubectl delete priorityclass UNIQUE")


class TestNodes:
    def test_shows_labels_taints_and_pods(self, console: Console) -> None:
        console.write(
            node_yaml="""
            apiVersion: v1
            kind: Node
            metadata: {name: UNIQUE, labels: {node-role.kubernetes.io/gpu: ""}}
            spec: {taints: [{key: a, value: b, effect: PreferNoSchedule}]}
            """
        )
        console.says("kubectl create -f node.yaml")
        console.says("""kubectl run p --image=nginx --overrides='{"spec":{"nodeName":"UNIQUE"}}'""")
        lines = console.words(console.says("kubectl describe node UNIQUE")).splitlines()
        assert lines[:3] == ["Name: UNIQUE", "Roles: gpu", "Labels: node-role.kubernetes.io/gpu="]
        assert any("a=b:PreferNoSchedule" in line for line in lines)
        assert "Unschedulable: false" in lines
        assert "Non-terminated Pods: (1 in total)" in lines
        assert any(line.startswith("NS p 0 ") for line in lines)
        console.says("kubectl delete pod p --force --grace-period=0")
        console.says("kubectl delete node UNIQUE")


class TestMissing:
    def test_says_so(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl describe cm nosuch
            Error from server (NotFound): configmaps "nosuch" not found
            ! kubectl describe pod nosuch
            Error from server (NotFound): pods "nosuch" not found
        """)
