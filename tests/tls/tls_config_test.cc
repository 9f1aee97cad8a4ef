#include "common/tls/tls_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace muster {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<TlsConfig> Parse(const std::string& text) {
  return ParseTlsConfig("/etc/muster/tls.json", text, [](const std::string& path) { return path == "here.crt"; });
}

std::string ErrorOf(const std::string& text) { return std::string(Parse(text).status().message()); }

TEST(TlsConfig, TakesTheDocumentsOwn) {
  const auto config = Parse(R"({"server_cert_path": "server.p12", "crl_path": "", "client_cert_path": "client.p12",
      "ca_cert_path": "ca.crt", "cipher_list": "ECDHE-RSA-AES128-GCM-SHA256", "cert_expire_warning_time_in_day": 90})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server_cert_path, "/etc/muster/server.p12");
  EXPECT_EQ(config->client_cert_path, "/etc/muster/client.p12");
  EXPECT_EQ(config->ca_cert_path, "/etc/muster/ca.crt");
  EXPECT_EQ(config->crl_path, "");
  EXPECT_EQ(config->warning_days, 90);
  EXPECT_TRUE(config->warnings.empty());
}

TEST(TlsConfig, PathsAreBesideTheFileElseInTheWorkingFolder) {
  const auto config =
      Parse(R"({"ca_cert_path": "here.crt", "client_cert_path": "/abs/c.pem", "client_key_path": "k.pem"})");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->ca_cert_path, std::filesystem::absolute("here.crt").string());
  EXPECT_EQ(config->client_cert_path, "/abs/c.pem");
  EXPECT_EQ(config->client_key_path, "/etc/muster/k.pem");
  EXPECT_EQ(config->warning_days, 90);
}

TEST(TlsConfig, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("not JSON"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("array"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("ca_cert_path is missing"));
  EXPECT_THAT(ErrorOf(R"({"ca_cert_path": 3})"), HasSubstr("ca_cert_path is number"));
  EXPECT_THAT(ErrorOf(R"({"ca_cert_path": "a\u0000b"})"), HasSubstr("NUL"));
  for (const std::string days : {"6", "181", "\"90\"", "90.5", "-1", "99999999999999999999999", "true", "null"}) {
    EXPECT_THAT(ErrorOf(R"({"ca_cert_path": "a", "cert_expire_warning_time_in_day": )" + days + "}"),
                HasSubstr("cert_expire_warning_time_in_day is"))
        << days;
  }
  EXPECT_THAT(ErrorOf(R"({"ca_cert_path": "a", "cipher_list": []})"), HasSubstr("cipher_list is array"));
  EXPECT_THAT(ErrorOf(std::string(100'000, ' ')), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("/etc/muster/tls.json"));
}

TEST(TlsConfig, WarnsOfWhatItDoesNotKnow) {
  const auto config = Parse(R"({"ca_cert_path": "a", "ca_cert_pth": "b"})");
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config->warnings.size(), 1u);
  EXPECT_THAT(config->warnings[0], HasSubstr("ca_cert_pth"));
}

}  // namespace
}  // namespace muster
