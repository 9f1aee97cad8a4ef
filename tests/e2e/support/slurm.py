"""A Slurm of this machine's own: munged, slurmctld and a slurmd for each node, on free ports and in the test's folder.

The nodes n1, n2 … are names of 127.0.0.1 for the programs on them. Needs root, for mounts and munge."""

import os
import pathlib
import shutil
import subprocess

from muster import eventually, free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "squeue", "sinfo")

CONFIG = """ClusterName=muster
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser=root
SlurmdUser=root
SlurmdParameters=config_overrides
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SchedulerParameters=bf_interval=1
ReturnToService=2
KillWait=5
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def why_not():
    """The reason why no Slurm can run here; None if it can."""
    os.environ["PATH"] += ":/usr/sbin"
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return "no %s (deploy/install-deps.sh --tests)" % ", ".join(missing)
    if os.geteuid() != 0:
        return "Slurm's daemons are started as root"
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return "no mounts of one's own (unshare -m)"
    return None


class Slurm:
    def __init__(self, cluster, nodes=2):
        self.cluster = cluster
        self.folder = pathlib.Path(cluster.runtime) / "slurm"  # short, since sockets' paths are limited
        (self.folder / "state").mkdir(parents=True)
        self.folder.parent.chmod(0o755)
        names = ["n%d" % (number + 1) for number in range(nodes)]
        lines = ["NodeName=%s NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d CPUs=16 State=UNKNOWN" %
                 (name, free_port()) for name in names]
        (self.folder / "slurm.conf").write_text(
            CONFIG.format(folder=self.folder, control_port=free_port(), nodes="\n".join(lines)))
        (self.folder / "hosts").write_text("127.0.0.1 localhost %s\n" % " ".join(names))
        key = self.folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.daemons = {}
        cluster.env["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self.start_daemons(names)

    def daemon(self, name):
        return self.daemons[name]

    def start_daemons(self, names):
        at = self.folder
        self.cluster.start("munged", ["munged", "--foreground", "--force", "--key-file=%s" % (at / "key"),
                                      "--socket=%s" % (at / "munge.socket"), "--pid-file=%s" % (at / "munge.pid"),
                                      "--log-file=%s" % (at / "munge.log"), "--seed-file=%s" % (at / "munge.seed")])
        eventually((at / "munge.socket").exists, 10, "munged listens")
        self.cluster.start("slurmctld", ["slurmctld", "-D"])
        for name in names:
            mounted = "mount --bind %s/hosts /etc/hosts && exec slurmd -D -N %s" % (at, name)
            self.daemons["slurmd-" + name] = self.cluster.start("slurmd-" + name, ["unshare", "-m", "sh", "-c", mounted])
        eventually(lambda: self.ask("sinfo", "-h", "-t", "idle", "-o", "%D") == str(len(names)), 30,
                   "Slurm's nodes are idle")

    def ask(self, *words):
        return subprocess.run(words, env=self.cluster.env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=30).stdout.strip()

    def srun(self, name, *words):
        return self.cluster.start(name, ["srun", *words])

    def is_empty(self):
        return self.ask("squeue", "-h") == ""
