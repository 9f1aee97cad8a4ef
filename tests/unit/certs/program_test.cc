// Arguments and passwords of `ms-ctl certs`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/sys/file_io.h"
#include "common/tls/tls_settings.h"
#include "ctl/certs/authority.h"
#include "ctl/certs/certs_program.h"
#include "ctl/certs/password.h"

namespace muster::certs {
namespace {

using ::testing::HasSubstr;

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    std::string pattern = testing::TempDir() + "/certs_program_test.XXXXXX";
    root_ = mkdtemp(pattern.data());
    dir_ = root_ + "/ca";
  }
  ~ProgramTest() override { std::filesystem::remove_all(root_); }

  // Runs `ms-ctl certs` and returns "code: stdout stderr".
  std::string Run(std::vector<std::string> args, const std::map<std::string, std::string>& environment = {}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = RunCerts(args, environment);
    const std::string out = testing::internal::GetCapturedStdout();
    return std::to_string(code) + ": " + out + testing::internal::GetCapturedStderr();
  }
  std::string RunIn(std::vector<std::string> args) {
    args.insert(args.end(), {"--dir", dir_});
    return Run(args);
  }

  std::string root_;
  std::string dir_;
};

TEST_F(ProgramTest, WrongWordsAreUsageErrorsThatNameTheRightOnes) {
  EXPECT_THAT(Run({}), HasSubstr("2: ms-ctl certs: a command is missing: init, scheduler"));
  EXPECT_THAT(Run({"inti"}), HasSubstr("did you mean 'init'"));
  EXPECT_THAT(Run({"init"}), HasSubstr("--dir FOLDER"));
  EXPECT_THAT(Run({"revoke", "--dir", dir_}), HasSubstr("2: ms-ctl certs: revoke: the name is missing"));
  EXPECT_THAT(Run({"init", "extra", "--dir", dir_}), HasSubstr("2: "));
  EXPECT_THAT(Run({"node", "--dir", dir_}), HasSubstr("--id N"));
  EXPECT_THAT(Run({"node", "--dir", dir_, "--id", "1", "--host", "a"}), HasSubstr("either"));
  EXPECT_THAT(Run({"node", "--dir", dir_, "--host", "a", "--host", "b"}), HasSubstr("either"));
  EXPECT_THAT(Run({"scheduler", "--dir", dir_}), HasSubstr("--host"));
  EXPECT_THAT(Run({"init", "--dir", dir_, "--trust_domain", "A/B"}), HasSubstr("small letters"));
  EXPECT_THAT(Run({"admin", "--dir", dir_, "--name", "../x"}), HasSubstr("2: "));
  EXPECT_THAT(Run({"admin", "--dir", dir_, "--name=-rf"}), HasSubstr("must not begin with a dot or a dash"));
  for (const char* job : {"-rf", ".x"}) {  // `job` becomes part of the folder's name
    EXPECT_THAT(Run({"node", "--dir", dir_, "--id", "3", absl::StrCat("--job=", job)}),
                testing::AllOf(HasSubstr("2: "), HasSubstr(absl::StrCat(job, "-node-3")), HasSubstr("--name")))
        << job;
  }
  for (const char* domain : {"-rf", ".", ".."}) {
    EXPECT_THAT(Run({"init", "--dir", dir_, absl::StrCat("--trust_domain=", domain)}), HasSubstr("2: ")) << domain;
  }
  EXPECT_THAT(Run({"init", "--dir", dir_, "--days", "0"}), HasSubstr("whole number"));
}

TEST_F(ProgramTest, TheJobOfTheEnvironmentIsNotTaken) {
  ASSERT_THAT(RunIn({"init"}), HasSubstr("0: "));
  EXPECT_THAT(Run({"node", "--dir", dir_, "--id", "1"}, {{"MS_JOB_ID", "train"}}), HasSubstr("/muster/*/node/1"));
}

TEST_F(ProgramTest, NamesThatAreTakenAndNamesThatAreNot) {
  RunIn({"init"});
  EXPECT_THAT(RunIn({"node", "--id", "12"}), HasSubstr("0: "));
  EXPECT_THAT(RunIn({"node", "--id", "12"}), HasSubstr("ms-ctl certs renew node-12"));
  EXPECT_THAT(RunIn({"node", "--id", "12", "--name", "second"}), HasSubstr("0: "));
  EXPECT_THAT(RunIn({"admin", "--name", "index.json"}), HasSubstr("2: "));
  EXPECT_THAT(RunIn({"renew", "node-13"}), HasSubstr("did you mean 'node-12'"));
  EXPECT_THAT(RunIn({"renew", "node-12", "second"}), HasSubstr("0: "));
  EXPECT_THAT(RunIn({"revoke", "nobody"}), HasSubstr("1: ms-ctl certs: nothing was issued"));
}

TEST_F(ProgramTest, ARevokedNameMayBeIssuedAgain) {
  RunIn({"init"});
  RunIn({"node", "--id", "1"});
  RunIn({"renew", "node-1"});
  const std::string said = RunIn({"revoke", "node-1"});
  EXPECT_EQ(said.find("revoked "), 3u) << said;
  EXPECT_NE(said.find("revoked ", 10), std::string::npos) << "both of the name's certificates: " << said;
  EXPECT_THAT(RunIn({"revoke", "node-1"}), HasSubstr("was revoked before"));
  EXPECT_THAT(RunIn({"node", "--id", "1"}), HasSubstr("0: "));
}

