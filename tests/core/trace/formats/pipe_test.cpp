// Trusts: the pipes of the kernel, into which lines and records are written bit by bit while the
// other end is open, so that a reader that waits for more would never return.
#include "core/trace/formats/pipe.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "tests/support/compress.hpp"

namespace mcsim {
namespace {

// Both ends of a pipe; the reading one goes to a TracePipe.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close(); }

  TracePipe reading() { return *TracePipe::open(ends_[0], "stdin"); }
  void write(std::string_view bytes) {
    ASSERT_EQ(::write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void close() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

 private:
  std::array<int, 2> ends_{};
};

std::unique_ptr<RequestReader> keys_of(TracePipe& pipe, std::string format = "keys") {
  ReadOptions options;
  options.format = std::move(format);
  return *pipe.read(options);
}

TEST(TracePipe, ALineCountsBeforeTheNextOneComes) {
  Pipe pipe;
  pipe.write("apple\nbanana\nche");
  auto opened = pipe.reading();
  const auto reader = keys_of(opened);
  Requests chunk;
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 2);
  pipe.write("rry\n");
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 1);
  pipe.close();
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 0);
}

TEST(TracePipe, ARecordCountsBeforeTheNextOneComes) {
  Pipe pipe;
  std::string records;
  for (int i = 0; i < 1000; ++i) records += std::string("\x01\0\0\0\0\0\0", 7) + char(i);
  pipe.write(records);
  auto opened = pipe.reading();
  const auto reader = keys_of(opened, "keys-u64-be");
  Requests chunk;
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 1000);
  pipe.write("12345678123");
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 1);
  pipe.close();
  EXPECT_EQ(message_of(reader->next(chunk)),
            "stdin: record 1002: 3 of 8 bytes: the file is cut short");
}

TEST(TracePipe, TheFormatIsDetectedByWhatCameIfNoMoreComes) {
  Pipe pipe;
  pipe.write("time_s,offset,length\n1,0,4096\n2,4096,4096\n3,0,4096\n4,0,4096\n");
  auto opened = pipe.reading();
  EXPECT_EQ(opened.detect_format()->name, "csv");
  const auto reader = keys_of(opened, "csv");
  Requests chunk;
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 4);
}

TEST(TracePipe, RequestsBeforeAnErrorAreReturned) {
  Pipe pipe;
  pipe.write("time_s,offset,length\n1,0,4096\n2,4096,40x\n");
  pipe.close();
  auto opened = pipe.reading();
  const auto reader = keys_of(opened, "csv");
  Requests chunk;
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(message_of(reader->next(chunk)).starts_with("stdin:3: ")) << i;
    EXPECT_EQ(chunk.size(), 0);
  }
}

TEST(TracePipe, TextKeysTakeNoMemory) {
  Pipe pipe;
  pipe.write("apple\nbanana\napple\n");
  pipe.close();
  auto opened = pipe.reading();
  const auto reader = keys_of(opened);
  Requests chunk;
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.offset[0], chunk.offset[2]);
  EXPECT_NE(chunk.offset[0], chunk.offset[1]);
  EXPECT_EQ(reader->keys().size(), 0);
}

TEST(TracePipe, CompressedBytesAreRead) {
  Pipe pipe;
  pipe.write(compress(Codec::kZstd, "apple\nbanana\n"));
  pipe.close();
  auto opened = pipe.reading();
  const auto reader = keys_of(opened);
  Requests chunk;
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 2);
}

TEST(TracePipe, AnEmptyPipeHasNoFormat) {
  Pipe pipe;
  pipe.close();
  auto opened = pipe.reading();
  EXPECT_EQ(message_of(opened.detect_format().status()), "stdin: the file is empty");
}

}  // namespace
}  // namespace mcsim
