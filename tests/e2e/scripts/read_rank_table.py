"""Reads a rank table again and again, through its link, as a tool next to the job does. Counts incomplete tables."""

import json
import os
import pathlib
import sys
import time

link, result, stop = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
reads, bad, tables = 0, [], set()
while not stop.exists():
    try:
        with open(link) as file:
            text = file.read()
        json.loads(text)
        tables.add(os.readlink(link))
    except (OSError, ValueError) as error:
        bad.append(str(error))
    reads += 1
    time.sleep(0.0005)  # lets other programs run
result.write_text(json.dumps({"reads": reads, "bad": bad[:5], "tables": sorted(tables)}))
