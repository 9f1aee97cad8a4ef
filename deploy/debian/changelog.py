#!/usr/bin/env python3
"""changelog.py VERSION FILE: writes Debian's changelog, which points to ours.

Its date is SOURCE_DATE_EPOCH's, or today's."""

import email.utils
import os
import sys
import time

version, path = sys.argv[1:]
day = float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
with open(path, "w", encoding="utf-8") as file:
    file.write("muster (%s) unstable; urgency=medium\n\n"
               "  * See /usr/share/doc/muster/CHANGELOG.md.\n\n"
               " -- Muster's maintainers <muster@example.org>  %s\n" % (version, email.utils.formatdate(day)))
