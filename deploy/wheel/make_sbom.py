#!/usr/bin/env python3
"""make_sbom.py PROGRAMS: prints the components of the static programs in the folder PROGRAMS, as CycloneDX 1.5 in JSON.

deploy/wheel/static_link.sh makes PROGRAMS. It takes the packages from the linker's map, so none is missing. The same
programs give the same bytes: the time is that of SOURCE_DATE_EPOCH."""

import hashlib
import json
import os
import pathlib
import sys
import time
import urllib.parse
import uuid

from make_wheel import PROGRAMS, processor, version


def library(line):
    name, its_version, architecture, source, source_version = line.split()
    quoted = urllib.parse.quote
    purl = "pkg:deb/debian/%s@%s?arch=%s&distro=debian-12&upstream=%s" % (
        quoted(name, safe=""), quoted(its_version, safe=""), architecture, quoted(source + "@" + source_version, safe=""))
    return {"type": "library", "bom-ref": purl, "name": name, "version": its_version, "purl": purl}


def program(path):
    return {"type": "file", "bom-ref": path.name, "name": path.name,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]}


def sbom(programs):
    libraries = [library(line) for line in (programs / "packages").read_text().splitlines()]
    files = [program(programs / name) for name in PROGRAMS]
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": "",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment),
            "component": {"type": "application", "bom-ref": "muster", "name": "muster", "version": version(),
                          "description": "for " + processor(programs / PROGRAMS[0]),
                          "licenses": [{"license": {"id": "Apache-2.0"}}]},
        },
        "components": files + libraries,
        "dependencies": [{"ref": "muster", "dependsOn": [one["bom-ref"] for one in files + libraries]}],
    }
    bom["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom)).urn
    return json.dumps(bom, indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(sbom(pathlib.Path(sys.argv[1])))
