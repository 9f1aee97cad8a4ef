// The messages that the simulated agents send.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>

#include "muster/v1/rendezvous.pb.h"

namespace muster::bench {

// An agent's identity, and what its last welcome said.
struct Membership {
  uint32_t number = 0;  // the agent's number
  uint64_t incarnation = 0;
  uint64_t connect_seq = 0;
  std::string cluster_id;
  uint64_t run = 0;
  std::string node_id;
  uint64_t term = 0;
};

// The agents seem to be on machines of their own, with names and ports as in a real cluster.
v1::AgentMessage MakeJoin(const std::string& job_id, uint32_t agents, uint32_t slots, const Membership& member);

v1::AgentMessage MakeHeartbeat(uint64_t seq);

grpc::ByteBuffer ToBytes(const v1::AgentMessage& message);

// False if the bytes are not such a message.
bool FromBytes(const grpc::ByteBuffer& bytes, v1::SchedulerMessage& message);

}  // namespace muster::bench
