#include "ring/ring_settings.h"

#include "common/base/limits.h"

namespace muster::ring {

SettingsTable RingSettingsTable(RingSettings& s) {
  SettingsTable table("ms-ring", "ms-ring [settings] [-- command [args]]",
                      "Checks the ring of a round: all its ranks run this at the same time, each connects to its "
                      "neighbours, measures the links and takes part in a sum that is checked. Names the link that is "
                      "wrong. With a command, becomes that command when all is well.");
  constexpr uint32_t kMaxBytes = 1 << 30;
  table.BeginGroup("The ring");
  table.AddString("cluster_file", &s.cluster_file, "The round's peers, as the agent tells them to each process.")
      .Env({"MS_CLUSTER_FILE"})
      .Value("FILE");
  table
      .AddOptionalUint("rank", &s.rank, 0, kMaxWorkers,
                       "Which rank of the file's node this is; needed when it has several.")
      .Env({"RANK"})
      .Value("N");
  table.BeginGroup("The check");
  table.AddUint("bytes", &s.bytes, 4, kMaxBytes, "How much is summed up, a multiple of 4; the same at every rank.");
  table
      .AddUint("slow_factor", &s.slow_factor, 0, 1'000'000,
               "A link that is this many times slower than the median of its kind is wrong; 0: none is.")
      .Env({"MS_RING_SLOW_FACTOR"});
  table
      .AddSeconds("connect_timeout", &s.connect_timeout, absl::Milliseconds(300), absl::Hours(1),
                  "How long the neighbours may take to come.")
      .Env({"MS_RING_CONNECT_TIMEOUT"});
  table.AddSeconds("step_timeout", &s.step_timeout, absl::Milliseconds(100), absl::Hours(1),
                   "How long a neighbour may be silent where it has to say something.");
  table.AddSeconds("timeout", &s.timeout, absl::Milliseconds(100), absl::Hours(1),
                   "How long all of it may take once the neighbours have come.");
  table.AddBool("json", &s.json, "Print one JSON document, for scripts; every rank its own.");
  AddTls(table, &s.tls);
  return table;
}

}  // namespace muster::ring
