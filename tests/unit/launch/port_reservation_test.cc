// The reservation of ports relies on the kernel's behaviour, so the tests measure it on the real one.
#include "worker_agent/launch/port_reservation.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>

#include "absl/cleanup/cleanup.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr int kPatienceMs = 5000;

sockaddr_in V4(uint32_t address, uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(address);
  in.sin_port = htons(port);
  return in;
}

uint16_t PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

int NewSocket(bool reuses_address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  if (reuses_address) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  return fd;
}

// Returns a bound socket, or -1.
int BindV4(uint32_t address, uint16_t port, bool reuses_address) {
  const int fd = NewSocket(reuses_address);
  const sockaddr_in in = V4(address, port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) == 0) return fd;
  close(fd);
  return -1;
}

int ListenV6(uint16_t port) {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  const int zero = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  if (bind(fd, reinterpret_cast<sockaddr*>(&in), sizeof(in)) == 0 && listen(fd, 8) == 0) return fd;
  close(fd);
  return -1;
}

bool Connects(uint16_t port) {
  const int fd = NewSocket(false);
  const absl::Cleanup close_fd = [fd] { close(fd); };
  const sockaddr_in in = V4(INADDR_LOOPBACK, port);
  return connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) == 0;
}

// Runs `body` in a child process; true if it returned true.
bool InChild(const std::function<bool()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text << std::flush;
  return out.good();
}

// A network namespace of our own with loopback up and only the ports [first, last] for the kernel to choose from.
bool EnterSmallNetwork(int first, int last) {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const int fd = NewSocket(false);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool is_up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return is_up &&
         WriteFile("/proc/sys/net/ipv4/ip_local_port_range", std::to_string(first) + " " + std::to_string(last));
}

bool CanUseNamespaces() {
  return InChild([] { return EnterSmallNetwork(40000, 40019); });
}

PortOptions Range(uint16_t first, uint16_t last) {
  PortOptions options;
  options.range = NumberRange{first, last};
  return options;
}

TEST(PortReservation, KernelGivesEveryPortButTheReservedToOtherBinds) {
  if (!CanUseNamespaces()) GTEST_SKIP() << "no network namespaces here";
  EXPECT_TRUE(InChild([] {
    EnterSmallNetwork(40000, 40019);
    const auto reserved = ReservedPort::Reserve({});
    if (!reserved.ok()) return false;
    // With either address and option, the kernel gives the other 19 of the 20 ports, then "address in use".
    for (const bool reuses_address : {false, true}) {
      for (const uint32_t address : {INADDR_ANY, INADDR_LOOPBACK}) {
        std::set<uint16_t> given;
        std::vector<int> fds;
        for (int fd = BindV4(address, 0, reuses_address); fd >= 0; fd = BindV4(address, 0, reuses_address)) {
          if (PortOf(fd) == reserved->port()) return false;
          given.insert(PortOf(fd));
          fds.push_back(fd);
          if (fds.size() > 100) return false;
        }
        for (const int fd : fds) close(fd);
        if (given.size() != 19) return false;
      }
    }
    return true;
  }));
}

TEST(PortReservation, KernelTakesEveryPortButTheReservedForConnections) {
  if (!CanUseNamespaces()) GTEST_SKIP() << "no network namespaces here";
  EXPECT_TRUE(InChild([] {
    EnterSmallNetwork(40000, 40019);
    const auto reserved = ReservedPort::Reserve({});
    const int server = BindV4(INADDR_LOOPBACK, 30000, true);
    if (!reserved.ok() || server < 0 || listen(server, 100) != 0) return false;
    std::set<uint16_t> used;
    const sockaddr_in in = V4(INADDR_LOOPBACK, 30000);
    while (used.size() < 100) {
      const int fd = NewSocket(true);
      if (connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) != 0) break;  // none left
      if (PortOf(fd) == reserved->port()) return false;
      used.insert(PortOf(fd));
    }
    return used.size() == 19;
  }));
}

