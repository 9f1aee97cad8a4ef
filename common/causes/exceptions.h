// The exception that ended a program, found in what it wrote: a Python traceback (plain, rich's, IPython's, under a
// rank's prefix), or C++'s "terminate called". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster {

struct RaisedException {
  std::string type;     // "json.decoder.JSONDecodeError", "c10::Error"; empty: a line that is known, not an exception
  std::string message;  // without the type; may have several lines, may be empty
  std::string file;     // where it was raised: the innermost frame of the program's own code; empty: not known
  uint32_t line = 0;
  bool is_native = false;  // C++'s

  bool empty() const { return type.empty() && message.empty(); }
  // "KeyError: 'lr'": the first line of what the program wrote. Of C++ the message alone.
  std::string FirstLine() const;
};

// "KeyError: 'lr'" into type and message; a text without a type is all message.
RaisedException ExceptionOfText(absl::string_view text);

// Whether it only reports that a process which it had started failed: torchrun's ChildFailedError, CalledProcessError.
bool IsOfLauncher(const RaisedException& exception);

// The name of an exception, by the words with which Python's and libraries' end.
bool LooksLikeException(absl::string_view type);

// Its reason by its first line, else by its type. The lines after the first one count where they say more. Empty: none
// that is known.
absl::string_view ReasonOf(const RaisedException& exception);

// The exception among the lines that best explains why the program ended. Takes time in proportion to the lines' bytes.
std::optional<RaisedException> FindException(const std::vector<absl::string_view>& lines);

// Cuts the texts to their limits, drops a path that is too long, and replaces control characters.
void CutException(RaisedException& exception);

}  // namespace muster
