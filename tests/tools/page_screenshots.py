#!/usr/bin/env python3
"""Makes the pictures of the page in docs/images, of a real cluster where one rank fails.

    MUSTER_BIN=build/bin /usr/bin/python3 tests/tools/page_screenshots.py [FOLDER]

In FOLDER it puts pictures of each place at three widths, light and dark, for review.
"""
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "support"))

import browser  # noqa: E402
import http_client  # noqa: E402
import muster  # noqa: E402

TOKEN = "t" * 40
# Counts steps; rank 21 fails in its first round.
TRAIN = """
import os, sys, time
rank, begun = int(os.environ["RANK"]), time.time()
for step in range(100000):
    with open(os.environ["MS_PROGRESS_FILE"], "w") as file:
        file.write(str(step if rank != 5 else step // 2))
    if rank == 21 and step == 60 and not os.path.exists("failed"):
        open("failed", "w").close()
        print("step 60 loss 2.31\\nRuntimeError: uncorrectable ECC error at 0x7f31", flush=True)
        sys.exit(1)
    time.sleep(0.1)
"""


def shoot(page, port, where, name, height, width=1280, theme="light"):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    page.run("localStorage.setItem('muster-theme', arguments[0])", theme)
    page.open(port, where)
    page.driver.refresh()
    time.sleep(4)
    page.driver.save_screenshot(str(ROOT / "docs" / "images" / name))


def main():
    muster.become_subreaper()
    (ROOT / "docs" / "images").mkdir(exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-pictures-"))
    (folder / "token").write_text(TOKEN)
    (folder / "token").chmod(0o600)
    (folder / "train.py").write_text(TRAIN)
    cluster = muster.Cluster(folder)
    try:
        port = http_client.port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0", "--http_token_file",
                                                           folder / "token"))
        for i in range(9):
            name = "gpu-%02d" % i
            cluster.start_agent(name, ["--job_id", "pretrain", "--node_id", name, "--worker_num", 64, "--local_worker_num", 8,
                                       "--max_restarts", 3, "--enable_recovery", "--label", "rack=%d" % (i // 2),
                                       *(["--spare"] if i == 8 else [])],
                                [sys.executable, folder / "train.py"])
            if i == 7:
                cluster.wait_for_phase("running", "pretrain", 60)
        cluster.start_agent("eval", ["--job_id", "eval", "--worker_num", 1], ["sleep", "1000"])
        time.sleep(14)
        page = browser.Browser()
        page.open(port)
        page.see("Log in")
        page.type("input[name=token]", TOKEN)
        page.click("button[type=submit]")
        page.see("pretrain")
        shoot(page, port, "#/", "page-jobs.png", 420)
        shoot(page, port, "#/job/pretrain", "page-job.png", 1080)
        shoot(page, port, "#/job/pretrain", "page-job-dark.png", 900, theme="dark")
        if len(sys.argv) > 1:  # more of them, for review
            for width in (380, 1280, 2560):
                for theme in ("light", "dark"):
                    for name, where in {"jobs": "#/", "job": "#/job/pretrain", "rank": "#/job/pretrain/rank/21", "node": "#/job/pretrain/node/gpu-03",
                                        "stacks": "#/job/pretrain/stacks"}.items():
                        shoot(page, port, where, pathlib.Path(sys.argv[1]) / ("%s-%d-%s.png" % (name, width, theme)), 1100, width, theme)
                        if name in ("rank", "stacks"):
                            page.click(".processes button")
                            time.sleep(2)
                            page.driver.save_screenshot(str(pathlib.Path(sys.argv[1]) / ("%s-%d-%s.png" % (name, width, theme))))
        print(page.errors())
        page.close()
    finally:
        cluster.close()


main()
