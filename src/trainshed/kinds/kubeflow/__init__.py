"""kubeflow.org/v1: PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob, MXJob, JAXJob (Training Operator).

Pure, like all kinds. The operator's defaults live in its controllers' memory, so nothing is filled in here.
"""
