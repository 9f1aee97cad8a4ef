// The lines with which NVIDIA's drivers report a fault of a device in the kernel's log. A program that shows the log
// repeats them in its output. Pure.
//
//   NVRM: Xid (PCI:0000:3b:00): 79, pid=2, name=python, GPU has fallen off the bus.
//   nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 48 LTSSM Fault Up
//
// A program can print any text, so these functions trust nothing in it. Of several such lines, the first one about a
// fault counts; if there is none, the first line.
//
// Format: NVIDIA/open-gpu-kernel-modules, src/nvidia/src/kernel/gpu/rc/kernel_rc.c and
// src/common/nvswitch/kernel/inc/error_nvswitch.h.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Returns reason::kDeviceFault if the text has a line about a fault of a device; otherwise empty. Takes time in
// proportion to the text's length.
absl::string_view ReasonByXid(absl::string_view text);

// Returns what that line means: "Xid 79: the GPU has fallen off the bus". Empty if ReasonByXid is empty.
std::string MeaningOfXid(absl::string_view text);

// Returns the PCI address of the device that the line names, without the function and in lower case: "0000:3b:00".
// nullopt if there is no such line, or if it has no address.
std::optional<std::string> PciAddressOf(absl::string_view text);

// True if the line is about an NVSwitch, which several GPUs use.
bool IsOfNvSwitch(absl::string_view text);

}  // namespace muster
