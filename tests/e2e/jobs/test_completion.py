"""The completions for fish and zsh, in the shells themselves. (Bash's: tests/unit/ctl/completion_test.cc.)"""

import shutil
import subprocess

import pytest

from muster import BIN, WITH_TLS, eventually

pytestmark = pytest.mark.skipif(WITH_TLS, reason="nothing here speaks with a scheduler over TLS")


def run(cluster, *words):
    done = subprocess.run([str(word) for word in words], env={**cluster.env, "PATH": "%s:/usr/bin:/bin" % BIN}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 0 and not done.stderr, (done.stdout, done.stderr)
    return done.stdout


def fish(cluster, typed):
    """The offered words, without their explanations."""
    said = run(cluster, "fish", "--no-config", "-c", "ms-ctl completion fish | source; complete -C '%s'" % typed)
    return [line.split("\t")[0] for line in said.splitlines()]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish (apt-get install fish)")
def test_fish(cluster):
    assert fish(cluster, "ms-ctl st") == ["stacks", "status", "stop"]
    assert fish(cluster, "ms-ctl certs re") == ["renew", "revoke"]
    assert fish(cluster, "ms-ctl completion ") == ["bash", "fish", "zsh"]
    assert fish(cluster, "ms-ctl help stat") == ["status"]
    assert "--json" in fish(cluster, "ms-ctl --js")
    assert fish(cluster, "ms-worker --log_format ") == ["json", "text"]
    assert fish(cluster, "ms-scheduler --onc") == ["--once"]
    scheduler = cluster.start_scheduler("--journal_path", "memory")
    cluster.start_agent("a", ["--job_id", "digits", "--worker_num", 2], ["sleep", "60"])
    cluster.env.update(MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(scheduler.port))
    eventually(lambda: fish(cluster, "ms-ctl status ") == ["digits"], 10, "the job is offered")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh (apt-get install zsh)")
def test_zsh(cluster):
    """It exists for the three programs, and its arguments of _arguments are well-formed."""
    said = run(cluster, "zsh", "-f", "-c", r"""
        autoload -Uz compinit && compinit -u -d $TMPDIR/zcompdump; source <(ms-ctl completion zsh)
        print -l $_comps[ms-ctl] $_comps[ms-worker] $_comps[ms-scheduler]
        _describe() { print -l ${(P)2}; }
        _ms_ctl_commands
        _arguments() { print "specs: $#"; for word in "$@"; do [[ $word == (-|\**|<->:)* ]] || print "odd: $word"; done; }
        for service in ms-ctl ms-worker ms-scheduler; do _muster; done
        """)
    lines = said.splitlines()
    assert lines[:3] == ["_muster"] * 3
    assert any(line.startswith("status:Shows each job's phase") for line in lines), said
    assert len([line for line in lines if line.startswith("specs: ")]) == 3 and "odd: " not in said, said
