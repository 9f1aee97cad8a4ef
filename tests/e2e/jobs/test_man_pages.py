"""The man pages and the page of settings that are made from --help-all."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from muster import BIN

ROOT = pathlib.Path(__file__).parents[3]
MAKE_MAN = ROOT / "deploy" / "man" / "make_man.py"


@pytest.mark.parametrize("program", ["ms-scheduler", "ms-worker", "ms-ctl"])
def test_a_page_has_each_setting_and_no_fault(program, tmp_path):
    subprocess.run([sys.executable, MAKE_MAN, "--into", tmp_path, BIN / program], check=True)
    page = tmp_path / (program + ".1")
    help_text = subprocess.run([BIN / program, "--help-all"], check=True, text=True, stdout=subprocess.PIPE).stdout
    flags = re.findall(r"^  (--\w+)", help_text, re.MULTILINE)
    source = page.read_text().replace("\\-", "-")
    assert len(flags) > 10 and all(".B " + flag in source for flag in flags)
    assert (".SH COMMANDS" if program == "ms-ctl" else ".SH EXAMPLES") in source
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", page], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        assert done.returncode == 0 and done.stderr == "", done.stderr


def test_the_page_of_settings_is_what_the_programs_say():
    """To fix it: python3 deploy/man/make_settings.py build/bin/ms-scheduler build/bin/ms-worker build/bin/ms-ctl > the
    page"""
    programs = [BIN / name for name in ("ms-scheduler", "ms-worker", "ms-ctl")]
    made = subprocess.run([sys.executable, ROOT / "deploy" / "man" / "make_settings.py", *programs], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    page = (ROOT / "docs" / "settings.md").read_text()
    assert page.splitlines() == made.splitlines()
    for program in programs:
        help_text = subprocess.run([program, "--help-all"], check=True, text=True, stdout=subprocess.PIPE).stdout
        for flag in re.findall(r"^  (--\w+)", help_text, re.MULTILINE):
            assert "| `%s" % flag in page, flag
