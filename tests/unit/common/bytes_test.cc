#include "common/base/bytes.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

enum class Kind : uint8_t { kSome = 7 };

TEST(Bytes, NumbersHaveTheirWidthAndOrder) {
  EXPECT_EQ(LittleEndianWriter().Put(uint16_t{0x0102}).Put(uint8_t{3}).Take(), std::string("\2\1\3"));
  EXPECT_EQ(BigEndianWriter().Put(uint16_t{0x0102}).Put(Kind::kSome).Put(true).Take(), std::string("\1\2\7\1"));
  EXPECT_EQ(BigEndianWriter().Put(uint64_t{1}).Take(), std::string("\0\0\0\0\0\0\0\1", 8));
  EXPECT_EQ(LittleEndianWriter().Put(int32_t{-2}).Take(), std::string("\xfe\xff\xff\xff"));
}

template <typename Writer, typename Reader>
void ExpectThatAllComesBack() {
  Writer writer;
  writer.Put(uint8_t{255}).Put(uint16_t{65535}).Put(uint32_t{0xdeadbeef}).Put(~uint64_t{0}).Put(int64_t{-5}).Put(false);
  writer.template Text<uint8_t>("").template Text<uint16_t>("two").template Text<uint32_t>(std::string(300, 'x'));
  const std::string bytes = writer.Bytes("end").Take();
  Reader reader(bytes);
  EXPECT_EQ(reader.template Take<uint8_t>(), 255u);
  EXPECT_EQ(reader.template Take<uint16_t>(), 65535u);
  EXPECT_EQ(reader.template Take<uint32_t>(), 0xdeadbeef);
  EXPECT_EQ(reader.template Take<uint64_t>(), ~uint64_t{0});
  EXPECT_EQ(reader.template Take<int64_t>(), -5);
  EXPECT_FALSE(reader.template Take<bool>());
  EXPECT_EQ(reader.template Text<uint8_t>(), "");
  EXPECT_EQ(reader.template Text<uint16_t>(), "two");
  EXPECT_EQ(reader.template Text<uint32_t>().size(), 300u);
  EXPECT_FALSE(reader.IsDone());
  EXPECT_EQ(reader.rest(), "end");
  EXPECT_EQ(reader.Bytes(3), "end");
  EXPECT_TRUE(reader.IsDone());
  // Wherever the input is cut, the reader finds it incomplete and reads nothing after its end.
  for (size_t size = 0; size + 3 < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    Reader short_one(cut);
    short_one.Bytes(1 + 2 + 4);
    short_one.template Take<uint64_t>();
    short_one.template Take<int64_t>();
    short_one.template Take<bool>();
    short_one.template Text<uint8_t>();
    short_one.template Text<uint16_t>();
    short_one.template Text<uint32_t>();
    EXPECT_FALSE(short_one.is_good()) << size;
  }
}

TEST(Bytes, WhatIsWrittenComesBack) {
  ExpectThatAllComesBack<LittleEndianWriter, LittleEndianReader>();
  ExpectThatAllComesBack<BigEndianWriter, BigEndianReader>();
}

TEST(Bytes, ABadReaderStaysBad) {
  const std::string bytes = "\2ab";
  LittleEndianReader reader(bytes);
  EXPECT_EQ(reader.Take<uint32_t>(), 0u) << "there are three bytes";
  EXPECT_EQ(reader.Text<uint8_t>(), "");
  EXPECT_EQ(reader.Take<uint8_t>(), 0u);
  EXPECT_FALSE(reader.is_good());
  EXPECT_FALSE(reader.IsDone());
}

TEST(Bytes, TextsHaveALimit) {
  const std::string bytes = "\3abc";
  EXPECT_EQ(LittleEndianReader(bytes).Text<uint8_t>(3), "abc");
  LittleEndianReader reader(bytes);
  EXPECT_EQ(reader.Text<uint8_t>(2), "");
  EXPECT_FALSE(reader.is_good());
  const std::string huge("\xff\xff\xff\xff", 4);
  EXPECT_EQ(LittleEndianReader(huge).Text<uint32_t>(), "") << "its length is a claim";
}

TEST(Bytes, ABoolIsOneOfTwo) {
  const std::string bytes = "\2";
  LittleEndianReader reader(bytes);
  reader.Take<bool>();
  EXPECT_FALSE(reader.is_good());
}

TEST(Bytes, WhatItsLengthCannotTellIsCutOff) {
  const std::string bytes = LittleEndianWriter().Text<uint8_t>(std::string(300, 'x')).Take();
  EXPECT_EQ(bytes.size(), 256u);
  EXPECT_EQ(LittleEndianReader(bytes).Text<uint8_t>().size(), 255u);
}

TEST(Bytes, LengthsAreTakenOffTheFront) {
  EXPECT_EQ(LengthText(0x010203), std::string("\3\2\1\0", 4));
  const std::string bytes = LengthText(2) + "ab";
  std::string_view rest = bytes;
  EXPECT_EQ(TakeLength(rest), 2u);
  EXPECT_EQ(rest, "ab");
  EXPECT_EQ(TakeLength(rest), std::nullopt);
  EXPECT_EQ(rest, "ab");
}

}  // namespace
}  // namespace muster
