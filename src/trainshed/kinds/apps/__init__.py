"""The apps group: Deployments and their family, kept and shown so that manifests holding them apply."""
