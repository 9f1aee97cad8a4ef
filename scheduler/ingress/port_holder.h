// Finds the process that listens on a port, for error messages. Linux may hide it from this user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::scheduler {

struct ListeningSocket {
  uint64_t inode = 0;
  uint32_t uid = 0;
};

// Returns the sockets that listen on `port`, from the text of /proc/net/tcp or tcp6. Pure.
std::vector<ListeningSocket> FindListening(const std::string& proc_net_tcp, uint16_t port);

// Returns "ms-scheduler (pid 123, user x)". If this user may not see the process: "a process of user x". Empty: nothing
// listens on the port.
std::string DescribePortHolder(uint16_t port);

}  // namespace muster::scheduler
