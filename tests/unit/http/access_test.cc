#include "scheduler/http/access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace muster::http {
namespace {

TEST(HostRule, TakesItsOwnNamesAndAddressesOnly) {
  const HostRule rule({"Node1.example", "10.0.0.9"});
  for (const char* good : {"localhost", "LOCALHOST:8120", "node1.example:1", "node1.example.", "127.0.0.1",
                           "10.9.8.7:80", "[::1]", "[::1]:8120"}) {
    EXPECT_TRUE(rule.Takes(good)) << good;
  }
  for (const char* bad :
       {"", "evil.example", "evil.example:8120", "localhost.evil.example", "node1.example.evil", "::1x", "[::1",
        "[::1]x", "localhost:", "localhost:port", "localhost:123456", ":80", "a@localhost"}) {
    EXPECT_FALSE(rule.Takes(bad)) << bad;
  }
}

TEST(Token, IsOneLongWord) {
  EXPECT_FALSE(Token::Of("short").ok());
  EXPECT_FALSE(Token::Of(std::string(Token::kLongest + 1, 'a')).ok());
  EXPECT_FALSE(Token::Of(std::string(40, 'a') + " " + std::string(40, 'b')).ok());
  const std::string word(Token::kShortest, 'x');
  const absl::StatusOr<Token> token = Token::Of(word);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_TRUE(token->Matches("Bearer " + word));
  EXPECT_TRUE(token->Matches("bearer  " + word));
  for (const std::string& wrong :
       {std::string(), word, "Basic " + word, "Bearer " + word + "x", std::string("Bearer "), "Bearer" + word}) {
    EXPECT_FALSE(token->Matches(wrong)) << wrong;
  }
}

class TokenFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& text, mode_t mode) {
    const std::string path = folder_ + "/token";
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string folder_;
};

TEST_F(TokenFile, IsTheOwnersAlone) {
  const std::string word(40, 'x');
  const absl::StatusOr<Token> token = Token::Read("http_token_file", Write(word + "\n", 0600));
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_TRUE(token->Matches("Bearer " + word));
  const absl::Status readable = Token::Read("http_token_file", Write(word, 0640)).status();
  EXPECT_NE(readable.message().find("chmod 600"), std::string::npos) << readable;
  EXPECT_NE(Token::Read("http_token_file", Write("short", 0600)).status().message().find("openssl rand"),
            std::string::npos);
  EXPECT_FALSE(Token::Read("http_token_file", folder_ + "/none").ok());
  EXPECT_FALSE(Token::Read("http_token_file", folder_).ok()) << "a folder";
}

TEST(Tokens, SeparateAdminsFromViewers) {
  const std::string act(40, 'a'), look(40, 'l');
  const Tokens both = *Tokens::Of(*Token::Of(act), *Token::Of(look));
  EXPECT_EQ(both.MatchWord(act), Role::kAct);
  EXPECT_EQ(both.MatchWord(look), Role::kLook);
  EXPECT_EQ(both.Match("Bearer " + look), Role::kLook);
  EXPECT_EQ(both.MatchWord(std::string(40, 'x')), std::nullopt);
  const Tokens looks = *Tokens::Of(std::nullopt, *Token::Of(look));
  EXPECT_TRUE(looks.any());
  EXPECT_EQ(looks.MatchWord(act), std::nullopt);
  EXPECT_FALSE(Tokens().any());
  EXPECT_EQ(Tokens().MatchWord(""), std::nullopt);
  EXPECT_TRUE(absl::IsInvalidArgument(Tokens::Of(*Token::Of(act), *Token::Of(act)).status()));
}

}  // namespace
}  // namespace muster::http
