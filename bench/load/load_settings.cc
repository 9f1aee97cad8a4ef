#include "bench/load/load_settings.h"

namespace muster::bench {

SettingsTable LoadSettingsTable(LoadSettings& settings) {
  SettingsTable table(
      "muster_load", "muster_load [settings]",
      "Acts as many agents towards one server, takes one measurement, and prints it as one line of JSON.");
  table.BeginGroup("What is measured");
  table.AddChoice(
      "measure", &settings.measure, {"form", "heartbeat", "reconnect", "peer_list", "jax"},
      "form: until every agent holds its assignment; heartbeat: answers and the server's cost over --window, which "
      "begins with the line \"ready\"; reconnect: the server goes and comes back; peer_list: fetching the whole list; "
      "jax: a process of JAX starts in each slot.");
  table.AddString("target", &settings.target, "The server.").Value("HOST:PORT");
  table.AddChoice("subject", &settings.subject, {"muster", "floor"},
                  "What the server is; of muster the ranks are checked as well.");
  table.AddString("job_id", &settings.job_id, "The job that the agents join; a fresh one.").Value("ID");
  table.AddUint("agents", &settings.agents, 1, 1'000'000, "How many.").Value("N");
  table.AddUint("slots", &settings.slots, 1, 1024, "Slots of each.").Value("N");
  table.AddBool("progress", &settings.progress, "Each heartbeat carries the progress of each slot.");
  table.AddUint("server_pid", &settings.server_pid, 0, 1u << 30, "Whose processor time and memory to tell.")
      .Value("PID");
  table.AddBool("neighbours", &settings.neighbours, "peer_list: what an agent is told of its ring neighbours instead.");
  table
      .AddString("restart", &settings.restart,
                 "reconnect: kill --server_pid and run this command, which starts it again on the same port; without "
                 "it the line \"ready\" is printed and somebody else does.")
      .Value("COMMAND");
  table.AddSeconds("window", &settings.window, absl::Milliseconds(100), absl::Hours(24), "heartbeat: how long.")
      .Value("SECONDS");
  table
      .AddSeconds("interval", &settings.interval, absl::ZeroDuration(), absl::Hours(1),
                  "heartbeat: of each agent; 0: what the server tells.")
      .Value("SECONDS");
  table.BeginGroup("How");
  table.AddUint("threads", &settings.threads, 1, 64, "Completion queues of the agents, each with a thread.").Value("N");
  table.AddSeconds("limit", &settings.limit, absl::Seconds(1), absl::Hours(1), "For everybody to be in.")
      .Value("SECONDS");
  table
      .AddSeconds("patience", &settings.patience, absl::Seconds(1), absl::Hours(1),
                  "Of one dial: connect, handshake and welcome.")
      .Value("SECONDS");
  AddTls(table, &settings.tls);
  return table;
}

}  // namespace muster::bench
