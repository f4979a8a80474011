"""kubectl create and its many nouns; these bodies travel as protobuf."""

from __future__ import annotations

import re

from tests.clients.console import Console


class TestNouns:
    def test_namespaces(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create ns UNIQUE
            namespace/UNIQUE created
            ! kubectl create ns UNIQUE
            Error from server (AlreadyExists): namespaces "UNIQUE" already exists
            $ kubectl get ns UNIQUE
            NAME     STATUS   AGE
            UNIQUE   Active   AGE
            $ kubectl delete ns UNIQUE
            namespace "UNIQUE" deleted
            ! kubectl get ns UNIQUE
            Error from server (NotFound): namespaces "UNIQUE" not found
        """)

    def test_config_maps(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create configmap cm --from-literal=a=1 --from-literal=b=2
            configmap/cm created
            ! kubectl create configmap cm --from-literal=a=1
            error: failed to create configmap: configmaps "cm" already exists
            $ kubectl get cm cm
            NAME   DATA   AGE
            cm     2      AGE
            ! kubectl create configmap cm -n UNIQUE
            error: failed to create configmap: namespaces "UNIQUE" not found
            ! kubectl create configmap Bad_Name
            error: failed to create configmap: ConfigMap "Bad_Name" is invalid: metadata.name: Invalid \
            value: \
            "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
            '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
            used \
            for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
        """)

    def test_secrets(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create secret generic plain --from-literal=k=v
            secret/plain created
            $ kubectl create secret docker-registry pull --docker-username=u --docker-password=p \
            --docker-server=x
            secret/pull created
            $ kubectl get secret
            NAME    TYPE                             DATA   AGE
            plain   Opaque                           1      AGE
            pull    kubernetes.io/dockerconfigjson   1      AGE
            ! kubectl create secret generic odd --type=kubernetes.io/tls
            error: failed to create secret Secret "odd" is invalid: [data[tls.crt]: Required value, \
            data[tls.key]: Required value]
            $ kubectl get secret plain -o go-template='{{.data.k | base64decode}}'
            v
        """)

    def test_service_accounts_and_their_tokens(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create sa bot
            serviceaccount/bot created
            $ kubectl create token bot
            TOKEN
            ! kubectl create token bot --duration=1m
            error: failed to create token: TokenRequest.authentication.k8s.io "" is invalid: \
            spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes
            ! kubectl create token nosuch
            error: failed to create token: serviceaccounts "nosuch" not found
        """)

    def test_jobs(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create job once --image=busybox -- true
            job.batch/once created
            $ kubectl get job once -o jsonpath='{.spec.completions} {.spec.parallelism} {.spec.backoffLimit}'
            1 1 6
            ! kubectl create job once --image=busybox -n UNIQUE
            error: failed to create job: namespaces "UNIQUE" not found
            $ kubectl create cronjob often --image=busybox --schedule='*/5 * * * *' -- true
            cronjob.batch/often created
            $ kubectl get cronjob -o wide
            NAME  SCHEDULE     TIMEZONE  SUSPEND  ACTIVE  LAST SCHEDULE  AGE  CONTAINERS  IMAGES   SELECTOR
            often */5 * * * *  <none>    False    0       <none>         AGE  often       busybox  <none>
            $ kubectl create job now --from=cronjob/often
            job.batch/now created
        """)

    def test_roles_and_bindings(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create role reader --verb=get,list --resource=pods,configmaps
            role.rbac.authorization.k8s.io/reader created
            $ kubectl create rolebinding bob --role=reader --user=bob --serviceaccount=NS:default
            rolebinding.rbac.authorization.k8s.io/bob created
            $ kubectl get role,rolebinding -o wide
            NAME                                    CREATED AT
            role.rbac.authorization.k8s.io/reader   TIME

            NAME                                        ROLE          AGE   USERS   GROUPS   SERVICEACCOUNTS
            rolebinding.rbac.authorization.k8s.io/bob   Role/reader   AGE   bob              NS/default
            ! kubectl create role odd --verb=get --resource=nosuch
            the server doesn't have a resource type "nosuch"
        """)

    def test_quotas_and_priority_classes(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create quota few --hard=pods=5,requests.cpu=2
            resourcequota/few created
            $ kubectl get quota few -o jsonpath={.spec.hard}
            {"pods":"5","requests.cpu":"2"}
            $ kubectl create priorityclass UNIQUE --value=1000 --description=d
            priorityclass.scheduling.k8s.io/UNIQUE created
            $ kubectl get priorityclass UNIQUE
            NAME     VALUE   GLOBAL-DEFAULT   AGE   PREEMPTIONPOLICY
            UNIQUE   1000    false            AGE   PreemptLowerPriority
            $ kubectl delete priorityclass UNIQUE
            priorityclass.scheduling.k8s.io "UNIQUE" deleted
            $ kubectl get priorityclass system-cluster-critical system-node-critical
            NAME                      VALUE        GLOBAL-DEFAULT   AGE   PREEMPTIONPOLICY
            system-cluster-critical   2000000000   false            AGE   PreemptLowerPriority
            system-node-critical      2000001000   false            AGE   PreemptLowerPriority
        """)

    def test_services(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create service clusterip inner --tcp=80:8080
            service/inner created
            $ kubectl create service externalname other --external-name=x.example.com
            service/other created
            $ kubectl create service clusterip headless --clusterip=None
            service/headless created
            $ kubectl get svc -o wide
            NAME      TYPE          CLUSTER-IP  EXTERNAL-IP    PORT(S)  AGE  SELECTOR
            headless  ClusterIP     None        <none>         <none>   AGE  app=headless
            inner     ClusterIP     IP          <none>         80/TCP   AGE  app=inner
            other     ExternalName  <none>      x.example.com  <none>   AGE  app=other
            ! kubectl create service nodeport outer --tcp=80 --node-port=99
            error: failed to create NodePort service: Service "outer" is invalid: spec.ports[0].nodePort: \
            Invalid value: 99: provided port is not in the valid range. The range of valid ports is \
            30000-32767
        """)
        made = console.says("kubectl create service nodeport outer --tcp=80")
        assert made == "service/outer created\n"
        ports = console.says("kubectl get svc outer --no-headers").split()[4]
        assert re.fullmatch(r"80:3[0-2]\d{3}/TCP", ports)

    def test_ingresses(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create ingress i1 --rule=a.example.com/x=svc1:80
            ingress.networking.k8s.io/i1 created
            $ kubectl get ingress
            NAME   CLASS    HOSTS           ADDRESS   PORTS   AGE
            i1     <none>   a.example.com             80      AGE
        """)

    def test_deployments_and_budgets(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create deployment d1 --image=nginx --replicas=2
            deployment.apps/d1 created
            $ kubectl create poddisruptionbudget p1 --selector=a=b --min-available=1
            poddisruptionbudget.policy/p1 created
            $ kubectl get pdb
            NAME   MIN AVAILABLE   MAX UNAVAILABLE   ALLOWED DISRUPTIONS   AGE
            p1     1               N/A               0                     AGE
            $ kubectl expose deployment d1 --port=80
            service/d1 exposed
        """)


class TestDryRun:
    def test_shows_the_object_and_keeps_nothing(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create sa bot --dry-run=server -o yaml
            apiVersion: v1
            kind: ServiceAccount
            metadata:
              creationTimestamp: "TIME"
              name: bot
              namespace: NS
              uid: UID
            ! kubectl get sa bot
            Error from server (NotFound): serviceaccounts "bot" not found
            $ kubectl run p --image=nginx --dry-run=server -o name
            pod/p
        """)

    def test_generated_names_end_in_letters(self, console: Console) -> None:
        console.write(gen_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: gen-}\n")
        made = console.says("kubectl create -f gen.yaml -o name")
        assert made.startswith("configmap/gen-")
        assert len(made.strip()) == len("configmap/gen-xxxxx")
