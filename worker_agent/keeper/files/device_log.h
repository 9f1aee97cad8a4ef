// The log that an Ascend device's software keeps of a process: FOLDER/{debug,run}/plog/plog-PID_TIME.log, with FOLDER
// from ASCEND_PROCESS_LOG_PATH, else ~/ascend/log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

// Returns its path, and then at most four lines: the last ones with an error, of the newest file of this process. Clean
// lines of at most kMaxLastLineBytes, with a newline between them; empty: there is none, or no error in its last 64
// KiB. Looks at 20,000 files of a folder at most. Blocks where the file system does: for the helper.
std::string ReadDeviceLog(const std::string& folder, int64_t pid);

// Puts `text`, as ReadDeviceLog returned it, before `last_lines`, and drops the oldest of those if there is no room.
void PutInFront(const std::string& text, std::vector<std::string>& last_lines);

// Returns the folder that a process with this environment (NAME=VALUE) logs to; empty: not known.
std::string DeviceLogFolder(const std::vector<std::string>& environment);

}  // namespace muster::agent
