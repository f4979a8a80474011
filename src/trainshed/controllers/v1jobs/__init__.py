"""The job kinds of kubeflow.org/v1 → pods and services, as the Training Operator 1.9.4 does it.

`replicas` reads a job with its defaults, `desired` decides what comes and goes, `status` what is said;
`environment` and `mpi` are what pods of a kind are given. All are pure; `reconcile` carries it out.
What differs between kinds is a row of `kinds.kubeflow.families`. Imported by compose.
"""
