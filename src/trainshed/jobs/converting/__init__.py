"""From the job kinds of kubeflow.org/v1 and older TrainJobs to TrainJobs of today; pure.

`convert` takes objects, `convert_text` whole files with their comments. Whatever a manifest says ends up in
the result or in a finding: documents are taken apart piece by piece, and what is left at the end is told.
Imported by the command line, the REST backend, and whoever converts manifests in Python.
"""

from trainshed.jobs.converting.converting import Conversion, convert
from trainshed.jobs.converting.findings import Finding
from trainshed.jobs.converting.texts import Text
from trainshed.jobs.converting.texts import convert as convert_text

__all__ = ["Conversion", "Finding", "Text", "convert", "convert_text"]
