// Trusts: requests that were worked out by hand from the manual pages of the calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/support/read_trace.hpp"

namespace mcsim {
namespace {

using namespace ::mcsim::testing;  // NOLINT(google-build-using-namespace)

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Op kRead = Op::kRead;
constexpr Op kWrite = Op::kWrite;
constexpr Op kDiscard = Op::kDiscard;

// Operation, path, offset and length.
using Row = std::tuple<Op, std::string, std::uint64_t, std::uint64_t>;

struct Log {
  std::vector<Row> rows;
  std::vector<std::string> notes;
  RowCounts counts;
};

Log read(const std::string& calls) {
  const TraceRead got = read_trace("strace", calls, {}, {.on_unsorted = OnUnsorted::kKeep});
  EXPECT_TRUE(got.status.ok()) << got.status;
  Log log{{}, got.notes, got.rows};
  for (std::size_t i = 0; i < got.requests.size(); ++i) {
    log.rows.emplace_back(static_cast<Op>(got.requests.op[i]), got.vms[got.requests.vm[i]],
                          got.requests.offset[i], got.requests.length[i]);
  }
  return log;
}

const std::string kOpened = "1.0 openat(AT_FDCWD, \"/a\", O_RDWR) = 3\n";
const std::string kBothOpened = kOpened + "1.0 openat(AT_FDCWD, \"/b\", O_RDWR) = 4\n";

TEST(StraceIoSubmit, HasARequestForEachAcceptedElement) {
  const Log log =
      read(kOpened +
           "1.1 io_submit(0x7f, 3, [{aio_data=0, aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3, "
           "aio_buf=0x7f, aio_nbytes=4096, aio_offset=8192}, {aio_data=0, aio_key=1, "
           "aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3</a>, aio_buf=\"}], aio_offset=7\", "
           "aio_nbytes=512, aio_offset=0}, {aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3, "
           "aio_nbytes=1, aio_offset=1}]) = 2\n"
           // As old versions print it.
           "1.2 io_submit(0x7f, 2, [{data=0, pread, fildes=3, buf=0x1, nbytes=8, offset=16}, "
           "{data=0, fsync, fildes=3}]) = 2\n"
           "1.3 io_submit(0x7f, 1, [{aio_lio_opcode=IOCB_CMD_PWRITEV, aio_fildes=3, "
           "aio_buf=[{iov_base=\"a\", iov_len=100}, {iov_base=0x7, iov_len=28}], aio_offset=64}]) "
           "= 1\n");
  EXPECT_THAT(log.rows, ElementsAre(Row{kRead, "/a", 8192, 4096}, Row{kWrite, "/a", 0, 512},
                                    Row{kRead, "/a", 16, 8}, Row{kWrite, "/a", 64, 128}));
  EXPECT_EQ(log.counts.flushes, 1);
  EXPECT_THAT(log.notes, IsEmpty());
}

TEST(StraceIoSubmit, ElementsThatWereNotPrintedAreLeftOut) {
  const Log log =
      read(kOpened +
           "1.1 pread64(3, \"\", 8, 0) = 8\n"
           "1.2 io_submit(0x7f, 40, [{aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3, "
           "aio_nbytes=8, aio_offset=8}, ...]) = 40\n"
           "1.3 io_submit(0x7f, 2, 0x7ffc) = 2\n"
           "1.4 io_submit(0x7f, 1, [{aio_lio_opcode=IOCB_CMD_PREADV, aio_fildes=3, "
           "aio_buf=[{iov_base=0x1, iov_len=8}, ...], aio_offset=8}]) = 1\n"
           "1.5 io_submit(0x7f, 1, [{aio_lio_opcode=IOCB_CMD_POLL, aio_fildes=3}]) = 1\n");
  EXPECT_THAT(log.rows, ElementsAre(Row{kRead, "/a", 0, 8}, Row{kRead, "/a", 8, 8}));
  EXPECT_THAT(log.notes,
              ElementsAre("42 calls with file I/O left out, for offset or length are not known: "
                          "42 io_submit"));
}

TEST(StraceCopies, ReadOneFileAndWriteTheOther) {
  const Log log = read(kBothOpened +
                       "1.1 copy_file_range(3, NULL, 4, NULL, 99999, 0) = 100\n"
                       "1.2 copy_file_range(3, [4096], 4, [8192], 50, 0) = 50\n"
                       "1.3 sendfile(4, 3, NULL, 30) = 30\n"
                       "1.4 sendfile(4, 3, [7] => [12], 5) = 5\n"
                       "1.5 sendfile64(9<socket:[3]>, 3, NULL, 20) = 20\n"
                       "1.6 splice(3, NULL, 8<pipe:[9]>, NULL, 11, 0) = 11\n"
                       "1.7 splice(8<pipe:[9]>, NULL, 4, [0], 11, 0) = 11\n"
                       "1.8 copy_file_range(3, NULL, 4, NULL, 99999, 0) = 0\n"
                       "1.9 read(3, \"\", 1) = 1\n2.0 write(4, \"\", 1) = 1\n");
  EXPECT_THAT(
      log.rows,
      ElementsAre(Row{kRead, "/a", 0, 100}, Row{kWrite, "/b", 0, 100}, Row{kRead, "/a", 4096, 50},
                  Row{kWrite, "/b", 8192, 50}, Row{kRead, "/a", 100, 30},
                  Row{kWrite, "/b", 100, 30}, Row{kRead, "/a", 7, 5}, Row{kWrite, "/b", 130, 5},
                  Row{kRead, "/a", 130, 20}, Row{kRead, "/a", 150, 11}, Row{kWrite, "/b", 0, 11},
                  Row{kRead, "/a", 161, 1}, Row{kWrite, "/b", 135, 1}));
  EXPECT_THAT(log.notes, IsEmpty());
}

TEST(StraceCopies, HalvesWithoutAFileOrAnOffsetAreLeftOut) {
  const Log log = read(kBothOpened +
                       "1.1 copy_file_range(3, 0x7ffd, 4, [0], 9, 0) = 9\n"
                       "1.2 sendfile(7</c>, 3, NULL, 9) = 9\n"
                       "1.3 splice(8, NULL, 4, [9], 9, 0) = 9\n");
  EXPECT_THAT(log.rows, ElementsAre(Row{kWrite, "/b", 0, 9}, Row{kRead, "/a", 0, 9},
                                    Row{kWrite, "/b", 9, 9}));
  EXPECT_THAT(log.notes,
              ElementsAre("3 calls with file I/O left out, for offset or length are not known: "
                          "1 copy_file_range, 1 sendfile, 1 splice"));
}

TEST(StraceAppends, AreLeftOutAndThePositionIsUnknownAfterThem) {
  for (const std::string& flags :
       {std::string("1.0 openat(AT_FDCWD, \"/a\", O_RDWR|O_APPEND) = 3\n"),
        kOpened + "1.0 fcntl(3, F_SETFL, O_RDWR|O_APPEND) = 0\n"}) {
    const Log log = read(flags +
                         "1.1 read(3, \"\", 5) = 5\n1.2 write(3, \"\", 9) = 9\n"
                         "1.3 lseek(3, 0, SEEK_SET) = 0\n1.4 read(3, \"\", 6) = 6\n"
                         "1.5 pwrite64(3, \"\", 9, 0) = 9\n1.6 read(3, \"\", 7) = 7\n");
    EXPECT_THAT(log.rows, ElementsAre(Row{kRead, "/a", 0, 5}, Row{kRead, "/a", 0, 6},
                                      Row{kRead, "/a", 6, 7}));
    EXPECT_THAT(log.notes,
                ElementsAre("2 calls with file I/O left out, for offset or length are not known: "
                            "1 pwrite64 with O_APPEND, 1 write with O_APPEND"));
  }
  // The flag is taken away again.
  EXPECT_THAT(read(kOpened + "1.0 fcntl(3, F_SETFL, O_RDWR|O_APPEND) = 0\n"
                             "1.0 fcntl(3, F_SETFL, O_RDWR) = 0\n1.1 write(3, \"\", 9) = 9\n")
                  .rows,
              ElementsAre(Row{kWrite, "/a", 0, 9}));
  EXPECT_THAT(read(kOpened + "1.1 pwritev2(3, [], 1, 4096, RWF_APPEND) = 9\n"
                             "1.2 pwritev2(3, [], 1, 4096, RWF_DSYNC) = 9\n")
                  .rows,
              ElementsAre(Row{kWrite, "/a", 4096, 9}));
}

TEST(StraceNotes, NameCallsWithUnknownRequests) {
  const Log log =
      read(kOpened +
           "1.1 pread64(3, \"\", 8, 0) = 8\n"
           "1.2 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000000000\n"
           "1.2 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000\n"
           "1.3 io_uring_enter(5, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1\n"
           "1.3 io_uring_enter(5, 2, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 2\n"
           "1.3 io_uring_enter(5, 0, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 0\n"
           "1.4 getpid() = 7\n1.5 fstat(3, {st_mode=S_IFREG}) = 0\n");
  EXPECT_EQ(log.rows.size(), 1U);
  EXPECT_THAT(log.notes,
              ElementsAre("3 calls with file I/O left out, for offset or length are not known: "
                          "2 io_uring_enter, 1 mmap"));
}

TEST(StraceRemovals, AreDiscardsUpToTheEndOfEarlierRequests) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const std::string written = kOpened + "1.1 pwrite64(3, \"\", 40960, 0) = 40960\n";
  const auto after = [&](const std::string& call) { return read(written + call + "\n").rows; };
  const Row write{kWrite, "/a", 0, 40960};
  EXPECT_THAT(after("1.2 ftruncate(3, 8192) = 0"),
              ElementsAre(write, Row{kDiscard, "/a", 8192, kMiB - 8192}));
  EXPECT_THAT(after("1.2 truncate(\"/a\", 1) = 0"),
              ElementsAre(write, Row{kDiscard, "/a", 1, kMiB - 1}));
  EXPECT_THAT(after("1.2 openat(AT_FDCWD, \"/a\", O_WRONLY|O_TRUNC) = 5"),
              ElementsAre(write, Row{kDiscard, "/a", 0, kMiB}));
  EXPECT_THAT(after("1.2 creat(\"/a\", 0644) = 5"),
              ElementsAre(write, Row{kDiscard, "/a", 0, kMiB}));
  EXPECT_THAT(after("1.2 fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 4096, 8192) = 0"),
              ElementsAre(write, Row{kDiscard, "/a", 4096, 8192}));
  EXPECT_THAT(after("1.2 fallocate(3, 0x3, 4096, 8192) = 0"),
              ElementsAre(write, Row{kDiscard, "/a", 4096, 8192}));
  EXPECT_THAT(after("1.2 fallocate(3, FALLOC_FL_ZERO_RANGE, 0, 9223372036854775807) = 0"),
              ElementsAre(write, Row{kDiscard, "/a", 0, kMiB}));
  // Nothing is removed: growth, another file, an error, a file that is truncated already.
  for (const char* call :
       {"1.2 fallocate(3, 0, 0, 99999) = 0", "1.2 ftruncate(3, 999999) = 0",
        "1.2 truncate(\"/b\", 0) = 0", "1.2 ftruncate(3, 0) = -1 EINVAL (Invalid argument)"}) {
    EXPECT_THAT(after(call), ElementsAre(write)) << call;
  }
  EXPECT_THAT(after("1.2 ftruncate(3, 0) = 0\n1.3 ftruncate(3, 0) = 0"),
              ElementsAre(write, Row{kDiscard, "/a", 0, kMiB}));
  // Bytes move, or the path may be that of a known file.
  EXPECT_THAT(read(written + "1.2 fallocate(3, FALLOC_FL_COLLAPSE_RANGE, 0, 4096) = 0\n"
                             "1.3 truncate(\"c\", 0) = 0\n")
                  .notes,
              ElementsAre("2 calls with file I/O left out, for offset or length are not known: "
                          "1 fallocate, 1 truncate"));
}

TEST(StraceRemovals, AreCutIntoPiecesOf2GiB) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  const Log log = read(kOpened +
                       "1.1 pwrite64(3, \"\", 4096, 5368709120) = 4096\n"
                       "1.2 ftruncate(3, 4096) = 0\n");
  EXPECT_THAT(log.rows, ElementsAre(Row{kWrite, "/a", 5 * kGiB, 4096},
                                    Row{kDiscard, "/a", 4096, 2 * kGiB - 4096},
                                    Row{kDiscard, "/a", 2 * kGiB, 2 * kGiB},
                                    Row{kDiscard, "/a", 4 * kGiB, kGiB + (1 << 20)}));
}

}  // namespace
}  // namespace mcsim
