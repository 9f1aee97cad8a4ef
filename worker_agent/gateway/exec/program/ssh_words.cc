// The words of an ssh command line, and the parser's use of them:
//
// -o V -p V -l V -i V … (also -pV)   skipped with their value: there is no ssh connection that they could affect
// -x -q -T -4 …, also joined (-xq)   skipped
// -n -f                              no stdin
// -N -W V -O V -G -s -D V -L V …     not served: they ask for something other than a command
// no command                         not served
// user@host, ssh://user@host:port    host
// the first word after the host that is no option, and all that follow: the command
#include "worker_agent/gateway/exec/program/ssh_words.h"

#include <string_view>

#include "absl/strings/str_cat.h"

namespace muster::exec {
namespace {

constexpr std::string_view kWithValue = "BbcEeFIiJlmoPpS";
constexpr std::string_view kSwitches = "1246AaCfgKkMqTtvXxYyn";
constexpr std::string_view kNotServed = "NGs";
constexpr std::string_view kNotServedWithValue = "WOQDLRw";

std::string HostOf(std::string_view word) {
  constexpr std::string_view kScheme = "ssh://";
  const bool is_url = word.substr(0, kScheme.size()) == kScheme;
  if (is_url) word.remove_prefix(kScheme.size());
  if (const size_t at = word.rfind('@'); at != std::string_view::npos) word.remove_prefix(at + 1);
  if (!is_url) return std::string(word);
  if (const size_t slash = word.find('/'); slash != std::string_view::npos) word = word.substr(0, slash);
  if (word.substr(0, 1) == "[") return std::string(word.substr(1, word.find(']') - 1));
  return std::string(word.substr(0, word.find(':')));
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& words) : words_(words) {}

  absl::StatusOr<SshWords> Parse() {
    bool are_options_over = false;
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (!are_options_over && word == "--") {
        are_options_over = true;
      } else if (!are_options_over && word.size() > 1 && word[0] == '-') {
        if (absl::Status taken = TakeOptions(word); !taken.ok()) return taken;
      } else if (out_.host.empty()) {
        out_.host = HostOf(word);
        if (out_.host.empty()) return absl::InvalidArgumentError("the host's name is empty");
        are_options_over = false;
      } else {
        TakeCommand();
      }
    }
    if (out_.asks_version) return out_;
    if (out_.host.empty()) return absl::InvalidArgumentError(out_.cannot.empty() ? "no host was named" : out_.cannot);
    if (out_.command.empty() && out_.cannot.empty()) {
      out_.cannot = "no command was given, and there are no login shells: ssh HOST COMMAND …";
    }
    return out_;
  }

 private:
  absl::Status TakeOptions(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const char letter = word[i];
      if (letter == 'V') out_.asks_version = true;
      if (letter == 'n' || letter == 'f') out_.takes_stdin = false;
      if (letter == 'V' || kSwitches.find(letter) != std::string_view::npos) continue;
      const bool is_switch = kNotServed.find(letter) != std::string_view::npos;
      const bool is_unserved_value = kNotServedWithValue.find(letter) != std::string_view::npos;
      if ((is_switch || is_unserved_value) && out_.cannot.empty()) {
        out_.cannot =
            absl::StrCat("-", std::string(1, letter), " is not supported: only commands can be run on other nodes");
      }
      if (is_switch) continue;
      if (!is_unserved_value && kWithValue.find(letter) == std::string_view::npos) {
        return absl::InvalidArgumentError(absl::StrCat("-", std::string(1, letter), " is no option of ssh"));
      }
      if (i + 1 == word.size() && ++at_ >= words_.size()) {
        return absl::InvalidArgumentError(absl::StrCat("-", std::string(1, letter), " needs a value"));
      }
      return absl::OkStatus();  // the rest of the word, or the next one, is its value
    }
    return absl::OkStatus();
  }

  void TakeCommand() {
    for (; at_ < words_.size(); ++at_) absl::StrAppend(&out_.command, out_.command.empty() ? "" : " ", words_[at_]);
  }

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  SshWords out_;
};

}  // namespace

absl::StatusOr<SshWords> ParseSshWords(const std::vector<std::string>& words) { return Parser(words).Parse(); }

}  // namespace muster::exec
