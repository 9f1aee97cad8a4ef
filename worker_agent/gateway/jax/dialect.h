// The two dialects of JAX's coordination service: how a method is called, and how its request and reply are written.
// Pure. Source: the message descriptors in jaxlib's wheels, 0.4.13 to 0.10.2.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker_agent/gateway/jax/request.h"

namespace muster::jax {

enum class Dialect { kOld, kNew };  // package tensorflow, up to jaxlib 0.9; package xla.coordination, from 0.10 on

struct Call {
  Dialect dialect = Dialect::kNew;
  Method method = Method::kHeartbeat;
};

// `path` as HTTP/2 has it, "/package.CoordinationService/Method". None: it is not spoken here.
std::optional<Call> CallOf(absl::string_view path);

// INVALID_ARGUMENT: it is not written as this dialect writes it.
absl::StatusOr<Request> ReadRequest(Call call, const std::string& bytes);

std::string WriteReply(Call call, const Reply& reply);

}  // namespace muster::jax
