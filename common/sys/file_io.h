// Reads and writes whole small files: with a bound, and so that a reader sees either the old or the new content.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"

namespace muster {

// Opens the regular file that a setting names, for reading; follows links. `info` is its fstat. Never blocks on a pipe
// and opens no device. The error names the path and says what is wrong with it; NOT_FOUND: nothing is there.
absl::StatusOr<UniqueFd> OpenNamedFile(const std::string& path, struct stat& info);

// Returns the content of such a file, of at most `max_bytes`.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes);

// The same for a file that is open to read; `path` is for messages.
absl::StatusOr<std::string> ReadSmallFile(const UniqueFd& file, const std::string& path, size_t max_bytes);

// The same, and also from a pipe (`<(command)` of a shell, /dev/stdin) that has a writer and ends within `patience`:
// DEADLINE_EXCEEDED after that. A pipe without any content is an error.
absl::StatusOr<std::string> ReadSmallFileOrPipe(const std::string& path, size_t max_bytes, absl::Duration patience);

// Opens a file that anyone may have put there, for reading, if it is a regular and readable file; `info` is its fstat.
// Never blocks, follows no link in the last place, opens no device.
UniqueFd OpenRegularFile(const std::string& path, struct stat& info);

// Writes `content` to a temporary name in the same folder, syncs it, renames it to `path` and syncs the folder. After a
// crash at any point `path` is whole, old or new. A symbolic link at `path` is replaced, not followed. A link of
// another user on the way leads only to that user's own folder (private_folder.h, kShared).
absl::Status WriteFileAtomically(const std::string& path, const std::string& content, mode_t mode);

// The same without a sync, for content that means nothing after a crash of the machine: every reader sees the whole old
// or the whole new content.
absl::Status ReplaceFile(const std::string& path, const std::string& content, mode_t mode);

// Removes anything with this name except a folder, in the folder where WriteFileAtomically would write.
void RemoveFile(const std::string& path);

}  // namespace muster
