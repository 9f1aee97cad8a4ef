// Checks the sizes and characters of all input from the network. Pure.
//
// Each check returns OK, or INVALID_ARGUMENT with the field, its value and what was expected. Input that passes is
// within the limits of common/base/limits.h. Whether it makes sense (is this rank free, is this run known) is for the
// core to judge. Text is valid UTF-8 already, because the protobuf parser refuses any other.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/events.h"

namespace muster::scheduler {

// Checks the size of a unary call's whole request, in bytes.
absl::Status CheckRequestSize(size_t bytes);

absl::Status CheckJoin(const v1::Join& join);
absl::Status CheckReport(const v1::Report& report);
absl::Status CheckStackTraces(const v1::StackTraces& traces);
absl::Status CheckLogLines(const v1::LogLines& lines);
absl::Status CheckLastReport(const v1::LastReportRequest& last_report);
absl::Status CheckRequest(const v1::GetPeersRequest& request);
absl::Status CheckRequest(const v1::StatusRequest& request);
absl::Status CheckRequest(const v1::NodesRequest& request);
absl::Status CheckRequest(const v1::RanksRequest& request);
absl::Status CheckRequest(const v1::EventsRequest& request);
absl::Status CheckRequest(const v1::StopRequest& request);
absl::Status CheckRequest(const v1::SteerRequest& request);
absl::Status CheckRequest(const v1::StacksRequest& request);
absl::Status CheckRequest(const v1::LogsRequest& request);

// Checks that a request of the Store service is well formed. INVALID_ARGUMENT: the message names the field.
absl::Status CheckStoreOperation(const StoreOperation& operation);

// Returns the fields that say which node makes the request.
const v1::StoreCaller& CallerOf(const StoreOperation& operation);

// Returns the memory that the request takes until it is answered, in bytes.
size_t BytesOf(const StoreOperation& operation);

}  // namespace muster::scheduler
