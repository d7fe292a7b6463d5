// Trusts: the compressors of Boost.Iostreams, and that what they wrote, read back
// whole, is what was given to them; that a file cut anywhere is not whole.
#include "core/trace/reading/decompress.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "core/base/random.hpp"
#include "tests/support/compress.hpp"

namespace mcsim {
namespace {

// Reads everything in pieces of an awkward size.
absl::StatusOr<std::string> read_all(ByteSource& source) {
  std::string all;
  std::string piece(777, '\0');
  while (true) {
    MCSIM_ASSIGN_OR_RETURN(const std::size_t got, source.read(piece));
    all.append(piece, 0, got);
    if (got < piece.size()) return all;
  }
}

absl::StatusOr<std::string> decompress(std::string bytes) {
  MCSIM_ASSIGN_OR_RETURN(const auto source, open_bytes(std::move(bytes), "t"));
  return read_all(*source);
}

std::string text_of(int lines, std::uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int i = 0; i < lines; ++i) text += std::to_string(random.below(1'000'000'000)) + "\n";
  return text;
}

class Decompress : public testing::TestWithParam<Codec> {};

TEST_P(Decompress, TheCodecIsToldByTheFirstBytes) {
  EXPECT_EQ(codec_of(compress(GetParam(), "text")), GetParam());
}

TEST_P(Decompress, WhatWasCompressedComesBack) {
  for (const int lines : {0, 1, 500}) {
    const std::string text = text_of(lines, 1);
    const auto back = decompress(compress(GetParam(), text));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, text) << lines;
  }
}

TEST_P(Decompress, FilesPutTogetherAreReadWhole) {
  const std::string first = text_of(1'000, 1);
  const std::string second = text_of(3'000, 2);
  const auto back = decompress(compress(GetParam(), first) + compress(GetParam(), second) +
                               compress(GetParam(), "") + compress(GetParam(), first));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, first + second + first);
}

TEST_P(Decompress, AFileCutAnywhereSaysSo) {
  const std::string whole = compress(GetParam(), text_of(200, 1));
  constexpr std::size_t kLongestMagic = 6;
  for (std::size_t size = kLongestMagic; size < whole.size(); ++size) {
    const auto back = decompress(whole.substr(0, size));
    ASSERT_FALSE(back.ok()) << "cut to " << size << " of " << whole.size();
    ASSERT_EQ(back.status().code(), absl::StatusCode::kDataLoss);
    ASSERT_NE(message_of(back.status()).find("data is damaged or cut short"), std::string::npos);
  }
}

// Larger, compressed, than any buffer on the way.
TEST_P(Decompress, ALargeFileComesBackOrSaysThatItWasCut) {
  const std::string text = text_of(70'000, 1);
  const std::string whole = compress(GetParam(), text);
  ASSERT_GT(whole.size(), 256U * 1024);
  const auto back = decompress(whole);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, text);
  for (const std::size_t missing : {std::size_t{1}, whole.size() / 2}) {
    EXPECT_FALSE(decompress(whole.substr(0, whole.size() - missing)).ok()) << missing;
  }
}

TEST_P(Decompress, TheLastOfSeveralCutSaysSo) {
  const std::string one = compress(GetParam(), text_of(200, 1));
  EXPECT_FALSE(decompress(one + one.substr(0, one.size() - 3)).ok());
}

TEST_P(Decompress, AFlippedBitNeverCrashes) {
  const std::string text = text_of(200, 1);
  const std::string whole = compress(GetParam(), text);
  // Boost's zstd writes no checksum; the others notice every change of the text.
  const bool has_checksum = GetParam() != Codec::kZstd;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    if (codec_of(flipped) != GetParam()) continue;
    const auto back = decompress(flipped);
    if (has_checksum && back.ok()) {
      ASSERT_EQ(*back, text) << "byte " << i;
    }
  }
}

std::string name_of(const testing::TestParamInfo<Codec>& codec) {
  static constexpr std::array kNames{"None", "Gzip", "Zstd", "Xz", "Bzip2"};
  return kNames[static_cast<std::size_t>(codec.param)];
}

INSTANTIATE_TEST_SUITE_P(Codecs, Decompress,
                         testing::Values(Codec::kGzip, Codec::kZstd, Codec::kXz, Codec::kBzip2),
                         name_of);

TEST_P(Decompress, AFileCutWithinItsMagicNumberSaysSo) {
  const std::string whole = compress(GetParam(), "text");
  const std::size_t magic = GetParam() == Codec::kXz ? 6 : GetParam() == Codec::kZstd ? 4 : 2;
  for (std::size_t size = 2; size <= magic; ++size) {
    const auto back = decompress(whole.substr(0, size));
    ASSERT_NE(message_of(back.status()).find("data is damaged or cut short"), std::string::npos)
        << size;
  }
}

// What takes more memory than a decoder may have is whole, and says what to do.
TEST(Files, WindowsThatAreTooLargeAreNamed) {
  using namespace std::string_literals;
  const std::string zstd = "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"s;  // 2 GiB, and nothing in it
  EXPECT_EQ(message_of(decompress(zstd).status()),
            "t: decompressing the zstd data takes a window of more than 128 MiB; compress it "
            "without --long");
  const std::string xz =  // a dictionary of 1 GiB, and "1\n"
      "\xfd\x37\x7a\x58\x5a\x00\x00\x00\xff\x12\xd9\x41\x02\x00\x21\x01"
      "\x24\x00\x00\x00\x5e\x1f\xc7\xf9\x01\x00\x01\x31\x0a\x00\x00\x00"
      "\x00\x01\x12\x02\xd4\xa4\x7c\xb6\x06\x72\x9e\x7a\x01\x00\x00\x00"
      "\x00\x00\x59\x5a"s;
  EXPECT_EQ(message_of(decompress(xz).status()),
            "t: decompressing the xz data takes more than 100 MiB; compress it with xz -9 at most");
}

TEST(Files, PlainBytesAreTakenAsTheyAre) {
  for (const std::string text : {"", "1", "abcdefgh", "abcdefghi"}) {
    EXPECT_EQ(*decompress(text), text);
  }
  EXPECT_EQ(*decompress(text_of(10'000, 3)), text_of(10'000, 3));
}

TEST(Files, ConsumedCountsTheFilesOwnBytes) {
  const std::string bytes = compress(Codec::kGzip, text_of(1'000, 1));
  const auto source = *open_bytes(bytes, "t");
  EXPECT_LE(source->consumed(), 8U);
  ASSERT_TRUE(read_all(*source).ok());
  EXPECT_EQ(source->consumed(), bytes.size());

  const auto plain = *open_bytes(std::string(100, 'x'), "t");
  std::string piece(10, '\0');
  ASSERT_TRUE(plain->read(piece).ok());
  EXPECT_EQ(plain->consumed(), 10U);
}

TEST(Files, FilesThatCannotBeOpenedAreNamed) {
  const auto missing = open_file("/nowhere/web_0.csv");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(message_of(missing.status()), "/nowhere/web_0.csv: no such file");
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(message_of(open_file(folder).status()),
            folder + ": is a directory, expected a trace file");
}

TEST(Files, FilesAreReadFromDisk) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("mcsim_decompress_test_" + std::to_string(::getpid()));
  const std::string text = text_of(5'000, 4);
  std::ofstream(path, std::ios::binary) << compress(Codec::kZstd, text);
  const auto source = open_file(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(*read_all(**source), text);
}

}  // namespace
}  // namespace mcsim
