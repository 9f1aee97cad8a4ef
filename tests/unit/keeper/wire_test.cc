#include "worker_agent/keeper/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace muster::agent {
namespace {

ProcessSpec FullSpec() {
  ProcessSpec spec;
  spec.key = {7, 3, 2};
  spec.argv = {"python", "", std::string("a\0b", 3)};
  spec.env = {"A=1", "B=ü"};
  spec.working_directory = "/w";
  spec.log_path = "/l";
  spec.passes_output = true;
  spec.prefix = "[rank 7] ";
  spec.inherits_stdin = true;
  spec.cpus = {0, -1, 2147483647};
  spec.error_file = "/e";
  spec.device_logs = "/d";
  return spec;
}

template <typename T>
T CommandRoundTrip(const T& command) {
  auto decoded = DecodeCommand(Encode(KeeperCommand(command)));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return std::get<T>(*decoded);
}

TEST(Wire, StartKeepsEveryField) {
  const StartCommand start = CommandRoundTrip(StartCommand{FullSpec()});
  const ProcessSpec wanted = FullSpec();
  EXPECT_EQ(start.spec.key, wanted.key);
  EXPECT_EQ(start.spec.argv, wanted.argv);
  EXPECT_EQ(start.spec.env, wanted.env);
  EXPECT_EQ(start.spec.working_directory, wanted.working_directory);
  EXPECT_EQ(start.spec.log_path, wanted.log_path);
  EXPECT_EQ(start.spec.passes_output, wanted.passes_output);
  EXPECT_EQ(start.spec.prefix, wanted.prefix);
  EXPECT_EQ(start.spec.inherits_stdin, wanted.inherits_stdin);
  EXPECT_EQ(start.spec.cpus, wanted.cpus);
  EXPECT_EQ(start.spec.error_file, wanted.error_file);
  EXPECT_EQ(start.spec.device_logs, wanted.device_logs);
}

TEST(Wire, OtherCommands) {
  EXPECT_EQ(CommandRoundTrip(StopCommand{{1, 2, 3}}).key, (ProcessKey{1, 2, 3}));
  EXPECT_EQ(CommandRoundTrip(ForwardCommand{-10}).signal, -10);
  const MonotonicTime at = MonotonicTime::FromNanoseconds(int64_t{1} << 60);
  EXPECT_EQ(CommandRoundTrip(SetFenceCommand{.at = at}).at, at);
  EXPECT_TRUE(CommandRoundTrip(SetFenceCommand{}).at.is_never());
  EXPECT_EQ(CommandRoundTrip(SetFenceCommand{MonotonicTime::Never(), 4, at}).fence_falls_seen, 4u);
  EXPECT_EQ(CommandRoundTrip(SetFenceCommand{MonotonicTime::Never(), 4, at}).counted_from, at);

  EXPECT_EQ(CommandRoundTrip(LastReportCommand{{"a"}, {"B=c"}}).env, std::vector<std::string>{"B=c"});
  EXPECT_EQ(CommandRoundTrip(LastReportCommand{{"a"}, {}, {"FD", nullptr}}).hand_over.variable, "FD");
  const OutputWish wish = CommandRoundTrip(ReadOutputCommand{{5, 6, 7, 8, {7, 2, 1}, 9}}).wish;
  EXPECT_EQ(wish.known, (ProcessKey{7, 2, 1}));
  EXPECT_EQ(wish.after, 9u);
  CommandRoundTrip(HoldLockCommand{});
  CommandRoundTrip(StopAllCommand{});
  CommandRoundTrip(StopAllCommand{10'000});
  CommandRoundTrip(KillAllCommand{});
  CommandRoundTrip(EndCommand{});
  CommandRoundTrip(PingCommand{});
  const RunFolder folder = CommandRoundTrip(BeginRunCommand{{"/logs", "j", "1-20261125T015200.000Z", 7}}).folder;
  EXPECT_EQ(folder.path(), "/logs/j/1-20261125T015200.000Z");
  EXPECT_EQ(folder.keep, 7u);
  EXPECT_EQ(CommandRoundTrip(WriteFileCommand{"/w", "text"}).content, "text");
}

TEST(Wire, FileRequests) {
  auto open = DecodeFileRequest(Encode(FileRequest(OpenLogRequest{7, "/l"})));
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(std::get<OpenLogRequest>(*open).log, 7u);
  EXPECT_EQ(std::get<OpenLogRequest>(*open).path, "/l");
  auto append = DecodeFileRequest(Encode(FileRequest(AppendRequest{7, std::string("a\0b", 3)})));
  ASSERT_TRUE(append.ok()) << append.status();
  EXPECT_EQ(std::get<AppendRequest>(*append).bytes, std::string("a\0b", 3));
  EXPECT_FALSE(DecodeFileRequest(std::string(1, static_cast<char>(std::variant_size_v<FileRequest>))).ok());
}

TEST(Wire, EndedKeepsEveryField) {
  Ended ended{{1, 2, 3},
              {{7, 11, true},
               true,
               "boom",
               {"x", "", "y"},
               "not found",
               {true, 512, 511},
               "/l",
               "bad_path",
               "fix it",
               {"KeyError", "'lr'", "train.py", 7, true}},
              MonotonicTime::FromNanoseconds(-5)};
  auto decoded = DecodeEvent(Encode(KeeperEvent(ended)));
  ASSERT_TRUE(decoded.ok());
  const auto& copy = std::get<Ended>(*decoded);
  EXPECT_EQ(copy.key, ended.key);
  EXPECT_EQ(copy.end.exit.code, 7);
  EXPECT_EQ(copy.end.exit.signal, 11);
  EXPECT_TRUE(copy.end.exit.core_dumped);
  EXPECT_TRUE(copy.end.was_stopped);
  EXPECT_EQ(copy.end.error_message, "boom");
  EXPECT_EQ(copy.end.last_lines, ended.end.last_lines);
  EXPECT_EQ(copy.end.launch_error, "not found");
  EXPECT_EQ(copy.end.log_file, "/l");
  EXPECT_EQ(copy.end.launch_reason, "bad_path");
  EXPECT_EQ(copy.end.launch_remedy, "fix it");
  EXPECT_EQ(copy.end.exception.type, "KeyError");
  EXPECT_EQ(copy.end.exception.message, "'lr'");
  EXPECT_EQ(copy.end.exception.file, "train.py");
  EXPECT_EQ(copy.end.exception.line, 7u);
  EXPECT_TRUE(copy.end.exception.is_native);
  EXPECT_TRUE(copy.end.memory.was_short);
  EXPECT_EQ(copy.end.memory.limit_bytes, 512u);
  EXPECT_EQ(copy.end.memory.peak_bytes, 511u);
  EXPECT_EQ(copy.ended_at, ended.ended_at);
}

TEST(Wire, EveryCutIsAnError) {
  const std::string whole = Encode(KeeperCommand(StartCommand{FullSpec()}));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeCommand(whole.substr(0, size)).ok()) << size << " of " << whole.size() << " bytes";
  }
  EXPECT_FALSE(DecodeCommand(whole + '\0').ok());
}

TEST(Wire, UnknownKindIsAnError) {
  EXPECT_FALSE(DecodeCommand("\xff").ok());
  EXPECT_FALSE(DecodeEvent(std::string(1, static_cast<char>(std::variant_size_v<KeeperEvent>))).ok());
}

TEST(Wire, HugeLengthsReserveNothing) {
  // One last-report command has an argv that claims 2^32 - 1 entries. The other one has a single entry that claims 2^32
  // - 1 bytes.
  const std::string kind = Encode(KeeperCommand(LastReportCommand{})).substr(0, 1);
  EXPECT_FALSE(DecodeCommand(kind + "\xff\xff\xff\xff").ok());
  EXPECT_FALSE(DecodeCommand(kind + std::string("\1\0\0\0\xff\xff\xff\xff", 8)).ok());
}

TEST(Wire, BoolsAreZeroOrOne) {
  std::string ended = Encode(KeeperEvent(Ended{{1, 2, 3}, {{0, 9, true}, false, "", {}, "", {}, ""}, MonotonicTime()}));
  const size_t core_dumped = ended.find(std::string("\t\0\0\0\1", 5)) + 4;  // after signal 9
  ASSERT_LT(core_dumped, ended.size());
  ended[core_dumped] = 2;
  EXPECT_FALSE(DecodeEvent(ended).ok());
}

}  // namespace
}  // namespace muster::agent
