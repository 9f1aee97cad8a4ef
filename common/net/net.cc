#include "common/net/net.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/net/address_rules.h"

namespace muster {
namespace {

// Address and port of an IPv4 or IPv6 socket address. An IPv4 address that is mapped into IPv6 becomes IPv4.
struct Endpoint {
  IpAddress address;
  uint16_t port = 0;
};

std::optional<Endpoint> EndpointOf(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  std::string bytes;
  uint16_t port = 0;
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    bytes.assign(reinterpret_cast<const char*>(&v4->sin_addr), sizeof(v4->sin_addr));
    port = ntohs(v4->sin_port);
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    bytes.assign(reinterpret_cast<const char*>(&v6->sin6_addr), sizeof(v6->sin6_addr));
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) bytes = bytes.substr(12);
    port = ntohs(v6->sin6_port);
  } else {
    return std::nullopt;
  }
  return Endpoint{*IpAddress::FromBytes(bytes), port};
}

// Fills in `storage` and returns its length.
socklen_t ToSockaddr(const IpAddress& address, uint16_t port, sockaddr_storage& storage) {
  storage = {};
  if (address.is_v6()) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, address.bytes().data(), sizeof(v6->sin6_addr));
    return sizeof(*v6);
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(port);
  std::memcpy(&v4->sin_addr, address.bytes().data(), sizeof(v4->sin_addr));
  return sizeof(*v4);
}

bool IsConnectedTo(int fd, const std::vector<IpAddress>& addresses, uint16_t port) {
  int protocol = 0;
  socklen_t length = sizeof(protocol);
  if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 || protocol != IPPROTO_TCP) return false;
  sockaddr_storage storage{};
  length = sizeof(storage);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return false;
  const auto peer = EndpointOf(reinterpret_cast<const sockaddr*>(&storage));
  return peer && peer->port == port && std::find(addresses.begin(), addresses.end(), peer->address) != addresses.end();
}

}  // namespace

absl::StatusOr<std::vector<IpAddress>> LookUpHost(const std::string& host) {
  if (host.empty()) return absl::InvalidArgumentError("the host name is empty");
  if (auto numeric = IpAddress::Parse(host)) return std::vector<IpAddress>{*numeric};

  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    const std::string why = error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error);
    return absl::UnavailableError(absl::StrCat("the host name \"", host, "\" can't be resolved (", why,
                                               "): check its spelling, /etc/hosts and the name server"));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<IpAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const auto endpoint = EndpointOf(entry->ai_addr);
    if (!endpoint) continue;
    const bool is_known = std::find(addresses.begin(), addresses.end(), endpoint->address) != addresses.end();
    if (!is_known) addresses.push_back(endpoint->address);
  }
  if (addresses.empty()) {
    return absl::UnavailableError(absl::StrCat("the host name \"", host, "\" has no IPv4 or IPv6 address"));
  }
  return addresses;
}

absl::StatusOr<std::vector<IpAddress>> ResolveHost(const std::string& host) {
  absl::StatusOr<std::vector<IpAddress>> addresses = LookUpHost(host);
  if (!addresses.ok()) return addresses;
  const IpAddress first = addresses->front();
  std::erase_if(*addresses, [](const IpAddress& address) { return IsLinkLocal(address); });
  if (!addresses->empty()) return addresses;
  return absl::InvalidArgumentError(absl::StrCat("the host \"", host, "\" has no address except ", first.ToString(),
                                                 ", and the address ", kNoLinkLocal));
}

bool IsLocalAddress(const IpAddress& address) {
  if (address.is_loopback()) return true;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(interfaces, freeifaddrs);
  for (const ifaddrs* entry = interfaces; entry != nullptr; entry = entry->ifa_next) {
    const auto endpoint = EndpointOf(entry->ifa_addr);
    if (endpoint && endpoint->address == address) return true;
  }
  return false;
}

UniqueFd OpenDatagramsTowards(const IpAddress& remote, uint16_t port) {
  UniqueFd fd(socket(remote.is_v6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return fd;
  sockaddr_storage storage{};
  const socklen_t length = ToSockaddr(remote, port, storage);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) == 0) return fd;
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

absl::StatusOr<IpAddress> LocalAddressTowards(const IpAddress& remote) {
  constexpr uint16_t kAnyPort = 9;
  const UniqueFd fd = OpenDatagramsTowards(remote, kAnyPort);
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (fd.get() < 0 || getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return absl::UnavailableError(
        absl::StrCat("this machine has no route to ", remote.ToString(), " (", std::strerror(errno), ")"));
  }
  const auto local = EndpointOf(reinterpret_cast<const sockaddr*>(&storage));
  if (!local) return absl::UnavailableError(absl::StrCat("no local address leads to ", remote.ToString()));
  return local->address;
}

std::string LocalEndOf(int socket_fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (getsockname(socket_fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return "";
  const auto local = EndpointOf(reinterpret_cast<const sockaddr*>(&storage));
  return local ? local->address.ToString() : "";
}

std::optional<IpAddress> DefaultRouteAddress() {
  // Addresses from networks reserved for documentation (RFC 5737, 3849): no route except the default one leads there.
  for (const char* far : {"192.0.2.1", "2001:db8::1"}) {
    const absl::StatusOr<IpAddress> local = LocalAddressTowards(*IpAddress::Parse(far));
    if (local.ok() && !local->is_loopback() && !local->is_any()) return *local;
  }
  return std::nullopt;
}

std::string LocalHostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

void SetDeadPeerDetection(int socket_fd, Crowd crowd) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const bool is_few = crowd == Crowd::kFew;
  std::uniform_int_distribution<int> idle(is_few ? 3 : 6, is_few ? 5 : 14), interval(is_few ? 1 : 2, is_few ? 2 : 4);
  const auto set = [socket_fd](int level, int option, int value) {
    setsockopt(socket_fd, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, idle(random));
  set(IPPROTO_TCP, TCP_KEEPINTVL, interval(random));
  set(IPPROTO_TCP, TCP_KEEPCNT, 10);  // more than TCP_USER_TIMEOUT allows, so that the user timeout ends the connection
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, is_few ? 8'000 : 25'000);
}

int SetDeadPeerDetectionTowards(const std::vector<IpAddress>& addresses, uint16_t port, Crowd crowd) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int found = 0;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const int fd = std::atoi(entry->d_name);
    if (!IsConnectedTo(fd, addresses, port)) continue;
    SetDeadPeerDetection(fd, crowd);
    ++found;
  }
  closedir(folder);
  return found;
}

std::string LocalUserName() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16'384);
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return absl::StrCat(geteuid());
}

}  // namespace muster
