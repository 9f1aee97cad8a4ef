// Reads and writes whole small files. A read has a limit on the size. A reader of a written file sees either the old or
// the new content.
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

// Opens the regular file that a setting names, for reading. Follows links. `info` becomes its fstat. Never blocks on a
// pipe, and opens no device. The error names the path and says what is wrong with it. NOT_FOUND: there is no such file.
absl::StatusOr<UniqueFd> OpenNamedFile(const std::string& path, struct stat& info);

// Opens a file like OpenNamedFile, and returns its content. More than `max_bytes` is an error.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes);

// The same for a file that is already open for reading. `path` is for messages.
absl::StatusOr<std::string> ReadSmallFile(const UniqueFd& file, const std::string& path, size_t max_bytes);

// The same for a path, which may also be a pipe (a shell's `<(command)`, /dev/stdin). The pipe must have a writer and
// must end within `patience`; otherwise DEADLINE_EXCEEDED. A pipe without any content is an error.
absl::StatusOr<std::string> ReadSmallFileOrPipe(const std::string& path, size_t max_bytes, absl::Duration patience);

// Opens, for reading, a path where any user may have put a file. Returns a closed descriptor unless it is a regular and
// readable file. `info` becomes its fstat. Never blocks, opens no device, and follows no link at the end of the path.
UniqueFd OpenRegularFile(const std::string& path, struct stat& info);

// Writes `content` to a temporary file in the same folder, syncs it, renames it to `path` and syncs the folder. After a
// crash at any point, the file has either its complete old or its complete new content. Replaces a symbolic link at
// `path`, and does not follow it. On the way to the folder, follows another user's link only to a folder of that user
// (private_folder.h, kShared).
absl::Status WriteFileAtomically(const std::string& path, const std::string& content, mode_t mode);

// The same without a sync, for content that is not needed after a crash of the machine. Every reader sees the complete
// old or the complete new content.
absl::Status ReplaceFile(const std::string& path, const std::string& content, mode_t mode);

// Removes the file with this name, of any kind except a folder, from the folder where WriteFileAtomically would write.
void RemoveFile(const std::string& path);

}  // namespace muster
