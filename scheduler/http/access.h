// Who is served. Pure, but for reading the file.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::http {

// Of a Host field, without the port, lower-case; empty: it makes no sense.
std::string NameOfHost(absl::string_view host);

// A page of another site can have its own name lead to this address (DNS rebinding) and would read the answers then:
// so only names that are known to be this server's are served, and addresses, which no page can make its own.
class HostRule {
 public:
  // Names besides localhost.
  explicit HostRule(std::set<std::string> names);
  // "node1:8120", "[::1]:8120", "10.0.0.1".
  bool Takes(absl::string_view host) const;

 private:
  std::set<std::string> names_;  // lower-case
};

// What --http_token_file or --http_view_token_file holds. Only its digest is kept.
class Token {
 public:
  static constexpr size_t kShortest = 32;
  static constexpr size_t kLongest = 256;

  // A file of the user's own or root's that nobody else can read, with one word of kShortest to kLongest printable
  // characters. The error says what to do.
  // `setting` names the file to the user.
  static absl::StatusOr<Token> Read(const std::string& setting, const std::string& path);
  static absl::StatusOr<Token> Of(absl::string_view word);

  // "Bearer WORD"; takes the same time for each wrong word.
  bool Matches(absl::string_view authorization) const;
  // The word itself.
  bool MatchesWord(absl::string_view word) const;

 private:
  friend class Tokens;
  explicit Token(std::string digest) : digest_(std::move(digest)) {}
  std::string digest_;
};

// What a token lets do: look at everything, or act as well.
enum class Role { kLook, kAct };

// Those that are set, of both kinds.
class Tokens {
 public:
  Tokens() = default;
  // INVALID_ARGUMENT: both are one word, so that who looks could act.
  static absl::StatusOr<Tokens> Of(std::optional<Token> to_act, std::optional<Token> to_look);

  bool any() const { return to_act_.has_value() || to_look_.has_value(); }
  // None: it is wrong. See Token.
  std::optional<Role> Match(absl::string_view authorization) const;
  std::optional<Role> MatchWord(absl::string_view word) const;

 private:
  std::optional<Token> to_act_, to_look_;
};

}  // namespace muster::http
