// Protobuf's own words are for its developers, and it writes a line for each message that is no UTF-8: a peer could
// fill the disk. In programs that parse what others send.
#pragma once

#include <google/protobuf/stubs/logging.h>

#include <string>

#include "common/log.h"

namespace muster {

// Once, in main: what protobuf says is for --log_level debug from now on.
inline void QuietProtobuf() {
  google::protobuf::SetLogHandler([](google::protobuf::LogLevel, const char*, int, const std::string& text) {
    Log(LogLevel::kDebug, "protobuf: " + text);
  });
}

}  // namespace muster
