// Finds, in a program's output, the exception that ended the program: a Python traceback (written by Python itself,
// rich or IPython, with or without a rank's prefix), or C++'s "terminate called". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster {

struct RaisedException {
  std::string type;     // "json.decoder.JSONDecodeError", "c10::Error"; empty if only a known line was found
  std::string message;  // without the type; may have several lines, may be empty
  std::string file;     // the file that raised it: of the innermost frame in the program's own code; empty if not known
  uint32_t line = 0;
  bool is_native = false;  // a C++ exception

  bool empty() const { return type.empty() && message.empty(); }
  // Returns the first line as the program wrote it: "KeyError: 'lr'". For C++ it is only the message's first line.
  std::string FirstLine() const;
};

// Splits "KeyError: 'lr'" into type and message. A text without a type becomes the message.
RaisedException ExceptionOfText(absl::string_view text);

// True if the exception only reports that a started process failed: torchrun's ChildFailedError, CalledProcessError.
bool IsOfLauncher(const RaisedException& exception);

// True if `type` looks like the name of an exception: its last word is one that such names in Python and its libraries
// end with ("Error").
bool LooksLikeException(absl::string_view type);

// Returns the exception's reason (common/base/reason.h), from the message's first line or from the type. A later line
// of the message counts instead if its evidence is stronger (see EvidenceOf). Empty if no known reason fits.
absl::string_view ReasonOf(const RaisedException& exception);

// Returns the exception in these lines that best explains why the program ended; nullopt if there is none. Takes time
// in proportion to the number of bytes.
std::optional<RaisedException> FindException(const std::vector<absl::string_view>& lines);

// Cuts the texts to their limits, drops a path that is too long, and replaces control characters.
void CutException(RaisedException& exception);

}  // namespace muster
