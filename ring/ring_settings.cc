#include "ring/ring_settings.h"

#include "common/base/limits.h"

namespace muster::ring {

SettingsTable RingSettingsTable(RingSettings& s) {
  SettingsTable table(
      "ms-ring", "ms-ring [settings] [-- command [args]]",
      "Checks the links between the ranks of a round. All ranks run it at the same time: each connects "
      "to its neighbours, measures the links and takes part in a sum that is checked. It names the link "
      "that is wrong. If all is well, it runs the command.");
  constexpr uint32_t kMaxBytes = 1 << 30;
  table.BeginGroup("The ring");
  table
      .AddString("cluster_file", &s.cluster_file,
                 "File with the peers of the round, which the agent writes for each process.")
      .Env({"MS_CLUSTER_FILE"})
      .Value("FILE");
  table.AddOptionalUint("rank", &s.rank, 0, kMaxWorkers, "Rank of this process. Needed if the node has several ranks.")
      .Env({"RANK"})
      .Value("N");
  table.BeginGroup("The check");
  table.AddUint("bytes", &s.bytes, 4, kMaxBytes,
                "Number of bytes that are summed up: a multiple of 4, the same at every rank.");
  table
      .AddUint("slow_factor", &s.slow_factor, 0, 1'000'000,
               "A link that is this many times slower than the median of its kind is wrong. 0: none is.")
      .Env({"MS_RING_SLOW_FACTOR"});
  table
      .AddSeconds("connect_timeout", &s.connect_timeout, absl::Milliseconds(300), absl::Hours(1),
                  "Time that the neighbours have to connect.")
      .Env({"MS_RING_CONNECT_TIMEOUT"});
  table.AddSeconds("step_timeout", &s.step_timeout, absl::Milliseconds(100), absl::Hours(1),
                   "Time that a neighbour may be silent when its data is due.");
  table.AddSeconds("timeout", &s.timeout, absl::Milliseconds(100), absl::Hours(1),
                   "Time for the whole check once the neighbours have connected.");
  table.AddBool("json", &s.json, "Prints one JSON document, for scripts. Each rank prints its own.");
  AddTls(table, &s.tls);
  return table;
}

}  // namespace muster::ring
