// Every limit on what a peer, a file or a user may say. Muster keeps and parses nothing beyond these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster {

inline constexpr uint32_t kProtocolVersion = 2;

inline constexpr size_t kMaxIdBytes = 128;  // job id, node id
inline constexpr size_t kMaxHostNameBytes = 253;
inline constexpr int kMaxEndedStarts = 64;         // of a node; its next start reports the end of these
inline constexpr size_t kMaxShortTextBytes = 512;  // reasons, labels, user, version, digests
inline constexpr size_t kMaxLastLines = 20;
inline constexpr size_t kMaxLastLineBytes = 512;
inline constexpr size_t kMaxErrorMessageBytes = 4096;
inline constexpr size_t kMaxExceptionBytes = 2048;  // of the message of an exception in the output
inline constexpr size_t kMaxLogFileBytes = 4096;
inline constexpr size_t kMaxShownCommandBytes = 200;            // of a remote command, in a report
inline constexpr uint32_t kMaxCommandsCounted = 1'000'000'000;  // that one report stands for
inline constexpr uint32_t kMaxSlotsPerNode = 1024;
inline constexpr int kMaxStuckPerReport = 8;  // processes that can't be killed: they are for people
inline constexpr size_t kMaxStuckNameBytes = 64;
inline constexpr size_t kMaxStuckStateBytes = 4;
inline constexpr int kMaxAddressesOfNode = 32;
inline constexpr uint32_t kMaxWorkers = 1'000'000;
inline constexpr uint32_t kMaxRestarts = 1'000'000;
inline constexpr uint32_t kMaxRound = 1'000'000'000;  // that an agent may report
inline constexpr size_t kMaxEventsPerReport = 64;
inline constexpr size_t kMaxSessionMessageBytes = 256 * 1024;
inline constexpr size_t kMaxUnaryRequestBytes = 16 * 1024;  // of a unary call, except the store's
inline constexpr size_t kMaxReceivedBytes = 1024 * 1024;    // any message: a larger one gRPC refuses by itself
inline constexpr int64_t kMaxFenceMs = int64_t{40} * 24 * 3600 * 1000;  // sent in 32 bits
inline constexpr size_t kMaxStackRanks = 64;                            // that are asked for their stacks at once
inline constexpr size_t kMaxStackBytes = 32 * 1024;    // of one process, in an answer to a StackQuery …
inline constexpr size_t kMaxStacksBytes = 192 * 1024;  // … and of all in one answer
inline constexpr size_t kMaxStackNoteBytes = 512;
inline constexpr uint32_t kMaxLogLines = 1000;         // of one process, in an answer to a LogQuery …
inline constexpr size_t kMaxLogTextBytes = 64 * 1024;  // … and their bytes
inline constexpr size_t kMaxPeerListBytes = 64 * 1024 * 1024;
inline constexpr size_t kMaxStoreKeyBytes = 1024;
inline constexpr size_t kMaxStoreValueBytes = 64 * 1024;
inline constexpr size_t kMaxStoreKeys = 200'000;                  // of one job
inline constexpr size_t kStoredOverheadBytes = 256;               // that each key counts for besides its bytes
inline constexpr size_t kMaxStoreBytes = 64 * 1024 * 1024;        // of one job, see StoredBytes …
inline constexpr size_t kMaxStoreBytesInAll = 256 * 1024 * 1024;  // … and of all
inline constexpr size_t kMaxStoreListBytes = 1024 * 1024;         // of one answer to List, see StoredBytes …
inline constexpr size_t kMaxStoreListKeys = 4096;                 // … and its keys
inline constexpr size_t kMaxStoreWaits = 20'000;                  // that one job has open
inline constexpr uint32_t kMaxStoreWaitMs = 5000;                 // no request waits longer
inline constexpr size_t kMaxStoreCalls = 32'768;                  // that wait for the scheduler's core …
inline constexpr size_t kMaxStoreCallBytes = 64 * 1024 * 1024;    // … and what they carry
inline constexpr int kMaxStoreRequests = 512;                     // of one message on a request stream
inline constexpr int kMaxStoreEdits = 64;                         // of one batch of changes
inline constexpr size_t kMaxStoreStreamCalls = 1024;              // of one stream that wait for their answers
inline constexpr size_t kMaxStoreBacklogBytes = 1024 * 1024;      // changes that wait in an agent for the scheduler
inline constexpr int kMaxReplicasOfAgent = 256;                   // of torchft's, that a report may have …
inline constexpr size_t kMaxReplicaIdBytes = 256;                 // … their ids …
inline constexpr size_t kMaxReplicaMemberBytes = 64 * 1024;       // … and each one's data about itself
inline constexpr size_t kMaxStoreReads = 16'384;                  // that wait in an agent
inline constexpr size_t kMaxJobs = 1000;
inline constexpr size_t kMaxEndedRunsPerJob = 16;
inline constexpr size_t kMaxLoggedEvents = 20'000;
inline constexpr uint32_t kMaxRanksInClusterFile = 1024;  // beyond: own node and neighbours only

// MindSpore's frames (common/mindspore).
inline constexpr size_t kMaxMindSporeStringBytes = 1024;             // name, to, from
inline constexpr size_t kMaxMindSporeBodyBytes = 1024 * 1024;        // of one frame
inline constexpr size_t kMaxMindSporeInputBytes = 64 * 1024 * 1024;  // half frames, of all connections
inline constexpr size_t kMaxMindSporeOutputBytes = 64 * 1024;        // beyond: no further request is answered

}  // namespace muster
