// What one store takes: the reference's limits of a request, and bounds of our own on what all requests leave behind.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::torch_store {

// PyTorch's own server has these three; beyond one the connection is closed.
inline constexpr uint64_t kMaxKeyBytes = 8 * 1024;  // with the slash that the client puts in front
inline constexpr uint64_t kMaxValueBytes = 8 * 1024 * 1024;
inline constexpr uint64_t kMaxKeysOfRequest = 128 * 1024;

// Of one client. PyTorch's wait for one thing at a time.
inline constexpr size_t kMaxWaitsOfClient = 16;

struct Limits {
  size_t stored_bytes = size_t{1} << 30;    // keys, values and queues, with what keeping them costs
  size_t unread_bytes = size_t{256} << 20;  // still to be sent: answers, and values that are replaced or deleted
  size_t input_bytes = size_t{256} << 20;   // of requests that are not whole yet
  size_t wait_bytes = size_t{256} << 20;    // what clients wait for: names, with what keeping them costs
};

}  // namespace muster::torch_store
