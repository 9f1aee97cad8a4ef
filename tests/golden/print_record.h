// Prints journal records as text.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "muster/v1/journal.pb.h"

namespace muster::golden {

std::string PrintRecord(const v1::Record& record);

// "succeeded", or the cause with its kind and remedy.
std::string PrintOutcome(const v1::Outcome& outcome);

// Prints all fields that are set, in one line.
std::string PrintFields(const google::protobuf::Message& message);

// "RUNNING"
std::string PrintPhase(v1::RunPhase phase);

}  // namespace muster::golden
