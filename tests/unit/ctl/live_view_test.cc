#include "ctl/watch/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace muster::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Named(const std::vector<KeyPress>& keys) {
  const char* const names[] = {"up", "down", "pageup", "pagedown", "home", "end", "enter", "esc", "back"};
  std::string out;
  for (const KeyPress& press : keys) {
    out += press.key == Key::kText ? press.text : names[static_cast<int>(press.key)];
    out += " ";
  }
  return out;
}

TEST(TakeKeys, KnowsWhatTerminalsSend) {
  std::string bytes = "\x1b[A\x1b[B\x1bOA\x1b[5~\x1b[6~\x1b[H\x1b[1~\x1b[F\x1b[4~\r\n\x7f\bq/\xc3\xa4\x1b";
  EXPECT_EQ(Named(TakeKeys(bytes, false)),
            "up down up pageup pagedown home home end end enter enter back back q / \xc3\xa4 ");
  EXPECT_EQ(bytes, "\x1b") << "it may be the beginning of a sequence";
  EXPECT_EQ(Named(TakeKeys(bytes, true)), "esc ");
  EXPECT_EQ(bytes, "");
}

TEST(TakeKeys, WaitsForTheRestAndSkipsWhatItDoesNotKnow) {
  std::string bytes = "\x1b[";
  EXPECT_EQ(Named(TakeKeys(bytes, false)), "");
  bytes += "1;5C\x1b[99~s\x01\xc3";
  EXPECT_EQ(Named(TakeKeys(bytes, false)), "s ");
  EXPECT_EQ(bytes, "\xc3");
  bytes = "\x1b[" + std::string(1000, '1');
  TakeKeys(bytes, false);
  EXPECT_EQ(Named(TakeKeys(bytes, true)).find("esc"), std::string::npos);
  bytes = "\x1bq";
  EXPECT_EQ(Named(TakeKeys(bytes, false)), "esc q ");
}

// The lines of a picture; the selected one begins with ">".
std::vector<std::string> Lines(const std::string& picture) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(
           absl::StrReplaceAll(picture, {{"\x1b[H", ""}, {"\x1b[7m", ">"}, {"\x1b[0m", ""}, {"\r", ""}}), '\n')) {
    EXPECT_THAT(std::string(line), StartsWith("\x1b[2K"));
    lines.emplace_back(line.substr(4));
    EXPECT_EQ(lines.back().find('\x1b'), std::string::npos) << lines.back();
  }
  return lines;
}

class LiveViewTest : public testing::Test {
 protected:
  LiveViewTest() {
    v1::StatusReply status;
    for (const auto& [job, phase] :
         {std::pair("calm", v1::RUN_PHASE_RUNNING), std::pair("bad", v1::RUN_PHASE_RECOVERING),
          std::pair("done", v1::RUN_PHASE_SUCCEEDED)}) {
      v1::RunStatus& run = *status.add_runs();
      run.set_job_id(job);
      run.set_run(1);
      run.set_phase(phase);
      run.set_age_ms(5000);
    }
    view_.Take(status);
    v1::NodesReply nodes;
    for (const auto& [id, state] :
         {std::pair("n1", "connected"), std::pair("n2", "lost"), std::pair("n3", "connected")}) {
      v1::NodeStatus& node = *nodes.add_nodes();
      node.set_node_id(id);
      node.set_state(state);
      node.set_host_name("host\x1b[2J");
    }
    nodes_ = nodes;
  }
  void Press(const std::string& keys) {
    std::string bytes = keys;
    for (const KeyPress& press : TakeKeys(bytes, true)) EXPECT_TRUE(view_.Press(press));
  }
  std::vector<std::string> Draw(size_t columns = 100, size_t rows = 24) { return Lines(view_.Draw(columns, rows)); }
  std::string Text() { return absl::StrJoin(Draw(), "\n"); }
  // The first words of the lines in the list.
  std::vector<std::string> Listed() {
    std::vector<std::string> words;
    bool is_list = false;
    for (const std::string& line : Draw()) {
      if (is_list && line.empty()) break;
      if (is_list) words.emplace_back(line.substr(0, line.find(' ')));
      is_list |= line.starts_with("JOB ") || line.starts_with("NODE ");
    }
    return words;
  }

  LiveView view_{"node1:8118", absl::UTCTimeZone()};
  v1::NodesReply nodes_;
};

