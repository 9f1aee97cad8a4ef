// The names by which gRPC knows the connections of its calls. Each connection reaches gRPC through a pair of sockets;
// its name is that of the relay's end, in Linux's abstract namespace. The kernel keeps that name, and no client can
// change it. Pure, except for NewConnection.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

// Returns a number for a new connection: random, below 2^63, never 0. It must be impossible to guess, because any
// process on this machine may bind the name made from it.
uint64_t NewConnection();

// Returns the name of the relay's end of a connection: "ms-00000000000012d7" for 4823.
std::string SocketNameOf(uint64_t connection);
// Returns the connection's number from gRPC's name of the peer, "unix-abstract:ms-00000000000012d7"; 0 for any other
// text.
uint64_t ConnectionOf(const std::string& grpc_peer);

}  // namespace muster
