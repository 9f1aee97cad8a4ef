// Checks sizes and characters of all input from the network. Pure.
//
// Each check returns INVALID_ARGUMENT with what was found, what was expected, and where. Input that passes is within
// common/base/limits.h. The core judges its meaning (is this rank free, is this run known). Invalid UTF-8 never gets
// here: the protobuf parser refuses it.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/events.h"

namespace muster::scheduler {

// Checks the size of a unary call's whole request, as it came.
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

// Checks that a call of the Store service is well formed. Pure.

// INVALID_ARGUMENT names the field.
absl::Status CheckStoreOperation(const StoreOperation& operation);

const v1::StoreCaller& CallerOf(const StoreOperation& operation);

// Returns the memory that the operation takes until it is answered.
size_t BytesOf(const StoreOperation& operation);

}  // namespace muster::scheduler
