// The names by which gRPC knows a call's connection: the name of the relay's end of its pair of sockets, in Linux's
// abstract namespace. The kernel holds that name, and no client can change it. Pure, except for NewConnection.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

// Returns a number for a connection: random, below 2^63, never 0. Anybody on this machine may take the name made from a
// number, so the number must be impossible to guess.
uint64_t NewConnection();

// Returns the relay's end of connection 4823 as "ms-00000000000012d7" …
std::string SocketNameOf(uint64_t connection);
// … and back from gRPC's "unix-abstract:ms-00000000000012d7". 0 for anything else.
uint64_t ConnectionOf(const std::string& grpc_peer);

}  // namespace muster
