"""Measures what attacks on HTTP/2 and TLS cost a real scheduler and its honest clients: see README.md.

    run.py [--seconds 60] [--connections 1,8] [--tls no,yes] [--only NAME,…] [--agents 1000] [--json FILE]
"""

import argparse
import fnmatch
import json
import pathlib
import shutil
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "e2e" / "support")]
sys.dont_write_bytecode = True

import cell  # noqa: E402
import muster  # noqa: E402
import report  # noqa: E402
from attacks import ATTACKS  # noqa: E402
from certificates import Certificates  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="how long each attack goes on")
    parser.add_argument("--connections", default="1,8", help="of the attacker; each number is a run of its own")
    parser.add_argument("--tls", default="no,yes", help="plain, over TLS with a node's certificate, or both")
    parser.add_argument("--only", default="*", help="names with commas; patterns will do (made-reset-*)")
    parser.add_argument("--agents", type=int, default=1000, help="that send heartbeats meanwhile")
    parser.add_argument("--datagrams", action="store_true", help="heartbeats by UDP, as by default; else by the streams that "
                        "the attack may delay")
    parser.add_argument("--calm", type=float, default=report.CALM, help="seconds between an attack and the last look")
    parser.add_argument("--json", help="a file for all figures")
    parser.add_argument("--list", action="store_true", help="tells the attacks and ends")
    options = parser.parse_args()
    options.names = [name for name in ATTACKS if any(fnmatch.fnmatch(name, one) for one in options.only.split(","))]
    options.counts = [int(count) for count in options.connections.split(",")]
    options.kinds = [kind == "yes" for kind in options.tls.split(",")]
    if not options.names:
        parser.error("no attack is called %s; --list tells them" % options.only)
    return options


def measure(options, folder):
    """Yields each result as it comes."""
    certificates = Certificates(muster.BIN / "ms-ctl", folder / "certificates") if any(options.kinds) else None
    number = 0
    for is_tls in options.kinds:
        for count in options.counts:
            for name in options.names:
                if ATTACKS[name].needs_tls and not is_tls:
                    continue
                number += 1
                place = folder / ("%d" % number)
                place.mkdir()
                with cell.Cell(place, ATTACKS[name], count, certificates if is_tls else None, options) as one:
                    yield one.run()
                shutil.rmtree(place)


def main():
    options = parse()
    if options.list:
        for attack in ATTACKS.values():
            print("%-26s %s%s" % (attack.name, attack.what, " (TLS only)" if attack.needs_tls else ""))
        return 0
    muster.become_subreaper()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the cleanup runs
    folder, results = pathlib.Path(tempfile.mkdtemp(prefix="muster-attacks-", dir="/var/tmp")), []
    group, why_not = cell.make_group()
    if group:
        group.close()
    else:
        print("no control group (%s): the scheduler is killed at %d MB instead" % (why_not, report.MEMORY_LIMIT_MB))
    print(report.legend() + "\n" + report.heads(), flush=True)
    try:
        for result in measure(options, folder):
            results.append(result)
            print(report.line(result), flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    except KeyboardInterrupt:
        print("interrupted")
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    missed = sum(bool(result["misses"]) for result in results)
    print("%d of %d within all bounds" % (len(results) - missed, len(results)))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
