#include "worker_agent/devices/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

// A machine with these files in /dev.
Devices Machine(const std::vector<std::string>& files, const Variables& environment = {}) {
  const TemporaryFolder folder;
  for (const std::string& file : files) folder.Write(file, "");
  return FindDevices(folder.path(), environment);
}

Devices EightNpus(const Variables& environment = {}) {
  return Machine({"davinci0", "davinci1", "davinci2", "davinci3", "davinci4", "davinci5", "davinci6", "davinci7",
                  "davinci_manager"},
                 environment);
}

TEST(NamedDevices, AreNumbersInTheirOrder) {
  EXPECT_THAT(NamedDevices("4-6,0,4"), ElementsAre(4, 5, 6, 0));
  EXPECT_THAT(NamedDevices("auto"), IsEmpty());
  EXPECT_THAT(NamedDevices("none"), IsEmpty());
  EXPECT_THAT(NamedDevices(""), IsEmpty());
}

TEST(ChooseDevices, WithoutTheSettingTheyAreLeftAlone) {
  const auto choice = ChooseDevices({"", 1}, EightNpus());
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(choice->devices, IsEmpty());
  EXPECT_THAT(choice->notice, HasSubstr("8 Ascend devices found, 1 used"));
  EXPECT_EQ(ChooseDevices({"", 8}, EightNpus())->notice, "");
  EXPECT_EQ(ChooseDevices({"", 1, true}, EightNpus())->notice, "") << "one process may well use them all";
  EXPECT_EQ(ChooseDevices({"none", 1}, EightNpus())->notice, "");
  EXPECT_EQ(ChooseDevices({"", 4}, Machine({}))->notice, "");
}

TEST(ChooseDevices, AutoTakesTheFirst) {
  const auto choice = ChooseDevices({"auto", 2}, EightNpus());
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->kind, "Ascend");
  EXPECT_THAT(NumbersOf(*choice), ElementsAre(0, 1));
  EXPECT_THAT(choice->notice, HasSubstr("8 Ascend devices found, 2 used"));
  EXPECT_FALSE(choice->are_named);
}

TEST(ChooseDevices, AutoFindsWhatIsVisible) {
  const auto choice = ChooseDevices({"auto", 2}, EightNpus({{"ASCEND_RT_VISIBLE_DEVICES", "6,4"}}));
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(NumbersOf(*choice), ElementsAre(6, 4));
  EXPECT_EQ(choice->notice, "");
  const auto words = WordsFor(*choice, 1, true);
  EXPECT_EQ(words.list, "6,4");
  EXPECT_EQ(words.device_id, "1");
  EXPECT_EQ(WordsFor(*choice, 1, false).device_id, "1") << "the inherited list holds";
}

TEST(ChooseDevices, WhatCannotBeGivenIsNamed) {
  const auto missing = ChooseDevices({"6-8", 1}, EightNpus());
  EXPECT_THAT(std::string(missing.status().message()), AllOf(HasSubstr("no device 8"), HasSubstr("0,1,2,3,4,5,6,7")));
  const auto hidden = ChooseDevices({"0", 1}, EightNpus({{"ASCEND_RT_VISIBLE_DEVICES", "4-7"}}));
  EXPECT_THAT(std::string(hidden.status().message()), AllOf(HasSubstr("no device 0"), HasSubstr("ASCEND_RT_VISIBLE")));
  const auto few = ChooseDevices({"0-1", 4}, EightNpus());
  EXPECT_THAT(std::string(few.status().message()), AllOf(HasSubstr("2 named"), HasSubstr("4 processes")));
  const auto too_many = ChooseDevices({"auto", 9}, EightNpus());
  EXPECT_THAT(std::string(too_many.status().message()), AllOf(HasSubstr("8 Ascend devices"), HasSubstr("9 processes")));
  const auto uuid = ChooseDevices({"auto", 1}, Machine({"nvidia0"}, {{"CUDA_VISIBLE_DEVICES", "GPU-8932f937"}}));
  EXPECT_THAT(std::string(uuid.status().message()), HasSubstr("CUDA_VISIBLE_DEVICES"));
  EXPECT_FALSE(ChooseDevices({"0", 1}, Machine({})).ok());
}

TEST(ChooseDevices, AutoOnACpuSaysSo) {
  const auto choice = ChooseDevices({"auto", 4}, Machine({}));
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(choice->devices, IsEmpty());
  EXPECT_THAT(choice->notice, HasSubstr("no devices found"));
}

TEST(ChooseDevices, AutoProcessesWithoutADeviceSaySo) {
  const Devices hidden = Machine({"nvidia0"}, {{"CUDA_VISIBLE_DEVICES", ""}});
  for (const char* devices : {"", "auto", "none"}) {
    for (const Devices& found : {Machine({}), hidden}) {
      const auto choice = ChooseDevices({devices, 1, false, true}, found);
      ASSERT_TRUE(choice.ok()) << choice.status();
      EXPECT_THAT(choice->notice, AllOf(HasSubstr("no Ascend or NVIDIA device"), HasSubstr("--local_worker_num 8")))
          << devices;
    }
  }
  EXPECT_EQ(ChooseDevices({"", 8, false, true}, EightNpus())->notice, "");
  EXPECT_FALSE(ChooseDevices({"0", 1, false, true}, Machine({})).ok()) << "a list counts the processes";
}

TEST(ChooseDevices, NvidiaCountsThoseThatAreThere) {
  const auto choice = ChooseDevices({"2-3", 2}, Machine({"nvidia2", "nvidia3", "nvidiactl"}));
  ASSERT_TRUE(choice.ok()) << choice.status();
  const auto words = WordsFor(*choice, 0, true);
  EXPECT_EQ(words.variable, "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(words.list, "0,1");
}

TEST(WordsFor, AProcessOpensItsPlaceInTheList) {
  const auto choice = ChooseDevices({"4-7", 4}, EightNpus());
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_TRUE(choice->are_named);
  const auto words = WordsFor(*choice, 3, true);
  EXPECT_EQ(words.variable, "ASCEND_RT_VISIBLE_DEVICES");
  EXPECT_EQ(words.list, "4,5,6,7");
  EXPECT_EQ(words.device_id, "3");
}

TEST(WordsFor, BesideAnotherAgentItOpensTheDeviceItself) {
  const auto choice = ChooseDevices({"4-7", 4}, EightNpus());
  const auto words = WordsFor(*choice, 3, false);
  EXPECT_EQ(words.variable, "");
  EXPECT_EQ(words.device_id, "7");
  EXPECT_EQ(WordsFor(*choice, 4, true).device_id, "") << "no such slot";
}

}  // namespace
}  // namespace muster::agent
