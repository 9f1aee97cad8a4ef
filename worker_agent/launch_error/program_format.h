// The kind of a file that the kernel refuses to execute. The functions that take a head (the first bytes of a file) are
// pure and take any bytes.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

inline constexpr size_t kHeadBytes = 4096;

// Returns the first bytes of a file, without waiting for a pipe; empty if it can't be read.
std::string ReadHead(const std::string& path);

// Returns the text after #! in the first line, without its line end; empty if there is none.
std::string InterpreterLine(std::string_view head);

// True if a shell would run it as a script: its first line is text. An empty file is one.
bool IsText(std::string_view head);

// Returns the loader that an ELF program names (PT_INTERP); empty: none, or it is not in the head.
std::string LoaderOf(std::string_view head);

// Returns why it can't be executed here: "it is a program for aarch64, and this machine is x86_64". `machine`: as uname
// has it.
std::string FormatInWords(std::string_view head, const std::string& machine);

// Returns the same for a file of this machine.
std::string FormatOfFile(const std::string& path);

}  // namespace muster::agent
