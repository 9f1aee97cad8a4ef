#!/usr/bin/env python3
"""make_wheel.py PROGRAMS INTO SBOM: makes a wheel of the static programs in the folder PROGRAMS, the modules of python/
and the bill of materials SBOM (PEP 770).

The same programs give the same bytes: times are that of SOURCE_DATE_EPOCH. The programs are linked fully static
(deploy/wheel/static_link.sh), so the wheel fits each Linux of that processor, with any C library."""

import base64
import hashlib
import os
import pathlib
import re
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("ms-worker", "ms-scheduler", "ms-ctl", "ms-ring", "ms-exec")
PROCESSORS = {62: "x86_64", 183: "aarch64"}  # of ELF's e_machine
METADATA = """Metadata-Version: 2.1
Name: muster
Version: {version}
Summary: Starts, watches and restarts distributed training jobs
License: Apache-2.0
Requires-Python: >=3.8
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

`python -m muster run --standalone --local_worker_num 4 train.py` starts a script on four processes, as torchrun does;
`ms-worker`, `ms-scheduler`, `ms-ctl` and `ms-ring` are in PATH, and scripts `import muster`.
"""


def version():
    return re.search(r'kVersion\[\] = "(.*)"', (ROOT / "common/base/version.h").read_text()).group(1)


def processor(program):
    header = program.read_bytes()[:20]
    return PROCESSORS[int.from_bytes(header[18:20], "little")]


def tag(program):
    """Returns the wheel's tag. The program needs no library, so it runs with any C library."""
    return "py3-none-" + ".".join("%s_%s" % (system, processor(program)) for system in ("manylinux2014", "musllinux_1_1"))


def main():
    programs, into, bill = map(pathlib.Path, sys.argv[1:])
    name, tags = "muster-" + version(), tag(programs / "ms-worker")
    info = name + ".dist-info/"
    files = []  # path in the wheel, bytes, whether it runs
    for module in sorted([*(ROOT / "python/muster").glob("*.py"), ROOT / "python/muster/py.typed"]):
        files.append(("muster/" + module.name, module.read_bytes(), False))
    training = (ROOT / "python/muster_training.py").read_bytes()
    files.append(("muster_training.py", training, False))
    for program in PROGRAMS:
        files.append(("%s.data/scripts/%s" % (name, program), (programs / program).read_bytes(), True))
    # ms-worker finds these relative to its own path, for processes under another Python.
    shared = name + ".data/data/lib/muster/python/"
    files += [(shared + path, data, False) for path, data, _ in files if path.endswith((".py", ".typed"))]
    files.append((info + "METADATA", METADATA.format(version=version()).encode(), False))
    files.append((info + "LICENSE", (ROOT / "LICENSE").read_bytes(), False))
    for notice in sorted((programs / "licenses").iterdir()):  # of what is linked into the programs
        files.append((info + "licenses/" + notice.name, notice.read_bytes(), False))
    files.append((info + "sboms/" + bill.name, bill.read_bytes(), False))
    whole = "".join("Tag: %s\n" % one for one in sorted(
        "py3-none-" + platform for platform in tags.split("-")[2].split(".")))
    files.append((info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: muster\nRoot-Is-Purelib: false\n" + whole).encode(), False))
    record = "".join("%s,sha256=%s,%d\n" % (
        path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
        for path, data, _ in files)
    files.append((info + "RECORD", (record + info + "RECORD,,\n").encode(), False))

    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315619200))[:6]
    into.mkdir(parents=True, exist_ok=True)
    path = into / ("%s-%s.whl" % (name, tags))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for inside, data, runs in files:
            entry = zipfile.ZipInfo(inside, moment)
            entry.create_system = 3  # Unix
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    main()
