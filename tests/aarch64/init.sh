#!/bin/busybox sh
# The first process of the machine that run.sh boots. It runs a job of two agents over mutual TLS and kills one rank,
# then the scheduler. The last line reports the result.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mkdir -p /proc /sys /dev /tmp /run /root
mount -t proc none /proc && mount -t sysfs none /sys && mount -t devtmpfs none /dev && mount -t tmpfs none /tmp
mount -t tmpfs -o mode=755 none /run
echo "127.0.0.1 localhost node" >/etc/hosts
hostname node
ip link set lo up
ulimit -n 4096

job() {
  ms-ctl certs init --dir /tmp/pki || return 1
  ms-ctl certs scheduler --dir /tmp/pki --host localhost || return 1
  ms-ctl certs node --dir /tmp/pki --host node || return 1
  export MS_JOB_ID=first MS_ENABLE_RECOVERY=1
  start_scheduler
  for node in 0 1; do
    ms-worker --sched_host localhost --sched_port 8118 --tls_config /tmp/pki/host-node/tls.json --worker_num 4 \
      --local_worker_num 2 -- sh /work.sh >/tmp/node$node 2>&1 &
    eval "agent$node=$!"
  done
  wait_for 'rank . is in its second round' 4 || return 1
  kill -9 "$scheduler"
  sleep 1
  start_scheduler
  touch /tmp/go
  wait "$agent0" && wait "$agent1"
}

start_scheduler() {
  ms-scheduler --sched_host localhost --sched_port 8118 --tls_config /tmp/pki/scheduler/tls.json \
    --journal_path /root/journal >>/tmp/scheduler 2>&1 &
  scheduler=$!
}

wait_for() {  # PATTERN COUNT
  for _ in $(seq 120); do
    [ "$(cat /tmp/node* 2>/dev/null | grep -c "$1")" -ge "$2" ] && return 0
    sleep 1
  done
  return 1
}

job
code=$?
echo "---- scheduler"
cat /tmp/scheduler
for node in 0 1; do echo "---- agent $node"; cat /tmp/node$node; done
echo "processor $(uname -m), code $code"
poweroff -f
