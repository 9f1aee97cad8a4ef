// The limits on all input from peers, files and users. Muster neither parses nor keeps anything larger.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster {

inline constexpr uint32_t kProtocolVersion = 2;

inline constexpr size_t kMaxIdBytes = 128;  // job id, node id
inline constexpr size_t kMaxHostNameBytes = 253;
inline constexpr int kMaxEndedStarts = 64;         // former starts of a node that its next start may report as ended
inline constexpr size_t kMaxShortTextBytes = 512;  // reasons, labels, user, version, digests
inline constexpr size_t kMaxLastLines = 20;
inline constexpr size_t kMaxKernelLines = 4;
inline constexpr size_t kMaxProgressBytes = 1024;  // in a heartbeat's datagram, which then fits into one packet
inline constexpr size_t kMaxLastLineBytes = 512;
inline constexpr size_t kMaxErrorMessageBytes = 4096;
inline constexpr size_t kMaxExceptionBytes = 2048;  // of an exception's message
inline constexpr size_t kMaxLogFileBytes = 4096;
inline constexpr size_t kMaxShownCommandBytes = 200;            // of a remote command's words, in a report
inline constexpr uint32_t kMaxCommandsCounted = 1'000'000'000;  // remote commands that one report may stand for
inline constexpr uint32_t kMaxSlotsPerNode = 1024;
inline constexpr int kMaxStuckPerReport = 8;   // processes that can't be killed; only people read this list
inline constexpr int kMaxHaltedPerReport = 8;  // processes that the kernel does not let run; only for people, too
inline constexpr size_t kMaxStuckNameBytes = 64;
inline constexpr size_t kMaxStuckStateBytes = 4;
inline constexpr int kMaxAddressesOfNode = 32;
inline constexpr uint32_t kMaxWorkers = 1'000'000;
inline constexpr uint32_t kMaxRestarts = 1'000'000;
inline constexpr uint32_t kMaxRound = 1'000'000'000;  // the highest round that an agent may report
inline constexpr size_t kMaxEventsPerReport = 64;
inline constexpr size_t kMaxSessionMessageBytes = 256 * 1024;
inline constexpr size_t kMaxUnaryRequestBytes = 16 * 1024;  // of a unary call, except the store's
inline constexpr size_t kMaxReceivedBytes = 1024 * 1024;    // of any message; gRPC itself refuses a larger one
inline constexpr int64_t kMaxFenceMs = int64_t{40} * 24 * 3600 * 1000;  // 40 days; must fit into 32 bits
inline constexpr size_t kMaxStackRanks = 64;                            // ranks in one request for stacks
inline constexpr size_t kMaxStackBytes = 32 * 1024;                     // of one process, in an answer to a StackQuery
inline constexpr size_t kMaxStacksBytes = 192 * 1024;  // of all processes, in an answer to a StackQuery
inline constexpr size_t kMaxStackNoteBytes = 512;
inline constexpr uint32_t kMaxLogLines = 1000;         // of one process, in an answer to a LogQuery
inline constexpr size_t kMaxLogTextBytes = 64 * 1024;  // of all lines in an answer to a LogQuery
inline constexpr size_t kMaxPeerListBytes = 64 * 1024 * 1024;
inline constexpr size_t kMaxStoreKeyBytes = 1024;
inline constexpr size_t kMaxStoreValueBytes = 64 * 1024;
inline constexpr size_t kMaxStoreKeys = 200'000;                  // of one job
inline constexpr size_t kStoredOverheadBytes = 256;               // added for each key to the bytes of key and value
inline constexpr size_t kMaxStoreBytes = 64 * 1024 * 1024;        // of one job, see StoredBytes
inline constexpr size_t kMaxStoreBytesInAll = 256 * 1024 * 1024;  // of all jobs together
inline constexpr size_t kMaxStoreListBytes = 1024 * 1024;         // of one answer to List, see StoredBytes
inline constexpr size_t kMaxStoreListKeys = 4096;                 // in one answer to List
inline constexpr size_t kMaxStoreWaits = 20'000;                  // Wait calls that one job may have open
inline constexpr uint32_t kMaxStoreWaitMs = 5000;                 // no Wait call waits longer
inline constexpr size_t kMaxStoreCalls = 32'768;                  // store calls that wait for the scheduler's core
inline constexpr size_t kMaxStoreCallBytes = 64 * 1024 * 1024;    // of the requests of all store calls that wait
inline constexpr int kMaxStoreRequests = 512;                     // in one message on a request stream
inline constexpr int kMaxStoreEdits = 64;                         // in one batch of changes
inline constexpr size_t kMaxStoreStreamCalls = 1024;              // calls of one stream that wait for their answers
inline constexpr size_t kMaxStoreBacklogBytes = 1024 * 1024;      // changes that wait in an agent for the scheduler
inline constexpr int kMaxReplicasOfAgent = 256;                   // torchft's replicas in one report
inline constexpr size_t kMaxReplicaIdBytes = 256;                 // of a torchft replica's id
inline constexpr size_t kMaxReplicaMemberBytes = 64 * 1024;  // of the data that a torchft replica sends about itself
inline constexpr size_t kMaxStoreReads = 16'384;             // reads that wait in an agent
inline constexpr size_t kMaxJobs = 1000;
inline constexpr size_t kMaxEndedRunsPerJob = 16;
inline constexpr size_t kMaxLoggedEvents = 20'000;
inline constexpr uint32_t kMaxRanksInClusterFile = 1024;  // beyond it, the file has only this node and its neighbours

// MindSpore's frames (common/mindspore).
inline constexpr size_t kMaxMindSporeStringBytes = 1024;             // name, to, from
inline constexpr size_t kMaxMindSporeBodyBytes = 1024 * 1024;        // of one frame
inline constexpr size_t kMaxMindSporeInputBytes = 64 * 1024 * 1024;  // incomplete frames, of all connections together
inline constexpr size_t kMaxMindSporeOutputBytes = 64 * 1024;        // unsent answers; above it, further requests wait

}  // namespace muster
