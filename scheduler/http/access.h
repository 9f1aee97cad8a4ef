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

// A page of another site can point its own name at this address (DNS rebinding) and then read the answers. So only
// names known to be this server's are served, and addresses, which no page can make its own.
class HostRule {
 public:
  // `names`: those besides localhost.
  explicit HostRule(std::set<std::string> names);
  // Accepts "node1:8120", "[::1]:8120", "10.0.0.1".
  bool Takes(absl::string_view host) const;

 private:
  std::set<std::string> names_;  // lower-case
};

// The content of --http_token_file or --http_view_token_file. Keeps only its digest.
class Token {
 public:
  static constexpr size_t kShortest = 32;
  static constexpr size_t kLongest = 256;

  // Reads a file that belongs to the user or root and that no one else can read, with one word of kShortest to kLongest
  // printable characters. The error gives the remedy; `setting` names the file in it.
  static absl::StatusOr<Token> Read(const std::string& setting, const std::string& path);
  static absl::StatusOr<Token> Of(absl::string_view word);

  // Compares with "Bearer WORD", in the same time for each wrong word.
  bool Matches(absl::string_view authorization) const;
  // Compares with the word itself.
  bool MatchesWord(absl::string_view word) const;

 private:
  friend class Tokens;
  explicit Token(std::string digest) : digest_(std::move(digest)) {}
  std::string digest_;
};

// The rights of a token: look at everything, or also act.
enum class Role { kLook, kAct };

// The configured tokens of both kinds.
class Tokens {
 public:
  Tokens() = default;
  // INVALID_ARGUMENT: both are the same word, so that a viewer could act.
  static absl::StatusOr<Tokens> Of(std::optional<Token> to_act, std::optional<Token> to_look);

  bool any() const { return to_act_.has_value() || to_look_.has_value(); }
  // None: the token is wrong. See Token.
  std::optional<Role> Match(absl::string_view authorization) const;
  std::optional<Role> MatchWord(absl::string_view word) const;

 private:
  std::optional<Token> to_act_, to_look_;
};

}  // namespace muster::http
