// The file in which torchelastic's @record leaves a failing process's exception (TORCHELASTIC_ERROR_FILE).
//
// {"message": {"message": "RuntimeError: …", "extraInfo": {"py_callstack": "…", …}}} or {"message": "…"}.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

// Returns the inner message, clean and at most kMaxErrorMessageBytes; empty if there is no such file or nothing of use
// in it.
// At most 64 KiB are read. Blocks where the file system does: for the helper.
std::string ReadErrorFile(const std::string& path);

// Reads the same from the file's content, which may be cut short at its end.
std::string ParseErrorFile(std::string_view text);

}  // namespace muster::agent
