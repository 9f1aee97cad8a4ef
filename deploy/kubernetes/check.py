#!/usr/bin/env python3
"""check.py [FILE…]: holds the manifests beside it against the published schemas of Kubernetes, strictly.

The schemas are those of the package kubernetes-validate (pip install kubernetes-validate). A JobSet's is not in it: the
Job within it is checked as a Job."""

import pathlib
import sys

import kubernetes_validate
import yaml

VERSION = "1.31"  # the oldest that has all that is used here


def parts(document):
    """(what it is, manifest) of each part that there is a schema of."""
    if document["kind"] != "JobSet":
        yield "%s %s" % (document["kind"], document["metadata"]["name"]), document
        return
    for job in document["spec"]["replicatedJobs"]:
        yield "Job %s of JobSet %s" % (job["name"], document["metadata"]["name"]), {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job["name"]}, **job["template"]}


def main():
    files = sys.argv[1:] or sorted(pathlib.Path(__file__).parent.glob("*.yaml"))
    bad = 0
    for path in files:
        for document in yaml.safe_load_all(pathlib.Path(path).read_text()):
            for what, part in parts(document):
                try:
                    kubernetes_validate.validate(part, VERSION, strict=True)
                    print("%s: %s fits" % (pathlib.Path(path).name, what))
                except kubernetes_validate.ValidationError as error:
                    bad += 1
                    print("%s: %s: %s: %s" % (path, what, ".".join(map(str, error.path)), error.message), file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