TEST(PortReservation, ThousandsOfBindsAndConnectsNeverMeetIt) {
  const auto reserved = ReservedPort::Reserve({});
  ASSERT_TRUE(reserved.ok()) << reserved.status();
  const int server = BindV4(INADDR_LOOPBACK, 0, true);
  ASSERT_EQ(listen(server, 16), 0);
  for (int i = 0; i < 5000; ++i) {
    const int fd = BindV4(INADDR_ANY, 0, i % 2 == 0);
    ASSERT_GE(fd, 0);
    ASSERT_NE(PortOf(fd), reserved->port());
    close(fd);
  }
  const sockaddr_in in = V4(INADDR_LOOPBACK, PortOf(server));
  for (int i = 0; i < 2000; ++i) {
    const int fd = NewSocket(false);
    ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)), 0);
    ASSERT_NE(PortOf(fd), reserved->port());
    const int accepted = accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
    close(fd);
    close(accepted);
  }
  close(server);
}

TEST(PortReservation, AnotherProcessListensOnItWithReuseAddress) {
  const auto reserved = ReservedPort::Reserve({});
  ASSERT_TRUE(reserved.ok()) << reserved.status();
  const uint16_t port = reserved->port();
  const auto serves_once = [&](const std::function<int()>& listener) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      const int fd = listener();
      if (fd < 0 || write(ready[1], "x", 1) != 1) _exit(1);
      pollfd incoming{fd, POLLIN, 0};
      _exit(poll(&incoming, 1, kPatienceMs) == 1 && accept(fd, nullptr, nullptr) >= 0 ? 0 : 2);
    }
    close(ready[1]);
    char byte = 0;
    const bool is_ready = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    EXPECT_TRUE(is_ready) << "the child could not listen on port " << port;
    EXPECT_TRUE(is_ready && Connects(port));
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  };
  const auto listen_v4 = [&] {
    const int fd = BindV4(INADDR_ANY, port, true);
    return fd >= 0 && listen(fd, 8) == 0 ? fd : -1;
  };
  EXPECT_FALSE(Connects(port)) << "no process listens yet";
  serves_once(listen_v4);
  // Serves again, because connections of the last listener stay for a while, as after a restart of the job.
  serves_once(listen_v4);
  if (const int probe = socket(AF_INET6, SOCK_STREAM, 0); probe >= 0) {
    close(probe);
    serves_once([&] { return ListenV6(port); });
  }
  serves_once([&] {  // gRPC's servers set SO_REUSEPORT too
    const int fd = NewSocket(true);
    const int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    const sockaddr_in in = V4(INADDR_ANY, port);
    return bind(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) == 0 && listen(fd, 8) == 0 ? fd : -1;
  });
  serves_once([&] {
    const int fd = BindV4(INADDR_LOOPBACK, port, true);
    return fd >= 0 && listen(fd, 8) == 0 ? fd : -1;
  });
}

TEST(PortReservation, CannotBeBoundWithoutReuseAddress) {
  const auto reserved = ReservedPort::Reserve({});
  ASSERT_TRUE(reserved.ok()) << reserved.status();
  EXPECT_EQ(BindV4(INADDR_ANY, reserved->port(), false), -1);
  EXPECT_EQ(BindV4(INADDR_LOOPBACK, reserved->port(), false), -1);
}

TEST(PortReservation, ReservationsNeverCollide) {
  const auto ports = ReservePorts({}, 200);
  ASSERT_TRUE(ports.ok()) << ports.status();
  std::set<uint16_t> numbers;
  for (const ReservedPort& port : *ports) numbers.insert(port.port());
  EXPECT_EQ(numbers.size(), 200u);
}

TEST(PortReservation, RangeIsUsedUpThenRefusedByName) {
  if (!CanUseNamespaces()) GTEST_SKIP() << "no network namespaces here";
  EXPECT_TRUE(InChild([] {
    EnterSmallNetwork(40000, 40019);
    const int foreign = BindV4(INADDR_ANY, 30002, true);  // bound, and reusable: only an exclusive bind fails
    auto first = ReservePorts(Range(30000, 30003), 2);
    auto second = ReservePorts(Range(30001, 30003), 1);
    if (foreign < 0 || !first.ok() || !second.ok()) return false;
    if ((*first)[0].port() != 30000 || (*first)[1].port() != 30001 || (*second)[0].port() != 30003) return false;
    close(foreign);
    if (!ReservePorts(Range(30002, 30002), 1).ok()) return false;
    const auto third = ReservePorts(Range(30000, 30001), 1);
    const std::string message(third.status().message());
    if (message.find("--port_range 30000-30001") == std::string::npos) return false;
    first->clear();  // given back
    return ReservePorts(Range(30000, 30001), 2).ok();
  }));
}

