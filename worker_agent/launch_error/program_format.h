// What a file is that the kernel refuses to execute. The functions that take a head (the first bytes of a file) are
// pure and take any bytes.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

inline constexpr size_t kHeadBytes = 4096;

// The first bytes of a file, without waiting for a pipe; empty if it can't be read.
std::string ReadHead(const std::string& path);

// What stands behind #! in the first line, without its line end; empty if there is none.
std::string InterpreterLine(std::string_view head);

// Whether a shell would run it as a script: its first line is text. An empty file is one.
bool IsText(std::string_view head);

// The loader that an ELF program names (PT_INTERP); empty: none, or it is not in the head.
std::string LoaderOf(std::string_view head);

// Why it can't be executed here: "it is a program for aarch64, and this machine is x86_64". `machine`: as uname has it.
std::string FormatInWords(std::string_view head, const std::string& machine);

// The same for a file of this machine.
std::string FormatOfFile(const std::string& path);

}  // namespace muster::agent
