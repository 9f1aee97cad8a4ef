#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/settings/foreign_words.h"
#include "common/settings/sources.h"
#include "common/settings/values.h"

namespace muster {
namespace {

class Reader {
 public:
  Reader(const NameIndex& names, const std::string& program, const std::vector<std::string>& args,
         bool first_word_is_command)
      : names_(names), program_(program), args_(args), first_word_is_command_(first_word_is_command) {}

  CommandLine Read() {
    while (at_ < args_.size()) {
      const std::string& word = args_[at_];
      if (word == "--") {
        ++at_;
        TakeCommand();
      } else if (word == "-h") {
        out_.wants_help = true;
        ++at_;
      } else if (first_word_is_command_ && word == "-m") {  // -m MODULE, as for python
        TakeCommand();
      } else if (first_word_is_command_ && word == "--module" &&
                 at_ + 1 < args_.size()) {  // torchrun's flag for the same
        TakeCommand();
        out_.command[0] = "-m";
      } else if (word.size() > 1 && word[0] == '-') {
        ReadFlag(word);
      } else if (first_word_is_command_ && IsMisplacedValue(word)) {
        out_.errors.push_back(absl::StrCat("unexpected word ", Quoted(word), " before --: did you mean ",
                                           args_[at_ - 1], "=", word, "? A command comes after --"));
        ++at_;
      } else if (first_word_is_command_) {
        TakeCommand();
      } else {
        out_.positional.push_back(word);
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  void TakeCommand() {
    out_.command.assign(args_.begin() + static_cast<std::ptrdiff_t>(at_), args_.end());
    at_ = args_.size();
  }

  // True for a number, or an empty word, after a flag. The user meant it as the value of a switch that takes no
  // numbers, not as a command.
  bool IsMisplacedValue(const std::string& word) const {
    return at_ > 0 && absl::StartsWith(args_[at_ - 1], "--") && args_[at_ - 1].find('=') == std::string::npos &&
           word.find_first_not_of("0123456789.-") == word.npos;
  }

  // Returns the next word if it can be a value. No value of our settings begins with two dashes.
  std::optional<std::string> NextValue() {
    if (at_ >= args_.size() || absl::StartsWith(args_[at_], "--")) return std::nullopt;
    return args_[at_++];
  }

  // Returns the word after a flag of another launcher, which may be the flag's value; nullopt if the word is clearly
  // the command.
  std::optional<std::string> ForeignValue() {
    if (at_ < args_.size() && first_word_is_command_ && absl::EndsWith(args_[at_], ".py")) return std::nullopt;
    if (at_ < args_.size() && args_[at_] == "-m") return std::nullopt;
    return NextValue();
  }

  void ReadFlag(const std::string& word) {
    ++at_;
    const size_t equals = word.find('=');
    const std::string typed = word.substr(0, equals);
    const std::string name = typed.substr(std::min(typed.size(), typed.find_first_not_of('-')));
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);

    if (const std::string* why = names_.FindForbidden(name)) {
      if (!value) value = ForeignValue();
      const bool is_long = absl::StartsWith(typed, "--");
      out_.errors.push_back(
          absl::StrCat(is_long ? "--" : "-", NormalFlag(name), ": ", ForeignWordHint(*why, value.value_or(""))));
      return;
    }
    if (ReadBuiltIn(NormalFlag(name), typed, value)) return;
    const Setting* setting = absl::StartsWith(typed, "--") ? names_.FindFlag(name) : nullptr;
    if (setting == nullptr) {
      const auto meant = names_.ResemblingFlag(name);
      out_.errors.push_back(
          absl::StrCat("unknown flag ", Shown(typed), ": ",
                       meant ? absl::StrCat("did you mean --", *meant, "?")
                             : absl::StrCat("`", program_, " --help-all` lists all flags", CommandHint())));
      SkipValue(value);
      return;
    }
    if (!value) value = setting->is_switch() ? SwitchValue() : NextValue();
    if (!value) {
      out_.errors.push_back(absl::StrCat(typed, " needs a value: write ", typed, "=", setting->value_name));
      return;
    }
    out_.values.push_back({setting, *value, typed});
  }

  bool ReadBuiltIn(const std::string& name, const std::string& typed, std::optional<std::string> value) {
    if (!absl::StartsWith(typed, "--")) return false;
    if (name == "help" || name == "help_all" || name == "version") {
      (name == "version" ? out_.wants_version : out_.wants_help) = true;
      if (name == "help_all") out_.wants_all_help = true;
      return true;
    }
    if (name != "config") return false;
    if (!value) value = NextValue();
    if (!value || value->empty()) {
      out_.errors.push_back("--config needs a value: write --config=FILE");
    } else {
      out_.config_file = *value;
    }
    return true;
  }

  // Returns a switch's value: the next word if it can be one, otherwise "1". Words such as "true" and "yes" may also be
  // the command: they count as values only if the command comes after its own "--", or if there is no command.
  std::string SwitchValue() {
    if (at_ < args_.size() && ParseBool(args_[at_]).ok()) {
      const std::string& word = args_[at_];
      const bool has_own_command =
          std::find(args_.begin() + static_cast<std::ptrdiff_t>(at_), args_.end(), "--") != args_.end();
      if (word == "0" || word == "1" || !first_word_is_command_ || has_own_command) return args_[at_++];
    }
    return "1";
  }

  // Skips the word after an unknown flag. Most likely it is the flag's value, not the command.
  void SkipValue(const std::optional<std::string>& value) {
    if (!value) NextValue();
  }

  std::string CommandHint() const {
    return first_word_is_command_ ? "; the command and its own flags come after --" : "";
  }

  static std::string Shown(const std::string& typed) {
    const std::string quoted = Quoted(typed);
    return quoted.substr(1, quoted.size() - 2);
  }

  const NameIndex& names_;
  const std::string& program_;
  const std::vector<std::string>& args_;
  const bool first_word_is_command_;
  size_t at_ = 0;
  CommandLine out_;
};

}  // namespace

CommandLine ReadCommandLine(const NameIndex& names, const std::string& program, const std::vector<std::string>& args,
                            bool first_word_is_command) {
  return Reader(names, program, args, first_word_is_command).Read();
}

}  // namespace muster
