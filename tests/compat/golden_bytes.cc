// What is put into a field, so that no two are alike:
//
// | field   | value                                                           |
// |---------|-----------------------------------------------------------------|
// | number  | 1000 and its field number; a signed one is negative             |
// | bool    | true                                                            |
// | enum    | the last value that it knows                                    |
// | text    | "text" and its field number; bytes begin with 0 and 255         |
// | message | the same for its fields, three deep                             |
// | list    | two of it                                                       |
#include "tests/compat/golden_bytes.h"

#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/net/datagram.h"
#include "google/protobuf/descriptor.pb.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/journal.pb.h"
#include "muster/v1/rendezvous.pb.h"
#include "muster/v1/store.pb.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/session/farewell.h"

namespace muster::compat {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::OneofDescriptor;

constexpr int kDeepest = 3;

void Fill(Message& message, int depth, int member);

void SetField(Message& message, const FieldDescriptor* field, int depth) {
  const auto* reflection = message.GetReflection();
  const int times = field->is_repeated() ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const int number = 1000 + field->number() + 100 * i;
    const auto set = [&](auto add, auto set_once, auto value) {
      if (field->is_repeated()) {
        (reflection->*add)(&message, field, value);
      } else {
        (reflection->*set_once)(&message, field, value);
      }
    };
    using R = google::protobuf::Reflection;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        set(&R::AddInt32, &R::SetInt32, -number);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        set(&R::AddInt64, &R::SetInt64, int64_t{-number});
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        set(&R::AddUInt32, &R::SetUInt32, static_cast<uint32_t>(number));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        set(&R::AddUInt64, &R::SetUInt64, static_cast<uint64_t>(number));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        set(&R::AddDouble, &R::SetDouble, number / 4.0);
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        set(&R::AddFloat, &R::SetFloat, static_cast<float>(number) / 4.0F);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        set(&R::AddBool, &R::SetBool, true);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        set(&R::AddEnumValue, &R::SetEnumValue,
            field->enum_type()->value(field->enum_type()->value_count() - 1)->number());
        break;
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string head = field->type() == FieldDescriptor::TYPE_BYTES ? std::string("\0\xff", 2) : "text ";
        const std::string value = absl::StrCat(head, number - 1000);
        if (field->is_repeated()) {
          reflection->AddString(&message, field, value);
        } else {
          reflection->SetString(&message, field, value);
        }
        break;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Fill(field->is_repeated() ? *reflection->AddMessage(&message, field)
                                  : *reflection->MutableMessage(&message, field),
             depth + 1, 0);
        break;
    }
  }
}

// `member`: which one of each oneof, as far as it has so many.
void Fill(Message& message, int depth, int member) {
  if (depth > kDeepest) return;
  const Descriptor* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const OneofDescriptor* oneof = field->real_containing_oneof();
    if (oneof != nullptr && oneof->field(std::min(member, oneof->field_count() - 1)) != field) continue;
    SetField(message, field, depth);
  }
}

int MostMembers(const Descriptor* descriptor) {
  int most = 1;
  for (int i = 0; i < descriptor->real_oneof_decl_count(); ++i) {
    most = std::max(most, descriptor->oneof_decl(i)->field_count());
  }
  return most;
}

void AddMessage(const Descriptor* descriptor, std::vector<Golden>& all) {
  if (descriptor->options().map_entry()) return;
  for (int member = 0; member < MostMembers(descriptor); ++member) {
    const std::unique_ptr<Message> message(MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
    Fill(*message, 0, member);
    all.push_back({descriptor->full_name(), message->SerializeAsString(), message->ShortDebugString()});
  }
  for (int i = 0; i < descriptor->nested_type_count(); ++i) AddMessage(descriptor->nested_type(i), all);
}

// Those that others use come first.
std::vector<const FileDescriptor*> Files() {
  return {v1::NodeInfo::descriptor()->file(), v1::StoredValue::descriptor()->file(), v1::Join::descriptor()->file(),
          v1::JobEvent::descriptor()->file(), v1::Record::descriptor()->file()};
}

template <size_t kSize>
std::string AsText(const std::array<char, kSize>& bytes) {
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

std::vector<Golden> AllMessages() {
  std::vector<Golden> all;
  for (const FileDescriptor* file : Files()) {
    for (int i = 0; i < file->message_type_count(); ++i) AddMessage(file->message_type(i), all);
  }
  return all;
}

std::string Schema() {
  google::protobuf::FileDescriptorSet schema;
  for (const FileDescriptor* file : Files()) file->CopyTo(schema.add_file());
  return schema.SerializeAsString();
}

std::vector<Golden> AllDatagrams() {
  const HeartbeatDatagram heartbeat{0x1122334455667788, 0x99, 30'000};
  const AnswerDatagram answer{0x1122334455667788, 0x9a, 0x1234567890, 45'000, 5'000};
  std::vector<Golden> all;
  DatagramSeal seal;
  for (const bool is_secret : {false, true}) {
    const DatagramKey key = *DatagramKey::FromBytes(kDatagramKey, is_secret);
    const std::string with = is_secret ? " secret" : " plain";
    all.push_back({"heartbeat" + with, seal.Seal(heartbeat, key),
                   absl::StrCat(heartbeat.stream, " ", heartbeat.heartbeat_seq, " ", heartbeat.armed_fence_ms)});
    all.push_back({"answer" + with, AsText(seal.Seal(answer, key)),
                   absl::StrCat(answer.stream, " ", answer.heartbeat_seq, " ", answer.events_through, " ",
                                answer.fence_timeout_ms, " ", answer.heartbeat_interval_ms)});
  }
  return all;
}

std::vector<Golden> FarewellWords() {
  v1::LastReportRequest farewell;
  Fill(farewell, 0, 0);
  std::vector<std::string> words =
      agent::FarewellArguments("ms-worker", "127.0.0.1", 1, /*requires_tls=*/false, farewell);
  for (std::string& word : words) word = absl::CEscape(word);
  return {{"farewell", farewell.SerializeAsString(), absl::StrJoin(words, " ")}};
}

void WriteGolden(const std::string& path, const std::vector<Golden>& goldens) {
  std::ofstream file(path);
  for (const Golden& golden : goldens) {
    file << golden.name << "\n  " << absl::BytesToHexString(golden.bytes) << "\n  " << golden.text << "\n";
  }
  file.flush();
  MUSTER_CHECK(file.good(), "a golden file is written");
}

std::vector<Golden> ReadGolden(const std::string& path) {
  std::ifstream file(path);
  MUSTER_CHECK(file.good(), "a golden file is there");
  std::vector<Golden> goldens;
  Golden golden;
  std::string hex;
  while (std::getline(file, golden.name) && std::getline(file, hex) && std::getline(file, golden.text)) {
    golden.bytes = absl::HexStringToBytes(hex.substr(2));
    golden.text = golden.text.substr(2);
    goldens.push_back(golden);
  }
  return goldens;
}

}  // namespace muster::compat
