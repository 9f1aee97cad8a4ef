// What a version says, as bytes, in files that outlive it: see README.md.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace muster::compat {

// A line of a file: what it is, its bytes, and the same for people.
struct Golden {
  std::string name;
  std::string bytes;
  std::string text;
};

// Every message of Muster's protocols and records with every field set; one with a oneof once for each of its members.
std::vector<Golden> AllMessages();

// The protocols and records themselves: a FileDescriptorSet.
std::string Schema();

// Sealed heartbeats and answers. Their key is kDatagramKey, secret and not.
std::vector<Golden> AllDatagrams();
inline constexpr char kDatagramKey[] = "0123456789abcdef0123456789abcdef";

// The words with which a keeper starts the program that says farewell: the program on disk may be a newer one by then.
// (What agent and keeper say to each other stays within one program.)
std::vector<Golden> FarewellWords();

// A file of them, and back. Aborts if it can't be read or written.
void WriteGolden(const std::string& path, const std::vector<Golden>& goldens);
std::vector<Golden> ReadGolden(const std::string& path);

}  // namespace muster::compat
