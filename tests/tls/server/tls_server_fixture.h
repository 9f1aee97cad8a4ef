// A real server with mutual TLS on loopback, and a stand-in for the loop.
#pragma once

#include <signal.h>

#include <memory>
#include <string>

#include "common/tls/server/server_tls.h"
#include "scheduler/frontend/tls_authorizer.h"
#include "tests/tls/pki.h"
#include "tests/tls/server/raw_client.h"
#include "tests/unit/rpc/server_fixture.h"

namespace muster::scheduler {

class TlsServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // as in ms-scheduler: OpenSSL writes to sockets without MSG_NOSIGNAL
    folder_.Write("ca.crt", authority_.pem());
    folder_.Write("server.pem", authority_.Issue(testing_tls::SchedulerSpec()).all_pem());
    folder_.Write("crl.pem", authority_.RevocationList({}));
    settings_.config = folder_.WriteConfig(true);
    Start();
  }

  // Starts the server with the present settings_.
  void Start(RpcServer::Options options = {}) {
    server_.reset();
    authorizer_.reset();
    tls_.reset();
    auto store = TlsStore::Open({TlsRole::kServer, settings_, {}}, Clock::System(), counted_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    auto tls = ServerTls::Create(*store_, {.protocol = "h2"}, counted_);
    ASSERT_TRUE(tls.ok()) << tls.status();
    tls_ = *std::move(tls);
    authorizer_ = std::make_unique<TlsAuthorizer>(*store_, tls_->intermediates());
    Serve(std::move(options), *store_, *tls_, *authorizer_);
  }
  void Serve(RpcServer::Options options, const TlsStore& store, ServerTls& tls, const Authorizer& authorizer) {
    server_.reset();
    auto listeners = OpenTcpListeners(BindPlan{{*IpAddress::Parse("127.0.0.1")}, ""}, 0);
    ASSERT_TRUE(listeners.ok()) << listeners.status();
    port_ = listeners->front().port;
    auto admin = OpenUnixListener(folder_.path("admin.sock"));
    ASSERT_TRUE(admin.ok()) << admin.status();
    listeners->push_back(*std::move(admin));
    options.listeners = *std::move(listeners);
    if (has_datagrams_) {
      auto datagrams = OpenDatagramSockets(BindPlan{{*IpAddress::Parse("127.0.0.1")}, ""}, port_);
      ASSERT_TRUE(datagrams.ok()) << datagrams.status();
      options.datagrams = *std::move(datagrams);
    }
    options.tls_store = &store;
    options.tls = &tls;
    server_ = std::make_unique<RpcServer>(std::move(options), authorizer, Clock::System(), counted_,
                                          [](const RunSettled&) {});
    ASSERT_TRUE(server_
                    ->Start([this](Event event, std::function<void()> applied) {
                      return loop_.Post(std::move(event), std::move(applied));
                    })
                    .ok());
  }

  // Does what ms-scheduler does when its files have changed.
  void Reload() {
    if (!store_->Poll()) return;
    server_->CheckPeers();
  }
  void Revoke(const testing_tls::Issued& issued) {
    folder_.Write("crl.pem", authority_.RevocationList({issued.certificate}));
    Reload();
  }

  // A client with gRPC's own credentials, which check little and show the given certificate.
  std::shared_ptr<grpc::Channel> Channel(const testing_tls::Issued& issued) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_.pem();
    options.pem_private_key = issued.key_pem;
    options.pem_cert_chain = issued.chain_pem;
    return ChannelWith(grpc::SslCredentials(options));
  }
  std::shared_ptr<grpc::Channel> ChannelWith(std::shared_ptr<grpc::ChannelCredentials> credentials,
                                             const std::string& target = "") {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(target.empty() ? absl::StrCat("127.0.0.1:", port_) : target,
                                     std::move(credentials), arguments);
  }

  testing_tls::Issued Issue(const testing_tls::CertificateSpec& spec) { return authority_.Issue(spec); }
  testing_tls::Issued Node(const std::string& id) { return authority_.Issue(testing_tls::NodeSpec(id)); }

  testing_tls::RawResult Connect(const testing_tls::Issued& issued) {
    testing_tls::RawOptions options;
    options.certificate = &issued;
    return testing_tls::RawConnect(port_, options);
  }

  uint64_t Count(TlsFault fault) { return counted_.Counts()[FaultName(fault)]; }
  // The server counts before the client sees the result, except that a count that comes with a log line is made in
  // another thread.
  uint64_t AwaitCount(TlsFault fault, uint64_t wanted) {
    for (int i = 0; i < 1000 && Count(fault) < wanted; ++i) absl::SleepFor(absl::Milliseconds(5));
    return Count(fault);
  }

  testing_tls::Authority authority_{"Test CA"};
  testing_tls::TlsFolder folder_;
  TlsSettings settings_;
  CountedLog counted_{Clock::System()};
  FakeLoop loop_;
  uint16_t port_ = 0;
  bool has_datagrams_ = false;
  std::unique_ptr<TlsStore> store_;
  std::unique_ptr<ServerTls> tls_;
  std::unique_ptr<TlsAuthorizer> authorizer_;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace muster::scheduler
