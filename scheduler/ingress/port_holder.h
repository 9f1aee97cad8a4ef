// Finds the process that holds a port, as far as this user may see.
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

// Returns "ms-scheduler (pid 123, user x)"; "a process of user x" if it is hidden; empty if nothing listens there.
std::string DescribePortHolder(uint16_t port);

}  // namespace muster::scheduler
