// Finds the exception that ended a program in the program's output: a Python traceback (plain, rich's, IPython's, under
// a rank's prefix), or C++'s "terminate called". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster {

struct RaisedException {
  std::string type;     // "json.decoder.JSONDecodeError", "c10::Error"; empty for a known line that is no exception
  std::string message;  // without the type; may have several lines, may be empty
  std::string file;     // that raised it: the innermost frame of the program's own code; empty if not known
  uint32_t line = 0;
  bool is_native = false;  // C++'s

  bool empty() const { return type.empty() && message.empty(); }
  // "KeyError: 'lr'": the first line of what the program wrote. For C++ only the message.
  std::string FirstLine() const;
};

// Splits "KeyError: 'lr'" into type and message; a text without a type is all message.
RaisedException ExceptionOfText(absl::string_view text);

// True if the exception only reports that a started process failed: torchrun's ChildFailedError, CalledProcessError.
bool IsOfLauncher(const RaisedException& exception);

// True if `type` is the name of an exception, judged by the words with which the names in Python and libraries end.
bool LooksLikeException(absl::string_view type);

// Returns the exception's reason, by its first line, else by its type. Later lines count if they say more. Empty if no
// known reason fits.
absl::string_view ReasonOf(const RaisedException& exception);

// Returns the exception among the lines that best explains why the program ended. Takes time in proportion to the
// lines' bytes.
std::optional<RaisedException> FindException(const std::vector<absl::string_view>& lines);

// Cuts the texts to their limits, drops a path that is too long, and replaces control characters.
void CutException(RaisedException& exception);

}  // namespace muster
