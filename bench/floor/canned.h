// The floor server's answers: made once, the same bytes for every client, of the same sizes as those of ms-scheduler.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

namespace muster::bench {

struct Canned {
  grpc::ByteBuffer welcome;
  grpc::ByteBuffer desired;          // with an assignment
  grpc::ByteBuffer acknowledgement;  // of a run in progress
};

// Makes the answers for nodes of `slots` slots. `has_fingerprints`: as over TLS.
Canned MakeCanned(uint32_t slots, bool has_fingerprints);

}  // namespace muster::bench
