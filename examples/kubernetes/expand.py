#!/usr/bin/env python3
"""Prints the manifest of a training job: deploy/kubernetes/job.yaml with your values and overlays.

    expand.py --name train --nodes 4 --slots 8 --image registry/train:1 --overlay no-tls -- python3 train.py | kubectl apply -f -

An overlay is a file of overlays/ (or a path of your own): a piece of a Job that is merged into the manifest. In lists,
an entry replaces the one with the same name (env, containers, volumes) or mountPath; null removes a field. Needs PyYAML.
"""

import argparse
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
BASE = HERE.parents[1] / "deploy" / "kubernetes" / "job.yaml"
OVERLAYS = HERE / "overlays"


def key_of(entry):
    return (entry.get("mountPath") or entry.get("name")) if isinstance(entry, dict) else None


def merged(base, patch):
    """Returns `base` with `patch` merged into it; changes neither."""
    if isinstance(base, dict) and isinstance(patch, dict):
        made = {name: value for name, value in base.items() if patch.get(name, value) is not None}
        for name, value in patch.items():
            if value is not None:
                made[name] = merged(made.get(name), value)
        return made
    if not (isinstance(base, list) and isinstance(patch, list) and all(key_of(entry) for entry in base + patch)):
        return patch
    made = {key_of(entry): entry for entry in base}
    for entry in patch:
        if entry.get("$remove"):
            made.pop(key_of(entry), None)
        else:
            made[key_of(entry)] = merged(made.get(key_of(entry)), entry)
    return list(made.values())


def job_of(words):
    job = yaml.safe_load(BASE.read_text())
    spec = job["spec"]
    job["metadata"]["name"] = words.name
    spec["completions"] = spec["parallelism"] = words.nodes
    container = spec["template"]["spec"]["containers"][0]
    container["image"] = words.image
    container["command"] = ["ms-worker", "--", *words.command]
    container["resources"]["limits"] = {words.device: words.slots} if words.device != "none" else {}
    values = {"MS_WORKER_NUM": words.nodes * words.slots, "MS_LOCAL_WORKER": words.slots, "MS_SCHED_HOST": words.scheduler}
    for one in container["env"]:
        one["value"] = str(values.get(one["name"], one["value"]))
    return job


def overlay(name):
    path = pathlib.Path(name) if "/" in name else OVERLAYS / (name + ".yaml")
    if not path.exists():
        known = ", ".join(sorted(one.stem for one in OVERLAYS.glob("*.yaml")))
        sys.exit("expand.py: there is no overlay %s; known: %s, or the path of a file" % (name, known))
    return yaml.safe_load(path.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="train", help="the job's name")
    parser.add_argument("--nodes", type=int, default=2, help="pods")
    parser.add_argument("--slots", type=int, default=8, help="processes of each pod, and devices")
    parser.add_argument("--image", required=True, help="a training image with ms-worker (deploy/container/Containerfile)")
    parser.add_argument("--device", default="nvidia.com/gpu", help="the devices' resource; none: a job on CPUs")
    parser.add_argument("--scheduler", default="muster", help="the scheduler's Service")
    parser.add_argument("--overlay", action="append", default=[], help="may be given several times")
    parser.add_argument("command", nargs="+", help="after --: the training command")
    words = parser.parse_args()
    job = job_of(words)
    for name in words.overlay:
        job = merged(job, overlay(name))
    yaml.safe_dump(job, sys.stdout, sort_keys=False, width=120)


if __name__ == "__main__":
    main()
