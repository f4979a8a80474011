"""From the job kinds of kubeflow.org/v1 and older TrainJobs to TrainJobs of today; pure.

`converting` takes objects, `texts` whole files with their comments. Whatever a manifest says ends up in the
result or in a finding: documents are taken apart piece by piece, and what is left at the end is told.
Imported by the command line and the REST backend.
"""
