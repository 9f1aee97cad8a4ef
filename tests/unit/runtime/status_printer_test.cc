#include "worker_agent/runtime/status_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

Say Progress(const std::string& text) { return {Severity::kInfo, text, true}; }

std::string ReadAll(std::FILE* file) {
  std::rewind(file);
  char buffer[4096];
  return std::string(buffer, std::fread(buffer, 1, sizeof(buffer), file));
}

TEST(StatusPrinter, LogsProgressAtGrowingIntervals) {
  StatusPrinter status_printer(nullptr);
  testing::internal::CaptureStderr();
  MonotonicTime now;
  for (int second = 0; second < 600; second += 2) {
    status_printer.Print(Progress("at " + std::to_string(second) + " s"), now + absl::Seconds(second));
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
  for (const char* expected : {": at 6 s", ": at 16 s", ": at 46 s", ": at 106 s", ": at 226 s", ": at 526 s"}) {
    EXPECT_THAT(text, HasSubstr(expected));
  }
}

TEST(StatusPrinter, AJobThatFormsAtOnceLogsNoProgress) {
  StatusPrinter status_printer(nullptr);
  testing::internal::CaptureStderr();
  MonotonicTime now;
  status_printer.Print(Progress("1 of 2"), now);
  status_printer.Print(Progress("1 of 2"), now + absl::Seconds(4));
  status_printer.Print({Severity::kInfo, "round 1"}, now + absl::Seconds(5));
  status_printer.Print(Progress("again"), now + absl::Seconds(6));  // starts the interval again
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, HasSubstr("round 1"));
}

TEST(StatusPrinter, RewritesProgressOnATerminalAndClearsItBeforeALine) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  testing::internal::CaptureStderr();
  {
    StatusPrinter status_printer(file);
    status_printer.Print(Progress("1 of 2\x1b[2J"), MonotonicTime());
    status_printer.Print(Progress(std::string(300, 'x')), MonotonicTime());
    status_printer.Print({Severity::kInfo, "round 1"}, MonotonicTime());
  }
  testing::internal::GetCapturedStderr();
  // A peer's text can't control the terminal, and a text longer than a line is cut.
  EXPECT_EQ(ReadAll(file), "\r\033[K1 of 2\\x1b[2J\r\033[K" + std::string(79, 'x') + "\r\033[K");
  std::fclose(file);
}

}  // namespace
}  // namespace muster::agent