// A server that closes its connections first leaves its port in TIME_WAIT for a minute. A restarted agent with a small
// range must not be refused for that.
TEST(PortReservation, RangeIsUsableAgainWhileOldConnectionsLinger) {
  if (!CanUseNamespaces()) GTEST_SKIP() << "no network namespaces here";
  EXPECT_TRUE(InChild([] {
    EnterSmallNetwork(40000, 40019);
    const int server = BindV4(INADDR_ANY, 30000, true);
    if (listen(server, 8) != 0) return false;
    const int client = NewSocket(false);
    const sockaddr_in in = V4(INADDR_LOOPBACK, 30000);
    if (connect(client, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) != 0) return false;
    close(accept(server, nullptr, nullptr));
    close(client);
    close(server);
    if (BindV4(INADDR_ANY, 30000, false) != -1) return false;  // it does stay there
    const auto first = ReservedPort::Reserve(Range(30000, 30000));
    return first.ok() && !ReservedPort::Reserve(Range(30000, 30000)).ok();
  }));
}

// Any user may take an abstract socket name first, so the reservation must not depend on one.
TEST(PortReservation, AnotherUsersNamesKeepUsFromNoPort) {
  if (!CanUseNamespaces() || geteuid() != 0)
    GTEST_SKIP() << "only root can act as another user in a network of its own";
  EXPECT_TRUE(InChild([] {
    EnterSmallNetwork(40000, 40019);
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) return false;
    const pid_t hostile = fork();
    if (hostile == 0) {
      if (setresuid(65534, 65534, 65534) != 0) _exit(1);
      for (int port = 30000; port < 40020; ++port) {
        const std::string name = "muster-port-" + std::to_string(port);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) _exit(1);
        if (port == 30010) port = 39999;
      }
      if (write(ready[1], "x", 1) != 1) _exit(1);
      pause();
    }
    char byte = 0;
    const bool has_all = read(ready[0], &byte, 1) == 1;
    const auto any = ReservePorts({}, 5);
    const auto of_range = ReservePorts(Range(30000, 30010), 5);
    kill(hostile, SIGKILL);
    waitpid(hostile, nullptr, 0);
    if (!any.ok()) std::fprintf(stderr, "%s\n", any.status().ToString().c_str());
    if (!of_range.ok()) std::fprintf(stderr, "%s\n", of_range.status().ToString().c_str());
    return has_all && any.ok() && of_range.ok();
  }));
}

TEST(PortReservation, WhatIsUsedUpIsNamed) {
  if (!CanUseNamespaces()) GTEST_SKIP() << "no network namespaces here";
  EXPECT_TRUE(InChild([] {
    EnterSmallNetwork(40000, 40019);
    const auto all = ReservePorts({}, 20);
    const std::string none_left(ReservePorts({}, 1).status().message());
    if (!all.ok() || none_left.find("ip_local_port_range: 40000-40019") == std::string::npos) {
      std::fprintf(stderr, "%s\n", none_left.c_str());
      return false;
    }
    const rlimit few{3, 3};
    setrlimit(RLIMIT_NOFILE, &few);
    const std::string no_descriptors(ReservePorts({}, 1).status().message());
    std::fprintf(stderr, "%s\n", no_descriptors.c_str());
    return no_descriptors.find("ulimit -n") != std::string::npos;
  }));
}

TEST(PortReservation, WithoutALockAPortThatIsFreeIsHadAllTheSame) {
  PortOptions options;
  options.lock_base = "/proc/nowhere";
  EXPECT_TRUE(ReservePorts(options, 3).ok());
}

