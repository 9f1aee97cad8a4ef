// The measurements: each forms the crowd, does its thing, and tells one object of JSON.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/load/load_settings.h"

namespace grpc {
class ChannelCredentials;
}

namespace muster::bench {

// `target` as gRPC wants it. An error says what did not come about.
absl::StatusOr<std::string> Measure(const LoadSettings& settings, const std::string& target,
                                    std::shared_ptr<grpc::ChannelCredentials> credentials);

}  // namespace muster::bench
