// What earlier versions have said is understood: each folder here is a released version (README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/unknown_field_set.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/core.h"
#include "tests/compat/golden_bytes.h"
#include "worker_agent/session/farewell.h"

namespace muster::compat {
namespace {

namespace fs = std::filesystem;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::vector<std::string> Versions() {
  std::vector<std::string> versions;
  for (const auto& entry : fs::directory_iterator(MUSTER_COMPAT)) {
    if (entry.is_directory()) versions.push_back(entry.path().filename().string());
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

bool HasUnknown(const Message& message) {
  const auto* reflection = message.GetReflection();
  if (!reflection->GetUnknownFields(message).empty()) return true;
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated() && HasUnknown(reflection->GetMessage(message, field))) return true;
    for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i) {
      if (HasUnknown(reflection->GetRepeatedMessage(message, field, i))) return true;
    }
  }
  return false;
}

// What a program of that version reads in the bytes of a message of today's.
class OldReader {
 public:
  explicit OldReader(const std::string& schema_path) {
    std::ifstream file(schema_path, std::ios::binary);
    google::protobuf::FileDescriptorSet schema;
    EXPECT_TRUE(schema.ParseFromIstream(&file)) << schema_path;
    for (const auto& proto : schema.file()) EXPECT_NE(pool_.BuildFile(proto), nullptr) << proto.name();
  }

  std::string Text(const Message& message) {
    const auto* descriptor = pool_.FindMessageTypeByName(message.GetDescriptor()->full_name());
    EXPECT_NE(descriptor, nullptr);
    const std::unique_ptr<Message> read(factory_.GetPrototype(descriptor)->New());
    EXPECT_TRUE(read->ParseFromString(message.SerializeAsString()));
    read->DiscardUnknownFields();
    return read->DebugString();
  }

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_{&pool_};
};

// The words and kinds of events may change: 0.2.0 has kinds of its own for planned stops.
v1::Snapshot WithoutWords(v1::Snapshot snapshot) {
  for (v1::JobEvent& event : *snapshot.mutable_events()) {
    event.clear_text();
    event.clear_kind();
  }
  return snapshot;
}

class Compat : public ::testing::TestWithParam<std::string> {
 protected:
  std::string Path(const std::string& name) const { return std::string(MUSTER_COMPAT) + "/" + GetParam() + "/" + name; }
};

// No field and no value of an enumeration has got another number, type, name or place.
TEST_P(Compat, EachMessageIsReadAsItWasMeant) {
  const std::vector<Golden> goldens = ReadGolden(Path("messages.txt"));
  EXPECT_GT(goldens.size(), 100U);
  for (const Golden& golden : goldens) {
    const auto* descriptor = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(golden.name);
    ASSERT_NE(descriptor, nullptr) << golden.name;
    const std::unique_ptr<Message> message(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
    ASSERT_TRUE(message->ParseFromString(golden.bytes)) << golden.name;
    EXPECT_FALSE(HasUnknown(*message)) << golden.name;
    EXPECT_EQ(message->ShortDebugString(), golden.text);
  }
}

TEST_P(Compat, DatagramsAreTheSame) {
  const std::vector<Golden> goldens = ReadGolden(Path("datagrams.txt"));
  const std::vector<Golden> now = AllDatagrams();
  ASSERT_EQ(goldens.size(), now.size());
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_EQ(goldens[i].name, now[i].name);
    EXPECT_EQ(goldens[i].bytes, now[i].bytes) << now[i].name;
    EXPECT_EQ(goldens[i].text, now[i].text);
  }
}

// An agent that was started before an update has its keeper start the new program.
TEST_P(Compat, FarewellsAreStartedWithTheSameWords) {
  for (const Golden& golden : ReadGolden(Path("farewell.txt"))) {
    v1::LastReportRequest farewell;
    ASSERT_TRUE(farewell.ParseFromString(golden.bytes));
    EXPECT_EQ(absl::StrJoin(agent::FarewellArguments("ms-worker", "127.0.0.1", 1, false, farewell), " "), golden.text);
  }
}

// A scheduler of today knows what that one knew, and goes on from there.
TEST_P(Compat, JournalsAreReplayed) {
  OldReader old_reader(Path("schema.binpb"));
  size_t journals = 0;
  for (const auto& entry : fs::directory_iterator(Path("journals"))) {
    SCOPED_TRACE(entry.path().filename().string());
    ++journals;
    scheduler::Core core(scheduler::CoreOptions(), "another-cluster");
    v1::Record known;
    for (const Golden& golden : ReadGolden(entry.path().string())) {
      v1::Record record;
      ASSERT_TRUE(record.ParseFromString(golden.bytes));
      if (golden.name == "record") {
        core.Recover(record);
      } else {
        known = record;
      }
    }
    ASSERT_TRUE(known.has_snapshot());
    ASSERT_TRUE(core.CheckRecovered().ok()) << core.CheckRecovered();
    const std::string then = old_reader.Text(WithoutWords(known.snapshot()));
    EXPECT_EQ(old_reader.Text(WithoutWords(core.TakeSnapshot().snapshot())), then);
    scheduler::Core from_snapshot(scheduler::CoreOptions(), "another-cluster");
    from_snapshot.Recover(known);
    EXPECT_EQ(old_reader.Text(WithoutWords(from_snapshot.TakeSnapshot().snapshot())), then);

    Now now{MonotonicTime::FromNanoseconds(5'000'000'000), WallTime{1'700'000'000'000}};
    core.Start(now);
    for (int i = 0; i < 1000 && core.NextDeadline() != MonotonicTime::Never(); ++i) {
      const absl::Duration step = std::max(core.NextDeadline() - now.monotonic, absl::ZeroDuration());
      now.monotonic = now.monotonic + step;
      now.wall.unix_ms += absl::ToInt64Milliseconds(step);
      core.Apply(scheduler::Tick{}, now);
      core.CheckInvariants();
    }
  }
  EXPECT_GT(journals, 50U);
}

INSTANTIATE_TEST_SUITE_P(Of, Compat, ::testing::ValuesIn(Versions()), [](const auto& info) {
  std::string name = "V" + info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace muster::compat
