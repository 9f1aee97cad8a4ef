#!/usr/bin/env python3
"""check.py [--jobset CRD] [FILE…]: checks the manifests in its folder against Kubernetes' schemas, strictly.

The schemas are those of the package kubernetes-validate (pip install kubernetes-validate). It has no schema of JobSet:
the Job in a JobSet is checked as a Job. The whole JobSet is checked only against CRD, the definition that JobSet's
project publishes (config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml)."""

import argparse
import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml

VERSION = "1.31"  # the oldest version with all that is used here


def strict(schema):
    """Converts a CRD's schema to a JSON schema that allows no other fields."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    made = {name: strict(part) for name, part in schema.items()}
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def schemas_of(path):
    """Returns the CRD's schemas by apiVersion. They allow any metadata, as the CRD does."""
    spec = yaml.safe_load(pathlib.Path(path).read_text())["spec"]
    schemas = {}
    for version in spec["versions"]:
        schema = strict(version["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = {"type": "object"}
        schemas["%s/%s" % (spec["group"], version["name"])] = schema
    return schemas


def parts(document):
    """Yields (name, manifest) for each part that has a schema."""
    if document["kind"] != "JobSet":
        yield "%s %s" % (document["kind"], document["metadata"]["name"]), document
        return
    for job in document["spec"]["replicatedJobs"]:
        yield "Job %s of JobSet %s" % (job["name"], document["metadata"]["name"]), {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job["name"]}, **job["template"]}


def checks(document, jobset):
    """Yields (name, a check that raises) for each part."""
    for what, part in parts(document):
        yield what, lambda part=part: kubernetes_validate.validate(part, VERSION, strict=True)
    if document["kind"] == "JobSet" and jobset is not None:
        yield "JobSet %s" % document["metadata"]["name"], lambda: jsonschema.validate(document, jobset[document["apiVersion"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobset", metavar="CRD", type=schemas_of)
    parser.add_argument("files", metavar="FILE", nargs="*", type=pathlib.Path,
                        default=sorted(pathlib.Path(__file__).parent.glob("*.yaml")))
    options = parser.parse_args()
    bad = 0
    for path in options.files:
        for document in yaml.safe_load_all(path.read_text()):
            for what, check in checks(document, options.jobset):
                try:
                    check()
                    print("%s: %s is valid" % (path.name, what))
                except (kubernetes_validate.ValidationError, jsonschema.ValidationError) as error:
                    bad += 1
                    print("%s: %s: %s: %s" % (path, what, ".".join(map(str, error.path)), error.message), file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
