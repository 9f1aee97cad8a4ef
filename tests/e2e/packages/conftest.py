"""The files that deploy/release.sh makes from the build of MUSTER_BIN."""

import shutil
import subprocess

import pytest

from muster import BIN, ROOT, WITH_TLS

BUILD = BIN.parent


def why_not():
    if WITH_TLS or "MUSTER_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        return "once is enough, of what is given to users"
    if not all((BUILD / made).exists() for made in ("bin/ms-exec", "man/ms-ctl.1.gz", "CPackConfig.cmake", "build.ninja")):
        return "there is no whole build beside MUSTER_BIN"
    missing = [program for program in ("cpack", "dpkg-deb", "ninja") if shutil.which(program) is None]
    return "no " + ", ".join(missing) if missing else None


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    if why_not() is not None:
        pytest.skip(why_not())
    into = tmp_path_factory.mktemp("dist")
    subprocess.run(["bash", ROOT / "deploy" / "release.sh", "--build", BUILD, "--into", into, "--",
                    "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip"], check=True, timeout=300)
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=into, check=True)
    return into
