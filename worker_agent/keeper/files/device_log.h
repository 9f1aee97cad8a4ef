// The log that an Ascend device's software keeps of a process: FOLDER/{debug,run}/plog/plog-PID_TIME.log, with FOLDER
// from ASCEND_PROCESS_LOG_PATH, else ~/ascend/log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

// Returns the path of the process's newest device log, then the last lines in it that report an error, at most four.
// The lines are clean text of at most kMaxLastLineBytes each, with a newline between them. Empty: there is no such log,
// or its last 64 KiB contain no error. Looks at 20,000 files of a folder at most. Blocks if the file system hangs, so
// only a helper may call it.
std::string ReadDeviceLog(const std::string& folder, int64_t pid);

// Puts `text`, which ReadDeviceLog has returned, before `last_lines`. Drops the oldest of `last_lines` if there would
// be more than kMaxLastLines.
void PutInFront(const std::string& text, std::vector<std::string>& last_lines);

// Returns the folder in which the device's software keeps the logs of a process with this environment (NAME=VALUE);
// empty: not known.
std::string DeviceLogFolder(const std::vector<std::string>& environment);

}  // namespace muster::agent
