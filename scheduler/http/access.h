// Access control of the HTTP port. Pure, except for reading the token file.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::http {

// Returns the host name of a Host field, without the port, in lower case; empty: the field is malformed.
std::string NameOfHost(absl::string_view host);

// The check of a request's Host field, against DNS rebinding. In that attack another site's owner points its host name
// at this server's address, so that a browser lets that site's page read our answers. So we serve a request only if its
// Host is a name of this server, or an IP address: no other site can have an IP address as its name.
class HostRule {
 public:
  // `names`: this server's host names; localhost is always accepted.
  explicit HostRule(std::set<std::string> names);
  // Accepts "node1:8120", "[::1]:8120", "10.0.0.1".
  bool Takes(absl::string_view host) const;

 private:
  std::set<std::string> names_;  // lower-case
};

// The token in --http_token_file or --http_view_token_file. Keeps only the token's digest.
class Token {
 public:
  static constexpr size_t kShortest = 32;
  static constexpr size_t kLongest = 256;

  // Reads the file. It must belong to this process's user or root, other users must not be able to read it, and it must
  // contain one word of kShortest to kLongest printable characters. An error names `setting` and says what to do.
  static absl::StatusOr<Token> Read(const std::string& setting, const std::string& path);
  static absl::StatusOr<Token> Of(absl::string_view word);

  // True if the Authorization field is "Bearer WORD" with this token's word. Takes the same time for each wrong word,
  // so that an attacker learns nothing from the time.
  bool Matches(absl::string_view authorization) const;
  // True if `word` is this token's word.
  bool MatchesWord(absl::string_view word) const;

 private:
  friend class Tokens;
  explicit Token(std::string digest) : digest_(std::move(digest)) {}
  std::string digest_;
};

// The rights of a token: only look at everything, or also change it.
enum class Role { kLook, kAct };

// The configured tokens of both kinds.
class Tokens {
 public:
  Tokens() = default;
  // INVALID_ARGUMENT: both tokens are the same word, so a viewer could also act.
  static absl::StatusOr<Tokens> Of(std::optional<Token> to_act, std::optional<Token> to_look);

  bool any() const { return to_act_.has_value() || to_look_.has_value(); }
  // Returns the rights of the token in an Authorization field, or of the word itself; none: the token is wrong.
  std::optional<Role> Match(absl::string_view authorization) const;
  std::optional<Role> MatchWord(absl::string_view word) const;

 private:
  std::optional<Token> to_act_, to_look_;
};

}  // namespace muster::http
