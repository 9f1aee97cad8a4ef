#include "common/tls/material/tls_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "common/tls/tls_settings.h"
#include "tests/tls/pki.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(TlsFile, OfASecretIsForItsOwnerOnly) {
  const testing_tls::TlsFolder folder;
  folder.Write("key", "secret");
  const std::string path = folder.path("key");
  EXPECT_EQ(ReadTlsFile(path, FileSecrecy::kPrivate)->bytes, "secret");
  for (const mode_t mode : {0644, 0604, 0602, 0620, 0666}) {
    chmod(path.c_str(), mode);
    const absl::Status status = ReadTlsFile(path, FileSecrecy::kPrivate).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << mode;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--tls_allow_readable_keys"));
    EXPECT_TRUE(ReadTlsFile(path, FileSecrecy::kPrivateReadable).ok());
    EXPECT_TRUE(ReadTlsFile(path, FileSecrecy::kPublic).ok());
  }
}

TEST(TlsFile, SaysWhyItCannotBeRead) {
  EXPECT_THAT(std::string(ReadTlsFile("/nowhere/x", FileSecrecy::kPublic).status().message()),
              HasSubstr("/nowhere/x can't be read: No such file"));
  EXPECT_THAT(std::string(ReadTlsFile("/tmp", FileSecrecy::kPublic).status().message()),
              HasSubstr("is a directory, not"));
  EXPECT_FALSE(ReadTlsFile("/dev/zero", FileSecrecy::kPublic).ok());
}

TEST(TlsFile, StampsDiffer) {
  const testing_tls::TlsFolder folder;
  EXPECT_EQ(StampOf(folder.path("x")), FileStamp{});
  folder.Write("x", "1");
  const FileStamp first = StampOf(folder.path("x"));
  folder.Write("x", "2");
  EXPECT_NE(StampOf(folder.path("x")), first);
}

TEST(Password, ComesFromTheVariableElseFromItsFile) {
  const testing_tls::TlsFolder folder;
  folder.Write("password", "from the file\nsecond line\n");
  const std::string file = folder.path("password");
  const auto read = [](const std::map<std::string, std::string>& environment, TlsRole role) {
    const auto password = ReadPassword(PasswordFrom(environment, role), false);
    return password.ok() ? password->text() : std::string(password.status().message());
  };
  EXPECT_EQ(read({{"MS_TLS_CLIENT_PASSWORD", "x"}, {"MS_TLS_SERVER_PASSWORD", "y"}}, TlsRole::kClient), "x");
  EXPECT_EQ(read({{"MS_TLS_CLIENT_PASSWORD", "x"}, {"MS_TLS_SERVER_PASSWORD", "y"}}, TlsRole::kServer), "y");
  EXPECT_EQ(read({{"MS_TLS_CLIENT_PASSWORD_FILE", file}}, TlsRole::kClient), "from the file");
  EXPECT_EQ(read({}, TlsRole::kClient), "");
  EXPECT_THAT(read({{"MS_TLS_CLIENT_PASSWORD_FILE", "/nowhere"}}, TlsRole::kClient),
              HasSubstr("MS_TLS_CLIENT_PASSWORD_FILE: /nowhere"));
  chmod(file.c_str(), 0644);
  EXPECT_THAT(read({{"MS_TLS_CLIENT_PASSWORD_FILE", file}}, TlsRole::kClient), HasSubstr("mode 0644"));
}

TEST(Password, IsWipedFromTheEnvironment) {
  setenv("MS_TLS_SERVER_PASSWORD", "wipe-me-please", 1);
  const char* place = getenv("MS_TLS_SERVER_PASSWORD");
  setenv("MS_TLS_CLIENT_PASSWORD_FILE", "/its/place", 1);
  std::map<std::string, std::string> environment = {
      {"MS_TLS_SERVER_PASSWORD", "wipe-me-please"}, {"MS_TLS_CLIENT_PASSWORD_FILE", "/its/place"}, {"A", "b"}};
  WipePasswordVariables(environment);
  EXPECT_EQ(getenv("MS_TLS_CLIENT_PASSWORD_FILE"), nullptr);
  EXPECT_EQ(getenv("MS_TLS_SERVER_PASSWORD"), nullptr);
  EXPECT_EQ(std::string(place, 4), std::string(4, '\0'));
  EXPECT_EQ(environment, (std::map<std::string, std::string>{{"A", "b"}}));
}

}  // namespace
}  // namespace muster
