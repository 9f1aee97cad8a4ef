// After                                 the variable's value is
//
//   N=8, export N=8, N+=8                 known
//   N=$(…), N=`…`, N=${…:-…}, N=$1        not known
//   N="--x $M"                            known, with the text $M in it
//   read N, unset N, for N in, ((N++))    not known
//   source FILE, eval "$(…)"              not known; the values of all other variables are not known either
//
// A value is certain only from its assignment to the end of the assignment's block, with these exceptions:
//
//   - it is certain only up to the next block that also sets it: a loop's body may set it and run again;
//   - outside functions it is never certain if a function sets the variable: that function may run at any time;
//   - in a function's body it is certain only if nothing sets the variable after the beginning of that body.
#include "common/command/script_values.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

using Words = std::vector<std::string>;

constexpr size_t kMaxWordBytes = 4096;                 // of one word with its variables filled in
constexpr size_t kMaxFilledBytes = size_t{128} << 10;  // of all words with their variables filled in

// Returns the name in $NAME, ${NAME} or ${NAME[@]} at `at`, and how many bytes the whole expression has; 0 bytes if
// there is none.
std::pair<std::string, size_t> NameAt(const std::string& word, size_t at) {
  const bool has_brace = word.compare(at, 2, "${") == 0;
  const size_t begin = at + (has_brace ? 2 : 1);
  size_t end = begin;
  while (end < word.size() && (word[end] == '_' || absl::ascii_isalnum(static_cast<unsigned char>(word[end])))) ++end;
  const std::string name = word.substr(begin, end - begin);
  if (!IsVariableName(name)) return {};
  if (!has_brace) return {name, end - at};
  for (const std::string& rest : {std::string("}"), std::string("[@]}"), std::string("[*]}")}) {
    if (word.compare(end, rest.size(), rest) == 0) return {name, end + rest.size() - at};
  }
  return {};
}

// Returns the variables in a value. Sets `is_computed` if the value has a part that only a running shell knows, such as
// $(…).
Words VariablesIn(const std::string& value, bool& is_computed) {
  Words names;
  is_computed = absl::StrContains(value, "`");
  for (size_t at = value.find('$'); at != std::string::npos; at = value.find('$', at + 1)) {
    if (at > 0 && value[at - 1] == '\\') continue;
    auto [name, size] = NameAt(value, at);
    is_computed |= size == 0 && at + 1 < value.size();
    if (size != 0) names.push_back(std::move(name));
  }
  return names;
}

bool NamesArguments(const std::string& typed) {
  return typed == "\"$@\"" || typed == "$@" || typed == "$*" || typed == "\"${@}\"" || typed == "${@}";
}

bool SetsAnything(const Words& words) {
  if (words.size() < 2) return false;
  if (words[0] == "source" || words[0] == ".") return true;
  return words[0] == "eval" && std::any_of(words.begin() + 1, words.end(), [](const std::string& word) {
           return word.find_first_of("`=") != std::string::npos || absl::StrContains(word, "$(");
         });
}

// Returns the variables that a command sets.
Words NamesSetBy(const ShellCommand& command) {
  constexpr std::string_view kSetters[] = {"read", "unset", "mapfile", "readarray", "getopts", "let", "printf"};
  Words names = command.sets;
  const Words& words = command.words;
  const auto take = [&](const std::string& word) {
    const std::string name = word.substr(0, word.find_first_of("=+-*/[ "));
    if (IsVariableName(name)) names.push_back(name);
  };
  if (words.empty()) {
    for (const std::string& assignment : command.assignments) take(assignment);
  } else if (IsDeclaration(words[0])) {
    std::for_each(words.begin(), words.end(), [&](const std::string& word) {
      if (IsAssignment(word)) take(word);
    });
  } else if (std::find(std::begin(kSetters), std::end(kSetters), words[0]) != std::end(kSetters)) {
    std::for_each(words.begin() + 1, words.end(), take);
  }
  return names;
}

class Values {
 public:
  explicit Values(bool has_to_be_certain) : has_to_be_certain_(has_to_be_certain) {}

