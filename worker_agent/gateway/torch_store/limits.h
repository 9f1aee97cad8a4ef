// The limits of one store: PyTorch's own limits for a request, and Muster's limits for the memory that all requests
// together may use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::torch_store {

// PyTorch's own server has these three limits. The store closes the connection of a larger request.
inline constexpr uint64_t kMaxKeyBytes = 8 * 1024;  // with the slash that the client adds at the front
inline constexpr uint64_t kMaxValueBytes = 8 * 1024 * 1024;
inline constexpr uint64_t kMaxKeysOfRequest = 128 * 1024;

// PyTorch's own clients have one wait at a time (for keys or a barrier), so they never reach this limit.
inline constexpr size_t kMaxWaitsOfClient = 16;

struct Limits {
  size_t stored_bytes = size_t{1} << 30;    // keys, values and queues, with their overhead
  size_t unread_bytes = size_t{256} << 20;  // still to be sent: answers, and values that were replaced or deleted
  size_t input_bytes = size_t{256} << 20;   // of incomplete requests
  size_t wait_bytes = size_t{256} << 20;    // the names that clients wait for, with their overhead
};

}  // namespace muster::torch_store
