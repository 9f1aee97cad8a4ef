// How gRPC names a call's connection: by the name of the relay's end of its pair of sockets, in Linux's abstract
// namespace. The kernel holds that name, and no client can change it. Pure, except for NewConnection.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

// A number for a connection: random, below 2^63, never 0. Anybody on this machine may take the name that is made of a
// number, so nobody may guess it.
uint64_t NewConnection();

// "ms-00000000000012d7": the relay's end of connection 4823 …
std::string SocketNameOf(uint64_t connection);
// … and back from gRPC's "unix-abstract:ms-00000000000012d7". 0: it is something else.
uint64_t ConnectionOf(const std::string& grpc_peer);

}  // namespace muster
