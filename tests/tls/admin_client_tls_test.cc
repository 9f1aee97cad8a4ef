// ms-ctl's client over mutual TLS, against gRPC's own server.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "common/tls/tls_store.h"
#include "ctl/admin_client.h"
#include "muster/v1/admin.grpc.pb.h"
#include "tests/tls/pki.h"

namespace muster::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_tls::AdminUri;
using testing_tls::Authority;
using testing_tls::Issued;
using testing_tls::SchedulerSpec;
using testing_tls::TlsFolder;
using testing_tls::UriSpec;

constexpr absl::Duration kTimeout = absl::Seconds(10);

class Answering final : public v1::Admin::Service {
 public:
  grpc::Status GetStatus(grpc::ServerContext* context, const v1::StatusRequest*, v1::StatusReply* reply) override {
    const auto certificate = context->auth_context()->FindPropertyValues("x509_pem_cert");
    if (!certificate.empty()) seen.emplace_back(certificate.front().data(), certificate.front().size());
    reply->set_version("1.2.3");
    return grpc::Status::OK;
  }

  std::vector<std::string> seen;  // the callers' certificates
};

class AdminClientTlsTest : public testing::Test {
 protected:
  AdminClientTlsTest() {
    folder_.Write("ca.crt", authority_.pem());
    folder_.Write("client.pem", admin_.all_pem());
    folder_.Write("crl.pem", authority_.RevocationList({}));
    TlsSettings settings;
    settings.config = folder_.WriteConfig(true);
    auto store = TlsStore::Open({TlsRole::kClient, settings, {}}, Clock::System(), counted_);
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  ~AdminClientTlsTest() override { Stop(); }

  // Accepts the certificates of `clients` only.
  void Serve(const Issued& certificate, const Authority& clients) {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = clients.pem();
    options.pem_key_cert_pairs.push_back({certificate.key_pem, certificate.chain_pem});
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void Stop() {
    if (server_ != nullptr) server_->Shutdown();
    server_.reset();
  }
  std::unique_ptr<AdminClient> Connect(SocketFallback fallback = {}) {
    auto client =
        AdminClient::OverTcp("127.0.0.1", static_cast<uint16_t>(port_), kTimeout, {store_, false}, std::move(fallback));
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  Authority authority_{"Test CA"};
  const Issued admin_ = authority_.Issue(UriSpec({AdminUri()}));
  const Issued scheduler_ = authority_.Issue(SchedulerSpec());
  TlsFolder folder_;
  CountedLog counted_{Clock::System()};
  std::shared_ptr<TlsStore> store_;
  Answering service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(AdminClientTlsTest, ASchedulerThatIsGoneDoesNotRefuseTheCertificate) {
  Serve(scheduler_, authority_);
  const auto client = Connect();
  ASSERT_TRUE(client->GetStatus("", 0).ok());
  Stop();
  for (int i = 0; i < 3; ++i) {
    const auto reply = client->GetStatus("", 0);
    EXPECT_TRUE(absl::IsUnavailable(reply.status())) << reply.status();
  }
}

TEST_F(AdminClientTlsTest, TheSocketIsAskedWhenThePortIsGone) {
  Serve(scheduler_, authority_);
  Answering behind_socket;
  grpc::ServerBuilder builder;
  builder.RegisterService(&behind_socket);
  builder.AddListeningPort("unix:" + folder_.path("admin.sock"), grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::Server> socket = builder.BuildAndStart();
  std::vector<std::string> reports;
  const auto client = Connect({{folder_.path("admin.sock")}, [&](const std::string& why) { reports.push_back(why); }});
  ASSERT_TRUE(client->GetStatus("", 0).ok());
  EXPECT_TRUE(reports.empty());
  Stop();
  auto reply = client->GetStatus("", 0);
  if (!reply.ok()) reply = client->GetStatus("", 0);  // the first call may still have used the old connection
  EXPECT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reports.size(), 1u);
  socket->Shutdown();
}

TEST_F(AdminClientTlsTest, ARefusedCertificateIsReported) {
  Serve(scheduler_, Authority("Another CA"));
  const auto client = Connect();
  for (int i = 0; i < 2; ++i) {
    const auto reply = client->GetStatus("", 0);
    ASSERT_TRUE(absl::IsUnauthenticated(reply.status())) << reply.status();
    EXPECT_THAT(std::string(reply.status().message()), HasSubstr("does not accept this certificate"));
  }
}

TEST_F(AdminClientTlsTest, TheSchedulerOfAnotherJobIsNotBelieved) {
  testing_tls::CertificateSpec spec = SchedulerSpec();
  spec.uris = {testing_tls::SchedulerUri("one")};
  Serve(authority_.Issue(spec), authority_);
  const auto ask = [&](const std::string& job) {
    auto client = AdminClient::OverTcp("127.0.0.1", static_cast<uint16_t>(port_), kTimeout, {store_, false}, {}, job);
    EXPECT_TRUE(client.ok()) << client.status();
    return (*client)->GetStatus("", 0).status();
  };
  EXPECT_EQ(ask("one"), absl::OkStatus());
  EXPECT_EQ(ask(""), absl::OkStatus()) << "about all of its jobs";
  const absl::Status status = ask("two");
  ASSERT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/muster/two/scheduler"));
  EXPECT_EQ(service_.seen.size(), 2u);
}

TEST_F(AdminClientTlsTest, ARenewedCertificateIsShownFromThenOn) {
  Serve(scheduler_, authority_);
  const auto client = Connect();
  ASSERT_TRUE(client->GetStatus("", 0).ok());
  const Issued renewed = authority_.Issue(UriSpec({AdminUri()}));
  folder_.Write("client.pem", renewed.all_pem());
  ASSERT_TRUE(store_->Poll());
  ASSERT_TRUE(client->GetStatus("", 0).ok());
  EXPECT_THAT(service_.seen, ElementsAre(admin_.chain_pem, renewed.chain_pem));
}

TEST_F(AdminClientTlsTest, ASchedulerThatWasRevokedIsAskedNoMore) {
  Serve(scheduler_, authority_);
  const auto client = Connect();
  ASSERT_TRUE(client->GetStatus("", 0).ok());
  folder_.Write("crl.pem", authority_.RevocationList({scheduler_.certificate}));
  ASSERT_TRUE(store_->Poll());
  const auto reply = client->GetStatus("", 0);
  ASSERT_TRUE(absl::IsUnauthenticated(reply.status())) << reply.status();
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("revoked"));
  EXPECT_EQ(service_.seen.size(), 1u) << "over the connection that was open";
}

}  // namespace
}  // namespace muster::ctl
