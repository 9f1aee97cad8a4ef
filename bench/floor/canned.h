// What the floor says: made once, the same bytes for everyone, in the sizes of what ms-scheduler says.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

namespace muster::bench {

struct Canned {
  grpc::ByteBuffer welcome;
  grpc::ByteBuffer desired;          // with an assignment
  grpc::ByteBuffer acknowledgement;  // of a run that is under way
};

// For nodes of `slots` slots; `has_fingerprints`: as over TLS.
Canned MakeCanned(uint32_t slots, bool has_fingerprints);

}  // namespace muster::bench
