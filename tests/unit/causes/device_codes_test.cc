// The lines are real ones of NVIDIA's drivers, and hostile ones.
#include "common/causes/device_codes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/reason.h"

namespace muster {
namespace {

std::string Xid(int code) { return absl::StrCat("NVRM: Xid (PCI:0000:3b:00): ", code, ", pid=2, name=python, text"); }

TEST(ReasonByXid, CodesThatAskForAResetOrACheckMeanTheDevice) {
  for (const int code : {46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, 158}) {
    EXPECT_EQ(ReasonByXid(Xid(code)), reason::kDeviceFault) << code;
    EXPECT_EQ(MeaningOfXid(Xid(code)).find(absl::StrCat("Xid ", code, ": ")), 0) << code;
  }
}

TEST(ReasonByXid, CodesOfTheProgramAndReportsDoNot) {
  for (const int code : {0, 8, 13, 31, 32, 43, 45, 63, 69, 79000, 92, 94, 144, 150, 154, 156, 999}) {
    EXPECT_EQ(ReasonByXid(Xid(code)), "") << code;
    EXPECT_EQ(MeaningOfXid(Xid(code)), "") << code;
  }
}

TEST(ReasonByXid, OfANvSwitchOnlyIfTheDriverSaysThatItIsFatal) {
  const absl::string_view fatal = "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up";
  EXPECT_EQ(ReasonByXid(fatal), reason::kDeviceFault);
  EXPECT_EQ(MeaningOfXid(fatal), "SXid 20034: a fatal error of an NVSwitch");
  EXPECT_EQ(ReasonByXid("nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 22013, Non-fatal, Link 60 Minion Link DLREQ"), "");
  EXPECT_EQ(ReasonByXid("nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 22013, Severity 0 Engine instance 60"), "");
  EXPECT_EQ(ReasonByXid("nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 79, Non-fatal, Link 60"), "");
}

TEST(ReasonByXid, AnywhereInTheText) {
  EXPECT_EQ(ReasonByXid(absl::StrCat("Aug 30 11:43:09 node1 kernel: [ 12.5] ", Xid(79))), reason::kDeviceFault);
  EXPECT_EQ(ReasonByXid(absl::StrCat(Xid(45), "\n", Xid(79))), reason::kDeviceFault);
  EXPECT_EQ(MeaningOfXid(absl::StrCat(Xid(45), "\n", Xid(79), "\n", Xid(48))),
            "Xid 79: the GPU has fallen off the bus");
  EXPECT_EQ(ReasonByXid("NVRM: Xid (0000:01:00): 79, GPU has fallen off the bus"), reason::kDeviceFault);
  EXPECT_EQ(ReasonByXid("NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:02): 95, pid=2, Uncontained"), reason::kDeviceFault);
}

TEST(PciAddressOf, WithoutItsFunctionAndInLowerCase) {
  EXPECT_EQ(PciAddressOf(Xid(79)), "0000:3b:00");
  EXPECT_EQ(PciAddressOf(Xid(13)), "0000:3b:00");
  EXPECT_EQ(PciAddressOf(absl::StrCat(Xid(45), "\nNVRM: Xid (PCI:0000:5d:00): 79, text")), "0000:5d:00");
  EXPECT_EQ(PciAddressOf("NVRM: Xid (PCI:00FF:CB:00): 79, text"), "00ff:cb:00");
  EXPECT_EQ(PciAddressOf("NVRM: Xid (0000:01:00): 79, text"), "0000:01:00");
  EXPECT_EQ(PciAddressOf("NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 95, text"), "0000:3b:00");
  EXPECT_EQ(PciAddressOf("nvidia-nvswitch3: SXid (PCI:0000:C1:00.0): 20034, Fatal, Link 1"), "0000:c1:00");
}

TEST(IsOfNvSwitch, OnlyTheLinesOfItsDriver) {
  EXPECT_TRUE(IsOfNvSwitch("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 1"));
  EXPECT_FALSE(IsOfNvSwitch(Xid(79)));
  EXPECT_FALSE(IsOfNvSwitch(""));
}

TEST(DeviceCodes, AnotherTextIsNoReport) {
  const std::string long_place(100, 'a');
  const std::string many_digits(1000, '7');
  for (const std::string& text : {
           std::string(),
           std::string("Xid"),
           std::string("NVRM: Xid ("),
           std::string("NVRM: Xid (PCI:"),
           std::string("NVRM: Xid (PCI:0000:3b:00"),
           std::string("NVRM: Xid (PCI:0000:3b:00)"),
           std::string("NVRM: Xid (PCI:0000:3b:00): "),
           std::string("NVRM: Xid (PCI:0000:3b:00): 79"),
           std::string("NVRM: Xid (PCI:0000:3b:00): , text"),
           std::string("NVRM: Xid (PCI:0000:3b:00): -79, text"),
           std::string("NVRM: Xid (PCI:0000:3b:00): 79 text"),
           std::string("NVRM: Xid (PCI:0000:3b:00):79, text"),
           std::string("NVRM: Xid (43, pid: 5678): text"),
           std::string("Xid (PCI:0000:3b:00): 79, text"),  // another program's text
           std::string("SXid ("),
           absl::StrCat("NVRM: Xid (PCI:", long_place, "): 79, text"),
           absl::StrCat("NVRM: Xid (PCI:0000:3b:00): ", many_digits, ", text"),
           absl::StrCat("NVRM: Xid (PCI:0000:3b:00): 79", std::string(1, '\0'), ", text"),
       }) {
    EXPECT_EQ(ReasonByXid(text), "") << text;
    EXPECT_EQ(MeaningOfXid(text), "") << text;
    EXPECT_EQ(PciAddressOf(text), std::nullopt) << text;
    EXPECT_FALSE(IsOfNvSwitch(text)) << text;
  }
}

TEST(PciAddressOf, NoneIfThePlaceIsNoAddress) {
  for (const absl::string_view place : {"", "PCI:", "PCI:0000", "PCI:::", "PCI:0000:3b:", "PCI:0000:3g:00", ".", " "}) {
    const std::string line = absl::StrCat("NVRM: Xid (", place, "): 79, text");
    EXPECT_EQ(PciAddressOf(line), std::nullopt) << line;
    EXPECT_EQ(ReasonByXid(line), reason::kDeviceFault) << line;  // the code says enough
  }
}

TEST(DeviceCodes, LongTextsTakeNoLongTime) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "NVRM: Xid (NVRM: Xid (PCI:0000:3b:00): 13, ";
  EXPECT_EQ(ReasonByXid(text), "");
  EXPECT_EQ(ReasonByXid(text + Xid(79)), reason::kDeviceFault);
}

}  // namespace
}  // namespace muster
