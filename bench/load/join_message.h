// What the agents say.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>

#include "muster/v1/rendezvous.pb.h"

namespace muster::bench {

// Who an agent is, and what it has learnt from its last welcome.
struct Membership {
  uint32_t number = 0;  // of the agent
  uint64_t incarnation = 0;
  uint64_t connect_seq = 0;
  std::string cluster_id;
  uint64_t run = 0;
  std::string node_id;
  uint64_t term = 0;
};

// Agents stand on machines of their own, with names and ports as in a real cluster.
v1::AgentMessage MakeJoin(const std::string& job_id, uint32_t agents, uint32_t slots, const Membership& member);

v1::AgentMessage MakeHeartbeat(uint64_t seq);

grpc::ByteBuffer ToBytes(const v1::AgentMessage& message);

// False when the bytes are no such message.
bool FromBytes(const grpc::ByteBuffer& bytes, v1::SchedulerMessage& message);

}  // namespace muster::bench
