// The shared parts of the tests of rings: ports, certificates and plans of a ring over loopback.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "common/tls/material/key_material.h"
#include "common/tls/tls_store.h"
#include "ctl/certs/authority.h"
#include "ring/plan.h"
#include "ring/ring_check.h"
#include "ring/ring_tls.h"

namespace muster::ring {

// Holds a port until the end, as the agent does.
class HeldPort {
 public:
  HeldPort() {
    fd_ = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int off = 0;
    setsockopt(fd_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin6_port);
    const int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  }
  ~HeldPort() { close(fd_); }
  uint16_t port() const { return port_; }

 private:
  int fd_ = -1;
  uint16_t port_ = 0;
};

class RingFixture : public testing::Test {
 protected:
  void Make(uint32_t size, bool is_secure) {
    authority_ = std::make_unique<certs::Authority>(*certs::Authority::Create("muster", now_, absl::Hours(24)));
    Plan plan;
    plan.job_id = "job";
    plan.run = plan.round = 1;
    plan.is_secure = is_secure;
    for (uint32_t rank = 0; rank < size; ++rank) {
      ports_.push_back(std::make_unique<HeldPort>());
      Peer peer;
      peer.rank = rank;
      peer.host = "h" + std::to_string(rank);
      peer.address = *IpAddress::Parse("127.0.0.1");
      peer.port = ports_.back()->port();
      if (is_secure) {
        states_.push_back(NewState(rank));
        peer.fingerprint = states_.back()->identity->leaf().Fingerprint();
      }
      plan.peers.push_back(peer);
    }
    plans_.assign(size, plan);
    for (uint32_t rank = 0; rank < size; ++rank) plans_[rank].rank = rank;
    options_.bytes = 64 * 1024;
    options_.connect_timeout = absl::Seconds(20);
    options_.slow_factor = 0;  // the machine may be busy
  }

  std::shared_ptr<const TlsState> NewState(uint32_t rank) {
    const auto issued =
        authority_->Issue(*certs::NodeSubject("muster", "*", std::to_string(rank)), now_, absl::Hours(1));
    const std::string chain = certs::CertificatePem(issued->certificate.get());
    auto state = std::make_shared<TlsState>();
    state->identity =
        std::make_shared<KeyMaterial>(*ParsePem(chain, certs::PrivateKeyPem(issued->key.get()), Secret()));
    state->trust = BuildTrust(*ParseCertificates(authority_->CertificateText()), false, {});
    return state;
  }

  // Gives rank `rank` another certificate than the others' lists have for it. Its own list has the new one.
  void SwapCertificate(uint32_t rank) {
    states_[rank] = NewState(rank);
    plans_[rank].peers[rank].fingerprint = states_[rank]->identity->leaf().Fingerprint();
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  std::unique_ptr<certs::Authority> authority_;
  std::vector<std::unique_ptr<HeldPort>> ports_;
  std::vector<std::shared_ptr<const TlsState>> states_;
  std::vector<Plan> plans_;
  RingOptions options_;
};

}  // namespace muster::ring
