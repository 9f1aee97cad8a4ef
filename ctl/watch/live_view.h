// The full-screen view of `ms-ctl watch`. It shows all jobs, one job with its nodes, or one node. Pure: it gets replies
// of the scheduler and keys, and returns the text to draw.
//
//   arrows, page keys   move           /   filters the list: shows only lines that contain the typed text
//   Enter               opens          s   changes the order of the list
//   Esc                 goes back      q   quits
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
  std::string text = {};  // with kText: one character, in UTF-8
};

// Removes the keys from the front of `bytes` and returns them. An escape character may be the key Esc, or begin the
// sequence of another key. `is_all`: no more bytes have come for a moment, so the escape character is the key Esc.
// Otherwise an incomplete sequence stays in `bytes`. Skips unknown sequences.
std::vector<KeyPress> TakeKeys(std::string& bytes, bool is_all);

// ---- live_view.cc

class LiveView {
 public:
  static constexpr size_t kMaxEvents = 500;  // events of the open job that are kept

  // `where`: the scheduler's host and port, for the title.
  LiveView(std::string where, absl::TimeZone zone) : where_(std::move(where)), zone_(zone) {}

  // Take new replies of the scheduler. `events`: the events of the open job after events_seen().
  void Take(v1::StatusReply status) { status_ = std::move(status); }
  void Take(v1::NodesReply nodes) { nodes_ = std::move(nodes); }
  void Take(const v1::EventsReply& events);
  // Sets the reason why the view may be out of date, which it shows; empty: it is up to date.
  void SetProblem(std::string problem) { problem_ = std::move(problem); }

  // Handles a key. Returns false if the user wants to quit.
  bool Press(const KeyPress& press);
  // Opens this job, as if the user had chosen it.
  void OpenJob(const std::string& job_id, uint64_t run);

  // The job that is open, with its nodes and events; empty: none.
  const std::string& job_id() const { return job_id_; }
  uint64_t run() const { return run_; }
  uint64_t events_seen() const { return events_seen_; }

  // Returns the text to write to a terminal of this size. It writes or clears every line, so it does not matter what
  // the terminal shows before.
  std::string Draw(size_t columns, size_t rows);

 private:
  enum class Level { kJobs, kJob, kNode };
  struct Line {
    std::string key;   // identifies the job's run or the node that the line shows
    std::string text;  // the line itself
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
  std::vector<std::string> Events(size_t most, size_t columns, const std::string& of_node) const;
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
  // For each of the two lists (jobs, nodes): the key of the chosen line, the filter and the order.
  std::string chosen_[2];
  std::string filter_[2];
  int sort_[2] = {0, 0};
  bool is_typing_ = false;  // the user types a filter
  size_t page_ = 1;         // how many lines of the list were shown last
};

}  // namespace muster::ctl