  void Forget(const Words& names) {
    ++now_;
    for (const std::string& name : names) {
      values_.erase(name);
      changed_[name] = now_;
    }
  }
  void ForgetAll() { values_.clear(); }
  void NeverKnow(const Words& names) { never_.insert(names.begin(), names.end()); }

  void Note(const Words& assignments, const Words& typed) {
    for (size_t i = 0; i < assignments.size(); ++i) {
      if (IsAssignment(assignments[i])) NoteOne(assignments[i], typed[i]);
    }
  }

  std::string FilledIn(const std::string& word) const {
    std::string out;
    for (size_t at = 0; at < word.size() && out.size() < kMaxWordBytes;) {
      const auto [name, size] = word[at] == '$' ? NameAt(word, at) : std::pair<std::string, size_t>();
      const std::string* value = size == 0 ? nullptr : Find(name);
      if (value != nullptr) {
        out += *value;
        at += size;
        continue;
      }
      if (word[at] == '\\' && at + 1 < word.size()) out += word[at++];
      out += word[at++];
    }
    return out;
  }

 private:
  struct Value {
    std::string text;
    uint64_t since = 0;
  };

  const std::string* Find(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return nullptr;
    if (!has_to_be_certain_) return &found->second.text;
    bool is_computed = false;
    const Words names = VariablesIn(found->second.text, is_computed);
    const bool is_current = std::all_of(names.begin(), names.end(), [&](const std::string& each) {
      const auto changed = changed_.find(each);
      return changed == changed_.end() || changed->second <= found->second.since;
    });
    return is_current ? &found->second.text : nullptr;
  }

  void NoteOne(const std::string& assignment, const std::string& typed) {
    const size_t equals = assignment.find('=');
    const bool is_more = assignment[equals - 1] == '+';
    const std::string name = assignment.substr(0, equals - (is_more ? 1 : 0));
    const std::string typed_value = typed.substr(std::min(typed.find('='), typed.size() - 1) + 1);
    const std::string* before = is_more ? Find(name) : nullptr;
    std::string value = FilledIn(assignment.substr(equals + 1));
    bool is_known = value.size() <= kMaxWordBytes;
    if (is_more) {
      is_known &= before != nullptr;
      if (before != nullptr) value = absl::StrCat(*before, absl::StartsWith(typed_value, "(") ? " " : "", value);
    }
    bool is_computed = false;
    VariablesIn(value, is_computed);
    if (!has_to_be_certain_) is_computed = absl::StrContains(value, "$(") || absl::StrContains(value, "`");
    is_known &= !is_computed && value.size() <= kMaxWordBytes;
    // A $ in single quotes is an ordinary character, so the value can't be used.
    if (has_to_be_certain_ && absl::StrContains(typed_value, "'") && absl::StrContains(value, "$")) is_known = false;
    Forget({name});
    if (is_known && never_.count(name) == 0) values_[name] = {std::move(value), now_};
  }

  bool has_to_be_certain_;
  uint64_t now_ = 0;
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, uint64_t> changed_;
  std::unordered_set<std::string> never_;
};

class Filler {
 public:
  Filler(std::vector<ShellCommand> commands, Words arguments, bool has_to_be_certain)
      : commands_(std::move(commands)),
        arguments_(std::move(arguments)),
        has_to_be_certain_(has_to_be_certain),
        values_(has_to_be_certain) {
    for (const std::string& argument : arguments_) argument_bytes_ += argument.size() + 1;
    for (const ShellCommand& command : commands_) sets_.push_back(NamesSetBy(command));
  }

  std::vector<ShellCommand> Run() {
    for (size_t i = 0; i < commands_.size(); ++i) {
      ShellCommand& command = commands_[i];
      if (has_to_be_certain_) MoveTo(i);
      FillIn(command);
      if (has_to_be_certain_ && SetsAnything(command.words)) values_.ForgetAll();
      if (command.words.empty()) {
        values_.Forget(command.sets);
        values_.Note(command.assignments, command.typed_assignments);
      } else if (IsDeclaration(command.words[0])) {
        values_.Note(command.words, command.typed);
      } else if (has_to_be_certain_) {
        values_.Forget(sets_[i]);
      }
    }
    return std::move(commands_);
  }

