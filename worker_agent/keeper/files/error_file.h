// The file in which torchelastic's @record leaves a failing process's exception (TORCHELASTIC_ERROR_FILE).
//
// {"message": {"message": "RuntimeError: …", "extraInfo": {"py_callstack": "…", …}}} or {"message": "…"}.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

// Returns the inner message as clean text of at most kMaxErrorMessageBytes; empty if there is no such file or no
// message in it. Reads 64 KiB at most. Blocks if the file system hangs, so only a helper may call it.
std::string ReadErrorFile(const std::string& path);

// Returns the same from the file's content, which may be cut at its end.
std::string ParseErrorFile(std::string_view text);

}  // namespace muster::agent
