"""A scripted run over the wire that remembers every fact the scheduler has acknowledged, and checks them afterwards."""

import queue

import grpc

import wire

PHASE_RUNNING, PHASE_SUCCEEDED = 2, 5


class Gone(Exception):
    """The scheduler is gone."""


class Node:
    """One node of a job with one worker: its stream, and the facts that were acknowledged to it."""

    def __init__(self, job, incarnation):
        self.job, self.incarnation = job, incarnation
        self.connects, self.heartbeats = 0, 0
        self.run, self.cluster_id, self.term = 0, "", 0
        self.round, self.digest, self.events, self.has_succeeded = 0, b"", 0, False
        self.is_resumed = False
        self.requests = queue.Queue()

    def join(self, channel, pb):
        self.pb, self.requests = pb, queue.Queue()
        self.connects += 1
        message = wire.join(pb, self.job, "n-" + self.job, self.incarnation, 1)
        message.join.connect_seq = self.connects
        message.join.run, message.join.cluster_id, message.join.term = self.run, self.cluster_id, self.term
        self.requests.put(message)
        self.replies = wire.open_session(channel, pb, iter(self.requests.get, None), timeout=300)
        self.await_reply(lambda reply: reply.HasField("welcome"))
        self.await_reply(lambda reply: reply.HasField("desired") and
                         reply.desired.phase in (PHASE_RUNNING, PHASE_SUCCEEDED))

    def report(self, **event):
        """Sends one event and waits until it is acknowledged."""
        self.heartbeats += 1
        message = self.pb.AgentMessage()
        message.report.heartbeat_seq = self.heartbeats
        added = message.report.events.add()
        added.number = self.events + 1
        kind, values = next(iter(event.items()))
        for name, value in dict(values, round=self.round).items():
            setattr(getattr(added, kind), name, value)
        wanted = added.number
        self.requests.put(message)
        self.await_reply(lambda reply: reply.acknowledgement.events_through >= wanted)

    def await_reply(self, condition):
        while True:
            try:
                reply = next(self.replies)
            except (grpc.RpcError, StopIteration) as error:
                late = isinstance(error, grpc.RpcError) and error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
                assert not late, "%s: no answer came" % self.job
                raise Gone(str(error)) from None
            assert not reply.HasField("refusal"), "%s: %s" % (self.job, reply.refusal)
            self.note(reply)
            if condition(reply):
                return

    def note(self, reply):
        """Checks that no message falls behind an earlier one."""
        assert reply.term >= self.term, (self.job, reply.term, self.term)
        self.term = reply.term
        if reply.HasField("welcome"):
            welcome = reply.welcome
            assert welcome.run >= self.run and (not self.cluster_id or welcome.cluster_id == self.cluster_id), reply
            assert welcome.events_through >= self.events, (self.job, welcome.events_through, self.events)
            self.run, self.cluster_id, self.is_resumed = welcome.run, welcome.cluster_id, welcome.is_resumed
            self.events = welcome.events_through
        elif reply.HasField("acknowledgement"):
            assert reply.acknowledgement.events_through >= self.events, reply
            self.events = reply.acknowledgement.events_through
        elif reply.HasField("desired"):
            desired = reply.desired
            assert desired.round >= self.round, (self.job, desired.round, self.round)
            if self.round and desired.round == self.round and desired.peers_digest:
                assert desired.peers_digest == self.digest, "%s: other ranks in the same round" % self.job
            assert not self.has_succeeded or desired.outcome.succeeded, reply
            self.round, self.digest = desired.round, desired.peers_digest or self.digest
            self.has_succeeded = self.has_succeeded or desired.outcome.succeeded

    def hang_up(self):
        self.requests.put(None)


class Script:
    """Runs `jobs` jobs one after the other. Each reports a process's start; every third succeeds and has a second run.

    `nodes` are those that have joined, in order. play() goes on until the end or until the scheduler is gone. Each node
    sends `reports` reports; a connection carries at most 128 nodes.
    """

    def __init__(self, jobs, name="job", reports=1):
        self.jobs, self.name, self.reports, self.nodes = jobs, name, reports, []

    def play(self, port):
        pb = wire.messages()
        with wire.channel(port) as channel:
            try:
                for number in range(self.jobs):
                    job = "%s%03d" % (self.name, number)
                    self.play_run(channel, pb, job, 1)
                    if number % 3 == 0:
                        self.play_run(channel, pb, job, 2)
            except Gone:
                return False
            finally:
                self.hang_up()
        return True

    def hang_up(self):
        """Ends the threads that wait for the nodes' next messages: otherwise thousands would add up."""
        for node in self.nodes:
            node.hang_up()

    def play_run(self, channel, pb, job, run):
        node = Node(job, 1000 + len(self.nodes))
        self.nodes.append(node)
        node.join(channel, pb)
        assert node.run == run, (job, node.run, run)
        for _ in range(self.reports):
            node.report(started={"pid": 4711})
        if run == 1 and len(self.nodes) % 4 == 1:
            node.report(ended={"exit_code": 0})
            if not node.has_succeeded:  # the outcome may have come before the acknowledgement
                node.await_reply(lambda reply: node.has_succeeded)
            node.hang_up()

    def check(self, port, status):
        """Asks a scheduler in its next life for everything that was acknowledged. `status`: ms-ctl's, as JSON."""
        runs = {entry["job_id"]: entry for entry in status["runs"]}
        pb = wire.messages()
        latest = {node.job: node for node in self.nodes if node.run}
        with wire.channel(port) as channel:
            for job, node in latest.items():
                assert job in runs and runs[job]["run"] >= node.run, "%s: run %d is gone: %s" % (job, node.run, runs)
                assert runs[job]["run"] > node.run or runs[job]["round"] >= node.round, (runs[job], node.round)
                if node.has_succeeded:
                    assert runs[job]["run"] > node.run or runs[job]["phase"] == "succeeded", runs[job]
                    continue
                node.join(channel, pb)  # checks run, round, digest, events and term
                assert node.is_resumed, "%s: joined as a new node" % job
            self.hang_up()
        return len(latest)
