// The measurements. Each one forms the crowd, measures, and returns one JSON object.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/load/load_settings.h"

namespace grpc {
class ChannelCredentials;
}

namespace muster::bench {

// `target` has the form that gRPC wants. An error says which step failed.
absl::StatusOr<std::string> Measure(const LoadSettings& settings, const std::string& target,
                                    std::shared_ptr<grpc::ChannelCredentials> credentials);

}  // namespace muster::bench