 private:
  struct Inside {
    ShellBlock block;
    size_t first = 0;
  };

  void ForgetWhatSet(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) values_.Forget(sets_[i]);
  }

  // Leaves the blocks that have ended before command `i`, and enters those that begin with it.
  void MoveTo(size_t i) {
    const std::vector<ShellBlock>& blocks = commands_[i].blocks;
    size_t same = 0;
    while (same < inside_.size() && same < blocks.size() && inside_[same].block.id == blocks[same].id) ++same;
    for (; inside_.size() > same; inside_.pop_back()) {
      const Inside& left = inside_.back();
      ForgetWhatSet(left.first, i);
      for (size_t k = left.first; left.block.is_function && k < i; ++k) values_.NeverKnow(sets_[k]);
    }
    for (size_t depth = same; depth < blocks.size(); ++depth) {
      inside_.push_back({blocks[depth], i});
      size_t end = i;
      const auto is_in = [&](const ShellCommand& command) {
        return command.blocks.size() > depth && command.blocks[depth].id == blocks[depth].id;
      };
      while (end < commands_.size() && (blocks[depth].is_function || is_in(commands_[end]))) ++end;
      ForgetWhatSet(i, end);
    }
  }

  bool Takes(size_t bytes) {
    const bool fits = bytes <= room_;
    room_ -= fits ? bytes : 0;
    return fits;
  }

  void FillIn(ShellCommand& command) {
    Words words, typed;
    const auto add = [&](std::string word, std::string as_typed) {
      words.push_back(std::move(word));
      typed.push_back(std::move(as_typed));
    };
    for (size_t i = 0; i < command.words.size(); ++i) {
      const std::string& word = command.words[i];
      const std::string& as_typed = command.typed[i];
      if (!arguments_.empty() && NamesArguments(as_typed) && Takes(argument_bytes_)) {
        for (const std::string& argument : arguments_) add(argument, &argument == arguments_.data() ? as_typed : "");
        continue;
      }
      const bool is_literal = absl::StartsWith(as_typed, "'") || absl::StrContains(as_typed, "\\$");
      const std::string filled = is_literal || room_ == 0 ? word : values_.FilledIn(word);
      const bool is_array = absl::EndsWith(as_typed, "[@]}\"") && as_typed == "\"" + word + "\"";
      if (filled == word || !Takes(filled.size())) {
        add(word, as_typed);
      } else if (word[0] == '$' && (as_typed == word || is_array)) {
        Words parts;
        for (const ShellCommand& part : ShellCommands(filled)) {
          parts.insert(parts.end(), part.assignments.begin(), part.assignments.end());
          parts.insert(parts.end(), part.words.begin(), part.words.end());
        }
        for (size_t k = 0; k < parts.size(); ++k) add(std::move(parts[k]), k == 0 ? as_typed : "");
        if (parts.empty()) KeepTyped(as_typed, typed);
      } else {
        add(filled, as_typed);
      }
    }
    command.words = std::move(words);
    command.typed = std::move(typed);
  }

  // Called for a word whose text is empty after the values are filled in. Appends its typed text to that of the last
  // word that is not empty.
  static void KeepTyped(const std::string& as_typed, Words& typed) {
    const auto last = std::find_if(typed.rbegin(), typed.rend(), [](const std::string& each) { return !each.empty(); });
    if (typed.size() > 1 && last != typed.rend()) absl::StrAppend(&*last, " ", as_typed);
  }

  std::vector<ShellCommand> commands_;
  Words arguments_;
  bool has_to_be_certain_;
  Values values_;
  std::vector<Words> sets_;  // the variables that each command sets
  std::vector<Inside> inside_;
  size_t argument_bytes_ = 0;
  size_t room_ = kMaxFilledBytes;  // how many bytes may still be filled in
};

}  // namespace

std::vector<ShellCommand> CommandsWithLikelyValues(std::string_view text, const Words& arguments) {
  return Filler(ShellCommands(text), arguments, false).Run();
}

std::vector<ShellCommand> CommandsWithCertainValues(std::string_view text) {
  return Filler(ShellCommands(text), {}, true).Run();
}

}  // namespace muster
