// A word of a Python command line        what Python runs
//
//   -m MODULE, -mMODULE, -um MODULE        the module
//   -c CODE, -cCODE                        the code
//   -W ARG, -X ARG, other letters          not decided yet: the word is an option
//   -V, -h, --version, --help              nothing
//   -, /dev/stdin; no further word         its standard input
//   another word                           the script with this name
#include "common/command/python_target.h"

#include "absl/strings/match.h"

namespace muster {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsPython(const std::string& name) {
  return absl::StartsWith(name, "python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

bool NamesInput(const std::string& word) {
  return word == "-" || word == "/dev/stdin" || word == "/dev/fd/0" || word == "/proc/self/fd/0";
}

PythonTarget PythonTargetOf(const std::vector<std::string>& words) {
  using Runs = PythonTarget::Runs;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (NamesInput(word)) return {Runs::kInput, "", i + 1};
    if (!absl::StartsWith(word, "-")) return {Runs::kScript, word, i + 1};
    if (absl::StartsWith(word, "--")) {
      if (word == "--version" || absl::StartsWith(word, "--help")) return {};
      if (word == "--check-hash-based-pycs") ++i;
      continue;
    }
    const size_t letter = word.find_first_of("mcWXVh", 1);
    if (letter == std::string::npos) continue;
    if (word[letter] == 'V' || word[letter] == 'h') return {};
    const bool is_attached = letter + 1 < word.size();
    if (!is_attached) ++i;
    if (word[letter] == 'W' || word[letter] == 'X') continue;
    if (i >= words.size()) return {};  // the value is missing
    const std::string value = is_attached ? word.substr(letter + 1) : words[i];
    return {word[letter] == 'm' ? Runs::kModule : Runs::kCode, value, i + 1};
  }
  return {Runs::kInput, "", words.size()};
}

}  // namespace muster
