// The full-screen view of `watch`: all jobs, one job with its nodes, one node. Pure: replies and keys in, a picture
// out.
//
//   arrows, page keys   move           /   filters the list: what is typed must stand in a line
//   Enter               opens          s   sorts the list by something else
//   Esc                 goes back      q   ends
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/admin.pb.h"

namespace muster::ctl {

// ---- keys.cc: decodes the bytes that a terminal sends for keys.

enum class Key { kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape, kBackspace, kText };

struct KeyPress {
  Key key = Key::kText;
  std::string text = {};  // of kText: one character, in UTF-8
};

// Takes the keys from the front of `bytes`. `is_all`: nothing more came for a moment, so that a single escape character
// is the key Esc; else it may begin a sequence, and stays. Skips unknown sequences.
std::vector<KeyPress> TakeKeys(std::string& bytes, bool is_all);

// ---- live_view.cc

class LiveView {
 public:
  static constexpr size_t kMaxEvents = 500;  // of the open job

  // `where`: the scheduler, as the user named it.
  LiveView(std::string where, absl::TimeZone zone) : where_(std::move(where)), zone_(zone) {}

  void Take(v1::StatusReply status) { status_ = std::move(status); }
  void Take(v1::NodesReply nodes) { nodes_ = std::move(nodes); }
  void Take(const v1::EventsReply& events);  // those after events_seen()
  // The reason why the picture may be old; empty: it is not.
  void SetProblem(std::string problem) { problem_ = std::move(problem); }

  // Returns false if the user wants to quit.
  bool Press(const KeyPress& press);
  // Shows this job at once.
  void OpenJob(const std::string& job_id, uint64_t run);

  // The job whose nodes and events are shown; empty: none.
  const std::string& job_id() const { return job_id_; }
  uint64_t run() const { return run_; }
  uint64_t events_seen() const { return events_seen_; }

  // Returns what to write to a terminal of that size. It writes or clears every line, so that the terminal's state does
  // not matter.
  std::string Draw(size_t columns, size_t rows);

 private:
  enum class Level { kJobs, kJob, kNode };
  struct Line {
    std::string key;  // of the thing that it shows
    std::string text;
  };
  struct List {
    std::string titles;
    std::vector<Line> lines;
  };
  const v1::RunStatus* OpenRun() const;
  List Jobs() const;
  List Nodes() const;
  List Filtered(List list) const;
  List Shown() const;
  std::vector<std::string> Above() const;
  std::vector<std::string> Events(size_t most, const std::string& of_node) const;
  void Move(int by);
  void Open();
  bool Back();
  std::string HelpLine() const;

  const std::string where_;
  const absl::TimeZone zone_;
  v1::StatusReply status_;
  v1::NodesReply nodes_;
  std::deque<v1::JobEvent> events_;
  uint64_t events_seen_ = 0;
  std::string problem_;
  Level level_ = Level::kJobs;
  std::string job_id_, node_id_;
  uint64_t run_ = 0;
  std::string chosen_[2];  // the key of the chosen line, of each list
  std::string filter_[2];
  int sort_[2] = {0, 0};
  bool is_typing_ = false;  // the filter
  size_t page_ = 1;         // list lines that fitted into the last picture
};

}  // namespace muster::ctl