TEST_F(LiveViewTest, ShowsWhatNeedsSomebodyFirst) {
  EXPECT_THAT(Listed(), ElementsAre(">bad", "calm", "done"));
  Press("s");
  EXPECT_THAT(Text(), HasSubstr("s sort: name"));
  Press("\x1b[B");
  EXPECT_THAT(Listed(), ElementsAre("bad", ">calm", "done"));
  Press("\x1b[B\x1b[B\x1b[B");
  EXPECT_THAT(Listed(), ElementsAre("bad", "calm", ">done"));
}

TEST_F(LiveViewTest, OpensAJobThenANodeAndGoesBack) {
  Press("\x1b[B\r");
  EXPECT_EQ(view_.job_id(), "calm");
  EXPECT_EQ(view_.run(), 1u);
  view_.Take(nodes_);
  EXPECT_THAT(Draw()[0], StartsWith("job calm, run 1: running"));
  EXPECT_THAT(Listed(), ElementsAre(">n2", "n1", "n3"));
  v1::EventsReply events;
  for (int i = 1; i <= 9; ++i) {
    v1::JobEvent& event = *events.add_events();
    event.set_number(static_cast<uint64_t>(i));
    event.set_run(i == 9 ? 2 : 1);
    event.set_text(i == 8 ? "node n3 is lost" : "something \x1b[2J");
  }
  view_.Take(events);
  EXPECT_EQ(view_.events_seen(), 9u);
  EXPECT_THAT(Text(), HasSubstr("node n3 is lost"));
  Press("\x1b[F\r");
  EXPECT_THAT(Draw()[1], StartsWith("node n3: connected"));
  EXPECT_THAT(Text(), HasSubstr("node n3 is lost"));
  EXPECT_THAT(Text(), Not(HasSubstr("something")));
  EXPECT_THAT(Text(), HasSubstr("host\\x1b[2J"));
  view_.Take(v1::NodesReply());
  EXPECT_THAT(Text(), HasSubstr("no longer listed"));
  Press("\x1b");
  EXPECT_EQ(view_.job_id(), "calm");
  Press("\x1b");
  EXPECT_EQ(view_.job_id(), "");
  EXPECT_THAT(Listed(), ElementsAre("bad", ">calm", "done"));
  EXPECT_FALSE(view_.Press({Key::kText, "q"}));
}

TEST_F(LiveViewTest, FiltersByWhatIsTyped) {
  Press("/CAq");
  EXPECT_THAT(Text(), HasSubstr("/CAq_"));
  EXPECT_THAT(Listed(), ElementsAre());
  Press("\x7f");
  EXPECT_THAT(Listed(), ElementsAre(">calm"));
  Press("\r");
  EXPECT_EQ(view_.job_id(), "") << "Enter ends the typing only";
  Press("\r");
  EXPECT_EQ(view_.job_id(), "calm");
  Press("\x1b");
  Press("\x1b");
  EXPECT_THAT(Listed(), ElementsAre("bad", ">calm", "done")) << "Esc takes the filter back";
}

TEST_F(LiveViewTest, FitsEverySize) {
  Press("\r");
  view_.Take(nodes_);
  view_.SetProblem("no answer\x1b[2J");
  for (const size_t columns : {1, 7, 80, 300}) {
    for (const size_t rows : {1, 2, 5, 24, 100}) {
      const std::vector<std::string> lines = Draw(columns, rows);
      EXPECT_EQ(lines.size(), std::max<size_t>(2, rows));
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns + 1) << line;  // ">"
    }
  }
  EXPECT_THAT(Text(), HasSubstr("! no answer\\x1b[2J"));
  view_.Take(v1::StatusReply());
  EXPECT_THAT(Draw()[0], HasSubstr("no longer known"));
}

TEST_F(LiveViewTest, ScrollsWithTheChosenLine) {
  for (int i = 0; i < 100; ++i) nodes_.add_nodes()->set_node_id(absl::StrCat("m", 100 + i));
  Press("\r");
  view_.Take(nodes_);
  Press("\x1b[F");
  EXPECT_EQ(Listed().back(), ">m199");
  Press("\x1b[5~");
  EXPECT_THAT(Text(), HasSubstr(">m1"));
  Press("\x1b[H");
  EXPECT_EQ(Listed().front(), ">n2");
  nodes_.Clear();
  view_.Take(nodes_);
  Press("\x1b[B\r");
  EXPECT_EQ(view_.job_id(), "bad") << "there is nothing to be opened";
}

}  // namespace
}  // namespace muster::ctl