TEST(PortReservation, KeepsOutOfTheAvoidedPorts) {
  if (!CanUseNamespaces()) GTEST_SKIP() << "no network namespaces here";
  EXPECT_TRUE(InChild([] {
    EnterSmallNetwork(40000, 40019);
    PortOptions options;
    options.avoided = {NumberRange{40000, 40007}, NumberRange{40008, 40015}};
    const auto four = ReservePorts(options, 4);
    if (!four.ok()) return false;
    for (const ReservedPort& port : *four) {
      if (port.port() < 40016) return false;
    }
    return !ReservePorts(options, 1).ok();
  }));
}

TEST(PortReservation, MovesAndGivesBack) {
  auto ports = ReservePorts({}, 2);
  ASSERT_TRUE(ports.ok()) << ports.status();
  const uint16_t kept = (*ports)[0].port();
  const uint16_t dropped = (*ports)[1].port();
  ReservedPort moved = std::move((*ports)[0]);
  ports->clear();
  EXPECT_EQ(moved.port(), kept);
  EXPECT_EQ(BindV4(INADDR_ANY, kept, false), -1);
  const int fd = BindV4(INADDR_ANY, dropped, false);
  EXPECT_GE(fd, 0) << "port " << dropped << " was not given back";
  close(fd);
}

TEST(PortOptionsFrom, ReadsRangeAndHcclBase) {
  auto options = PortOptionsFrom(std::nullopt, {});
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->range.has_value());
  EXPECT_THAT(options->avoided, ElementsAre(NumberRange{60000, 60031}));

  options = PortOptionsFrom(NumberRange{30000, 30099}, {{"HCCL_IF_BASE_PORT", "50000"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->range, (NumberRange{30000, 30099}));
  EXPECT_THAT(options->avoided, ElementsAre(NumberRange{50000, 50031}));

  options = PortOptionsFrom(std::nullopt, {{"HCCL_IF_BASE_PORT", "80"}});
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(std::string(options.status().message()), HasSubstr("HCCL_IF_BASE_PORT"));
}

TEST(PortOptionsFrom, AvoidsHcclsRangeOfTheHostInPlaceOfItsBasePort) {
  const char kVariable[] = "HCCL_HOST_SOCKET_PORT_RANGE";
  auto options = PortOptionsFrom(std::nullopt, {{kVariable, "61000,61010-61020"}, {"HCCL_IF_BASE_PORT", "50000"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->avoided, ElementsAre(NumberRange{61000, 61000}, NumberRange{61010, 61020}));
  EXPECT_EQ(options->avoided_by, kVariable);

  options = PortOptionsFrom(std::nullopt, {{kVariable, "61000"}}, {{kVariable, "62000-62010"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->avoided, ElementsAre(NumberRange{62000, 62010})) << "--env has precedence";

  options = PortOptionsFrom(std::nullopt, {{kVariable, "auto"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->avoided, ElementsAre());

  options = PortOptionsFrom(std::nullopt, {}, {{kVariable, "6{local_rank}000-6{local_rank}010"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->avoided, ElementsAre(NumberRange{60000, 60031})) << "its ports are not known yet";

  options = PortOptionsFrom(std::nullopt, {{kVariable, "61010-61000"}});
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(std::string(options.status().message()), HasSubstr(kVariable));
}

TEST(PortReservation, NamesTheVariableThatLeavesNoPort) {
  if (!CanUseNamespaces()) GTEST_SKIP() << "no network namespaces here";
  EXPECT_TRUE(InChild([] {
    EnterSmallNetwork(40000, 40019);
    const auto options = PortOptionsFrom(std::nullopt, {{"HCCL_HOST_SOCKET_PORT_RANGE", "40000-40019"}});
    if (!options.ok()) return false;
    const std::string error(ReservePorts(*options, 1).status().message());
    std::fprintf(stderr, "%s\n", error.c_str());
    return error.find("HCCL's (40000-40019, HCCL_HOST_SOCKET_PORT_RANGE)") != std::string::npos;
  }));
}

}  // namespace
}  // namespace muster::agent
