// What gRPC keeps to read into, for each connection. With its experiment tcp_read_chunks (on in 1.51) that is 8 KB
// out of which small messages take one piece after another, so that its pages become resident over some 60 messages,
// in which an operator sees a leak.
#pragma once

namespace muster::scheduler {

constexpr int kReadBufferBytes = 4096;  // GRPC_ARG_TCP_READ_CHUNK_SIZE; long messages get larger ones

// Switches the experiment off, without which gRPC does not look at the size above. What the user says in
// GRPC_EXPERIMENTS holds instead. First thing in main: it changes the environment, and gRPC reads it once.
void AllowSmallReadBuffers();

}  // namespace muster::scheduler