TEST_F(ProgramTest, AnIndexFromABackupIsReportedOnceAndRevokesOnTopOfTheList) {
  RunIn({"init"});
  RunIn({"node", "--id", "1"});
  RunIn({"node", "--id", "2"});
  const std::string backup = *ReadSmallFile(dir_ + "/index.json", 100'000);
  RunIn({"revoke", "node-1"});
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/index.json", backup, 0600).ok());
  EXPECT_THAT(RunIn({"list"}), HasSubstr("is older than crl.pem"));
  const std::string said = RunIn({"revoke", "node-2"});
  EXPECT_THAT(said, HasSubstr("0: "));
  EXPECT_THAT(said, HasSubstr("1 revocation was taken over"));
  const auto list = ReadList(*ReadSmallFile(dir_ + "/crl.pem", 100'000), *ReadSmallFile(dir_ + "/ca.pem", 100'000));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->number, 3u);
  EXPECT_EQ(list->revoked.size(), 2u);
  EXPECT_THAT(RunIn({"list"}), testing::Not(HasSubstr("crl.pem")));
}

TEST_F(ProgramTest, AnInterruptedCommandIsCompletedByTheSameAgain) {
  RunIn({"init"});
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/node-0", "in the way", 0644).ok());
  EXPECT_THAT(RunIn({"node", "--id", "0"}), HasSubstr("1: "));
  std::filesystem::remove(dir_ + "/node-0");
  const std::string said = RunIn({"node", "--id", "0"});
  EXPECT_THAT(said, HasSubstr("0: "));
  EXPECT_THAT(said, HasSubstr("was not written completely"));
  EXPECT_THAT(RunIn({"node", "--id", "0"}), HasSubstr("ms-ctl certs renew node-0"));
}

TEST_F(ProgramTest, ARenewalKeepsPkcs12UnderAPassword) {
  RunIn({"init"});
  const std::map<std::string, std::string> environment = {{"MS_TLS_CLIENT_PASSWORD", "geheim"}};
  EXPECT_THAT(Run({"node", "--id", "1", "--dir", dir_}, environment), HasSubstr("PKCS#12"));
  EXPECT_THAT(RunIn({"renew", "node-1"}), HasSubstr("--password_file"));
  EXPECT_THAT(Run({"renew", "node-1", "--dir", dir_}, environment), HasSubstr("0: "));
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/node-1/cert.pem"));
}

TEST_F(ProgramTest, PasswordsComeFromFilesAndVariables) {
  const std::string file = root_ + "/word";
  ASSERT_TRUE(WriteFileAtomically(file, "one\n", 0600).ok());
  EXPECT_EQ(*ReadPasswords(file, {{"MS_TLS_SERVER_PASSWORD", "two"}})->client, "one");
  EXPECT_EQ(*ReadPasswords("", {{"MS_TLS_SERVER_PASSWORD", "two"}})->server, "two");
  EXPECT_FALSE(ReadPasswords("", {{"MS_TLS_SERVER_PASSWORD", "two"}})->client.has_value());
  EXPECT_EQ(*ReadPasswords("", {{"MS_TLS_CLIENT_PASSWORD_FILE", file}})->client, "one");
  // The variables from which the programs take the key's password.
  const std::map<std::string, std::string> both = {{"MS_TLS_CLIENT_PASSWORD", "x"},
                                                   {"MS_TLS_CLIENT_PASSWORD_FILE", file}};
  EXPECT_EQ(*ReadPasswords("", both)->client, "x");
  EXPECT_EQ(ReadPassword(PasswordFrom(both, TlsRole::kClient), false)->text(), "x");
  EXPECT_FALSE(ReadPasswords("", {})->server.has_value());
}

TEST_F(ProgramTest, APasswordFileThatOthersMayReadIsRefusedWithoutShowingIt) {
  const std::string file = root_ + "/word";
  ASSERT_TRUE(WriteFileAtomically(file, "geheimnis\n", 0644).ok());
  const std::string said(ReadPasswords(file, {}).status().message());
  EXPECT_THAT(said, HasSubstr("chmod 600"));
  EXPECT_THAT(said, testing::Not(HasSubstr("geheimnis")));
  ASSERT_TRUE(WriteFileAtomically(file, "\n", 0600).ok());
  EXPECT_THAT(std::string(ReadPasswords(file, {}).status().message()), HasSubstr("empty"));
  ASSERT_TRUE(WriteFileAtomically(file, "a\nb", 0600).ok());
  EXPECT_EQ(*ReadPasswords(file, {})->client, "a") << "the first line counts";
  ASSERT_TRUE(WriteFileAtomically(file, std::string(1025, 'x'), 0600).ok());
  EXPECT_FALSE(ReadPasswords(file, {}).ok());
  EXPECT_FALSE(ReadPasswords(root_ + "/none", {}).ok());
}

}  // namespace
}  // namespace muster::certs
