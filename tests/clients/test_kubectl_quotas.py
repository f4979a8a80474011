"""kubectl about quotas and limits: what it makes, prints and describes, and how it tells a refusal."""

from __future__ import annotations

from tests.clients.console import Console

LIMITS = """
    apiVersion: v1
    kind: LimitRange
    metadata: {name: sizes}
    spec:
      limits:
      - {type: Container, default: {cpu: "2"}, defaultRequest: {cpu: "1"}, max: {cpu: "4"}}
"""


def test_quotas_and_limits_are_shown_with_what_is_used(console: Console) -> None:
    console.write(limits_yaml=LIMITS)
    console.says("kubectl create quota few --hard=pods=2,count/secrets=1,requests.cpu=1")
    console.says("kubectl apply -f limits.yaml")
    console.says("kubectl create secret generic one")
    console.plays(r"""
        ! kubectl create secret generic two
        error: failed to create secret secrets "two" is forbidden: exceeded quota: few, requested: count/secrets=1, used: count/secrets=1, limited: count/secrets=1
        $ kubectl get quota
        NAME   AGE   REQUEST                                            LIMIT
        few    AGE    count/secrets: 1/1, pods: 0/2, requests.cpu: 0/1
        $ kubectl describe quota few
        Name:          few
        Namespace:     NS
        Resource       Used  Hard
        --------       ----  ----
        count/secrets  1     1
        pods           0     2
        requests.cpu   0     1
        $ kubectl describe limits sizes
        Name:       sizes
        Namespace:  NS
        Type        Resource  Min  Max  Default Request  Default Limit  Max Limit/Request Ratio
        ----        --------  ---  ---  ---------------  -------------  -----------------------
        Container   cpu       -    4    1                2              -
        $ kubectl describe ns NS
        Name:         NS
        Labels:       kubernetes.io/metadata.name=NS
        Annotations:  <none>
        Status:       Active

        Resource Quotas
          Name:          few
          Resource       Used  Hard
          --------       ---   ---
          count/secrets  1     1
          pods           0     2
          requests.cpu   0     1

        Resource Limits
         Type       Resource  Min  Max  Default Request  Default Limit  Max Limit/Request Ratio
         ----       --------  ---  ---  ---------------  -------------  -----------------------
         Container  cpu       -    4    1                2              -
    """)  # noqa: E501
