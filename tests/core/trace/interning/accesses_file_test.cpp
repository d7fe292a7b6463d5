// Trusts: accesses in memory, which access_builder_test holds to their definition; and of files
// that nobody vouches for the list of what replays rely on.
#include "core/trace/interning/accesses_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/checksum.hpp"
#include "core/base/random.hpp"
#include "core/trace/interning/access_builder.hpp"
#include "core/trace/interning/accesses_layout.hpp"
#include "tests/support/accesses_bytes.hpp"

namespace mcsim {
namespace {

using ::testing::HasSubstr;

// A folder that is gone afterwards.
class AccessesFile : public ::testing::Test {
 protected:
  AccessesFile() {
    std::string name = (std::filesystem::temp_directory_path() / "mcsim_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~AccessesFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "trace.accesses") const {
    return (folder_ / name).string();
  }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  std::filesystem::path folder_;
};

Requests random_requests(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  Requests requests;
  Nanoseconds time = -50;
  for (std::size_t i = 0; i < count; ++i) {
    time += static_cast<Nanoseconds>(random.below(3) * kSecond / 3);
    requests.push(time, 0, random.below(4) == 0 ? Op::kWrite : Op::kRead, random.below(1 << 20),
                  static_cast<std::uint32_t>(random.below(20'000)),
                  i % 7 == 6 ? -1 : static_cast<Nanoseconds>(i * 1'001),
                  static_cast<std::uint8_t>(i * i % kMostClasses));
  }
  return requests;
}

// Interns three VMs: the second has a warm-up, the third arrives late and departs.
absl::StatusOr<Accesses> build(AccessBuilder builder, std::size_t requests) {
  for (const std::uint64_t vm : {1U, 2U, 3U}) {
    MCSIM_RETURN_IF_ERROR(builder.begin_vm("vm" + std::to_string(vm)));
    if (vm == 2) {
      Requests before;
      before.push(-70, 0, Op::kRead, 0, 5000, 17, 3);
      before.push(-60, 0, Op::kWrite, 4096, 5000, -1, 6);
      MCSIM_RETURN_IF_ERROR(builder.add(before.view()));
      builder.end_warm_up();
    }
    const Requests rows = random_requests(vm, vm == 3 ? (requests + 1) / 2 : requests);
    if (vm == 3) MCSIM_RETURN_IF_ERROR(builder.arrive(rows.time.front()));
    MCSIM_RETURN_IF_ERROR(builder.add(rows.view()));
    if (vm == 3) MCSIM_RETURN_IF_ERROR(builder.depart(rows.time.back() + 7));
  }
  return std::move(builder).finish();
}

template <class T>
std::vector<T> all(const SharedArray<T>& column) {
  return column.copy();
}

void expect_same(const Accesses& a, const Accesses& b) {
  EXPECT_EQ(all(a.ids), all(b.ids));
  EXPECT_EQ(all(a.request_begin), all(b.request_begin));
  EXPECT_EQ(all(a.request_time), all(b.request_time));
  EXPECT_EQ(all(a.request_vm), all(b.request_vm));
  EXPECT_EQ(all(a.request_op), all(b.request_op));
  EXPECT_EQ(a.keeps_responses, b.keeps_responses);
  EXPECT_EQ(all(a.request_response), all(b.request_response));
  EXPECT_EQ(a.keeps_classes, b.keeps_classes);
  EXPECT_EQ(all(a.request_class), all(b.request_class));
  EXPECT_EQ(a.keeps_bytes, b.keeps_bytes);
  EXPECT_EQ(all(a.request_bytes), all(b.request_bytes));
  EXPECT_EQ(all(a.request_head), all(b.request_head));
  EXPECT_EQ(a.keeps_addresses, b.keeps_addresses);
  EXPECT_EQ(all(a.block_address), all(b.block_address));
  EXPECT_EQ(a.discards, b.discards);
  EXPECT_EQ(a.discard_requests, b.discard_requests);
  EXPECT_EQ(a.time_base, b.time_base);
  EXPECT_EQ(a.block_bytes, b.block_bytes);
  EXPECT_EQ(a.line_blocks, b.line_blocks);
  EXPECT_EQ(a.warm_up, b.warm_up);
  EXPECT_EQ(a.departures, b.departures);
  EXPECT_EQ(a.given.requests, b.given.requests);
  EXPECT_EQ(a.given.accesses, b.given.accesses);
  ASSERT_EQ(a.vms.size(), b.vms.size());
  for (std::size_t v = 0; v < a.vms.size(); ++v) {
    EXPECT_EQ(a.vms[v].name, b.vms[v].name);
    EXPECT_EQ(a.vms[v].first_id, b.vms[v].first_id);
    EXPECT_EQ(a.vms[v].unique_blocks, b.vms[v].unique_blocks);
    EXPECT_EQ(a.vms[v].requests, b.vms[v].requests);
    EXPECT_EQ(a.vms[v].accesses, b.vms[v].accesses);
    EXPECT_EQ(a.vms[v].arrives, b.vms[v].arrives);
  }
}

const ExpandOptions kAll{.ops = OpFilter::kAll};

// With none, some or all of the optional columns.
std::vector<ExpandOptions> asked_for() {
  std::vector<ExpandOptions> all;
  for (unsigned which = 0; which < 16; ++which) {
    all.push_back({.ops = OpFilter::kAll,
                   .responses = (which & 1) != 0,
                   .classes = (which & 2) != 0,
                   .bytes = (which & 4) != 0,
                   .addresses = (which & 8) != 0});
  }
  return all;
}

TEST_F(AccessesFile, HoldsWhatWasWritten) {
  for (const std::size_t requests : {1U, 40U, 3'000U}) {
    for (ExpandOptions options : asked_for()) {
      options.line_blocks = options.responses ? 4 : 1;
      const Accesses trace = build({options, TimeBase::kClock}, requests).value();
      ASSERT_TRUE(write_accesses(trace, path()).ok());
      const auto read = open_accesses(path());
      ASSERT_TRUE(read.ok()) << read.status();
      expect_same(*read, trace);
    }
  }
}

TEST_F(AccessesFile, OfNothingIsEmpty) {
  const Accesses none = AccessBuilder({}, TimeBase::kIndex).finish().value();
  for (const auto write : {write_accesses, write_packed_accesses}) {
    ASSERT_TRUE(write(none, path()).ok());
    expect_same(open_accesses(path()).value(), none);
  }
}

TEST_F(AccessesFile, PackedHoldsWhatWasWritten) {
  for (const std::size_t requests : {1U, 40U, 3'000U, 300'000U}) {
    for (const ExpandOptions& options : asked_for()) {
      if (requests > 3'000 && options != asked_for()[15]) continue;  // three parts
      const Accesses trace = build({options, TimeBase::kClock}, requests).value();
      ASSERT_TRUE(write_packed_accesses(trace, path()).ok());
      expect_same(open_accesses(path()).value(), trace);
      expect_same(open_trusted_accesses(path()).value(), trace);
    }
  }
}

// Times of 2^62 ns in between have differences of eight bytes.
TEST_F(AccessesFile, PackedHoldsAnyTime) {
  Accesses trace = build({kAll, TimeBase::kClock}, 3'000).value();
  std::vector<Nanoseconds> times = trace.request_time.copy();
  for (Nanoseconds& time : std::span(times).subspan(1'000)) time += Nanoseconds{1} << 62;
  for (Nanoseconds& time : std::span(times).first(1'000)) time -= Nanoseconds{1} << 62;
  trace.request_time = times;
  ASSERT_TRUE(write_packed_accesses(trace, path()).ok());
  expect_same(open_trusted_accesses(path()).value(), trace);
}

TEST_F(AccessesFile, PackedTakesTenBytesARequest) {
  const Accesses trace = build({asked_for()[4], TimeBase::kClock}, 300'000).value();
  ASSERT_TRUE(write_packed_accesses(trace, path()).ok());
  EXPECT_LT(bytes().size(), trace.ids.size() * 4 + trace.request_count() * 6);
}

TEST_F(AccessesFile, IsDescribedByItsHead) {
  const Accesses trace = build({kAll, TimeBase::kClock}, 3'000).value();
  for (const auto write : {write_accesses, write_packed_accesses}) {
    ASSERT_TRUE(write(trace, path()).ok());
    const AccessesHead file = describe_accesses(path()).value();
    EXPECT_EQ(file.accesses, trace.ids.size());
    EXPECT_EQ(file.vms, trace.vms.size());
    EXPECT_EQ(file.block_bytes, 4096U);
    std::string damaged = bytes();
    damaged[100] = static_cast<char>(damaged[100] ^ 1);
    put(damaged);
    EXPECT_THAT(message_of(describe_accesses(path()).status()), HasSubstr("damaged"));
  }
}

TEST_F(AccessesFile, PackedCutShortLongerOrChangedIsRefused) {
  const Accesses trace = build({asked_for()[7], TimeBase::kClock}, 400).value();
  ASSERT_TRUE(write_packed_accesses(trace, path()).ok());
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    ASSERT_EQ(open_accesses(path()).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  put(whole + '\0');
  EXPECT_THAT(message_of(open_accesses(path()).status()), HasSubstr("damaged"));
  put(whole + std::string(8, '\0'));
  EXPECT_THAT(message_of(open_accesses(path()).status()), HasSubstr("damaged"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    put(changed);
    const auto read = open_accesses(path());
    if (read.ok()) expect_same(*read, trace);  // bytes that fill up words have no meaning
  }
}

// More than one piece of every column: pieces have checksums of their own, and memory is given
// back between them.
TEST_F(AccessesFile, OfManyPiecesIsTheSame) {
  const Accesses trace = build({kAll, TimeBase::kClock}, 900'000).value();
  ASSERT_TRUE(write_accesses(trace, path()).ok());
  const auto read = open_accesses(path());
  ASSERT_TRUE(read.ok()) << read.status();
  expect_same(*read, trace);
}

TEST_F(AccessesFile, IsMadeByABuilderAsInMemory) {
  for (ExpandOptions options : asked_for()) {
    options.whole_seconds = options.responses;
    const Accesses trace = build({options, TimeBase::kClock}, 20'000).value();
    ASSERT_TRUE(write_accesses(trace, path("oracle")).ok());
    // Nothing, a part and all of the streams waits on disk.
    for (const std::size_t most_in_memory : {std::size_t{1} << 28, std::size_t{200'000}, 0UL}) {
      const auto built =
          build({options, TimeBase::kClock, AccessBuilder::ToFile{path(), most_in_memory}}, 20'000);
      ASSERT_TRUE(built.ok()) << built.status();
      expect_same(*built, trace);
      expect_same(open_accesses(path()).value(), trace);
      std::ifstream oracle(path("oracle"), std::ios::binary);
      EXPECT_EQ(bytes(), std::string(std::istreambuf_iterator<char>(oracle), {}));
      EXPECT_EQ(files(), 2U) << "only what has a name is left";
    }
  }
}

// Those of the mapping alone are given back, and are read again.
TEST_F(AccessesFile, IsThereAfterMemoryWasLetGo) {
  const Accesses trace = build({kAll, TimeBase::kClock}, 3'000).value();
  ASSERT_TRUE(write_accesses(trace, path()).ok());
  const Accesses read = open_accesses(path()).value();
  read.release_pages(read.all());
  trace.release_pages(trace.all());
  expect_same(read, trace);
}

// The discards of a builder that spills, of a file and of memory are the same.
TEST_F(AccessesFile, KeepsDiscards) {
  for (const std::size_t most_in_memory : {std::size_t{1} << 28, std::size_t{0}}) {
    const auto made = [&](std::optional<AccessBuilder::ToFile> to_file) {
      AccessBuilder builder(kAll, TimeBase::kClock, std::move(to_file));
      for (const std::uint64_t vm : {1U, 2U}) {
        EXPECT_TRUE(builder.begin_vm("vm" + std::to_string(vm)).ok());
        Requests rows = random_requests(vm, 2'000);
        for (std::size_t i = 0; i < rows.size(); i += 3) rows.op[i] = 2;
        EXPECT_TRUE(builder.add(rows.view()).ok());
      }
      return std::move(builder).finish().value();
    };
    const Accesses trace = made(std::nullopt);
    EXPECT_GT(trace.discards.size(), 500U);
    expect_same(made(AccessBuilder::ToFile{path(), most_in_memory}), trace);
    expect_same(open_accesses(path()).value(), trace);
  }
}

// Files of a version are found again by their name, whatever program made them.
TEST_F(AccessesFile, HasTheBytesOfItsVersion) {
  ASSERT_TRUE(write_accesses(build({kAll, TimeBase::kClock}, 3'000).value(), path()).ok());
  const std::string whole = bytes();
  EXPECT_EQ(checksum(std::as_bytes(std::span(whole)), 0), 0xd1b28d8f2abe65b6U)
      << "the same requests have become other bytes: raise kAccessesVersion, and put this here";
}

TEST_F(AccessesFile, OutlivesItsName) {
  const Accesses trace = build({kAll, TimeBase::kClock}, 3'000).value();
  ASSERT_TRUE(write_accesses(trace, path()).ok());
  const Accesses read = open_accesses(path()).value();
  const Accesses copy = read;
  std::filesystem::remove(path());
  expect_same(copy, trace);
}

TEST_F(AccessesFile, CutShortOrLongerIsRefused) {
  ASSERT_TRUE(write_accesses(build({kAll, TimeBase::kClock}, 40).value(), path()).ok());
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); size += size < 1'000 ? 1 : 97) {
    put(whole.substr(0, size));
    const absl::Status status = open_accesses(path()).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size << ": " << status;
    ASSERT_THAT(message_of(status), HasSubstr(path()));
    ASSERT_THAT(message_of(status), HasSubstr("remove it and mcsim will rebuild it"));
  }
  put(whole + '\0');
  EXPECT_THAT(message_of(open_accesses(path()).status()), HasSubstr("bytes instead of"));
}

TEST_F(AccessesFile, AnyChangedByteOfHeadOrColumnsIsFound) {
  const ExpandOptions kept = asked_for()[7];
  ASSERT_TRUE(write_accesses(build({kept, TimeBase::kClock}, 40).value(), path()).ok());
  const std::string whole = bytes();
  int passed = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    auto words = std::make_shared<std::vector<std::uint64_t>>(changed.size() / 8 + 1);
    std::memcpy(words->data(), changed.data(), changed.size());
    const auto view = std::as_bytes(std::span(*words)).first(changed.size());
    // Bytes between the columns have no meaning.
    if (accesses_in(view, words, "t").ok()) passed += whole[at] == 0 ? 1 : 1'000'000;
  }
  EXPECT_LT(passed, 8 * 64);
}

TEST_F(AccessesFile, OfAnotherVersionOrKindIsRefused) {
  ASSERT_TRUE(write_accesses(build({kAll, TimeBase::kClock}, 40).value(), path()).ok());
  std::string other = bytes();
  ++other[8];
  put(other);
  EXPECT_EQ(
      message_of(open_accesses(path()).status()),
      fmt::format("{}: not an interned trace of this version of mcsim (version {}); remove it and "
                  "mcsim will rebuild it",
                  path(), kAccessesVersion + 1));
  put("ARROW1, and more that is none of ours");
  EXPECT_THAT(message_of(open_accesses(path()).status()), HasSubstr("another kind of file"));
  EXPECT_EQ(open_accesses(path("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(open_accesses(folder_.string()).ok());
}

TEST_F(AccessesFile, ThatCannotBeWrittenIsSaidToBeSo) {
  const Accesses trace = build({kAll, TimeBase::kClock}, 900'000).value();
  const absl::Status full = write_accesses(trace, "/dev/full");
  EXPECT_EQ(full.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(message_of(full), "/dev/full: cannot be written: No space left on device");
  EXPECT_EQ(write_accesses(trace, path("no/folder")).code(), absl::StatusCode::kNotFound);
  const auto built =
      build({kAll, TimeBase::kClock, AccessBuilder::ToFile{path("no/folder"), 0}}, 40);
  EXPECT_THAT(message_of(built.status()), HasSubstr("no/folder"));
}

// --- Files that others wrote, with checksums that are right ---------------------------

// A file with given contents.
std::string refused(const Accesses& trace, const std::string& path) {
  write_accesses(trace, path).IgnoreError();  // which may see that something is wrong
  const absl::Status status = open_accesses(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  return message_of(status);
}

template <class T>
SharedArray<T> with(const SharedArray<T>& column, std::size_t at, T value) {
  std::vector<T> values = column.copy();
  values[at] = value;
  return values;
}

// The second of two VMs is gone after request 3; the first request warms up.
Accesses small() {
  AccessBuilder builder(kAll, TimeBase::kClock);
  Requests first;
  for (const Nanoseconds time : {0, 20, 40}) first.push(time, 0, Op::kRead, 0, 8192);
  Requests second;
  for (const Nanoseconds time : {10, 30}) second.push(time, 0, Op::kWrite, 8192, 4096);
  EXPECT_TRUE(builder.begin_vm("first").ok());
  EXPECT_TRUE(builder.add(first.view()).ok());
  EXPECT_TRUE(builder.begin_vm("second").ok());
  EXPECT_TRUE(builder.add(second.view()).ok());
  EXPECT_TRUE(builder.depart(35).ok());
  return std::move(builder).finish().value();
}

TEST_F(AccessesFile, WithColumnsThatContradictIsRefused) {
  const auto refuses = [&](auto change, const char* why) {
    Accesses trace = small();
    change(trace);
    EXPECT_THAT(refused(trace, path()), HasSubstr(why));
  };
  refuses([](Accesses& t) { t.ids = with(t.ids, 1, BlockId{2}); },
          "request 0 has blocks of another VM");
  refuses([](Accesses& t) { t.ids = with(t.ids, 7, BlockId{3}); },
          "request 4 has blocks of another VM, or of none");
  refuses([](Accesses& t) { t.ids = with(t.ids, 0, kNoBlock); }, "request 0 has blocks");
  refuses([](Accesses& t) { t.request_time = with<Nanoseconds>(t.request_time, 2, 5); },
          "request 2 is before the last one");
  refuses([](Accesses& t) { t.request_op = with<std::uint8_t>(t.request_op, 2, 2); },
          "request 2 is neither a read nor a write");
  refuses([](Accesses& t) { t.request_vm = with<VmId>(t.request_vm, 3, 2); },
          "request 3 is of no VM");
  refuses([](Accesses& t) { t.departures = {{3, 1}}; }, "request 3 is of a VM that is gone");
  refuses([](Accesses& t) { t.vms[0].arrives = t.request_time[0] + 1; },
          "request 0 is of a VM that has not arrived");
  refuses(
      [](Accesses& t) {
        t.keeps_responses = true;
        t.request_response = std::vector<Nanoseconds>{4, -1, 0, 9, -2};
      },
      "request 4 took less than no time");
  refuses(
      [](Accesses& t) {
        t.keeps_classes = true;
        t.request_class = std::vector<std::uint8_t>{0, 7, 0, 8, 1};
      },
      "request 3 is of no class");
}

TEST_F(AccessesFile, HasClassesOnlyIfTheyAreKept) {
  ASSERT_TRUE(write_accesses(build({kAll, TimeBase::kClock}, 40).value(), path()).ok());
  const std::string without = bytes();
  EXPECT_FALSE(open_accesses(path()).value().keeps_classes);
  EXPECT_TRUE(open_accesses(path()).value().request_class.empty());
  for (const ExpandOptions& options : asked_for()) {
    ASSERT_TRUE(write_accesses(build({options, TimeBase::kClock}, 40).value(), path()).ok());
    if (!options.addresses) {
      EXPECT_EQ(testing::with_checksums(bytes()), bytes());
    }
    const bool keeps_any =
        options.responses || options.classes || options.bytes || options.addresses;
    EXPECT_EQ(bytes() == without, !keeps_any);
  }
  ExpandOptions kept = kAll;
  kept.classes = true;
  ASSERT_TRUE(write_accesses(build({kept, TimeBase::kClock}, 40).value(), path()).ok());
  EXPECT_GE(bytes().size(), without.size() + 40 + 42 + 20 + 2 * 8);
  EXPECT_LT(bytes().size(), without.size() + 40 + 42 + 20 + 2 * 8 + 2 * 64);
}

TEST_F(AccessesFile, HasBytesOfRequestsOnlyIfTheyAreKept) {
  ASSERT_TRUE(write_accesses(build({kAll, TimeBase::kClock}, 40).value(), path()).ok());
  const std::size_t without = bytes().size();
  EXPECT_FALSE(open_accesses(path()).value().keeps_bytes);
  EXPECT_TRUE(open_accesses(path()).value().request_bytes.empty());
  ExpandOptions kept = kAll;
  kept.bytes = true;
  ASSERT_TRUE(write_accesses(build({kept, TimeBase::kClock}, 40).value(), path()).ok());
  EXPECT_GE(bytes().size(), without + 8 * (40 + 42 + 20) + 4 * 8);
  EXPECT_LT(bytes().size(), without + 8 * (40 + 42 + 20) + 4 * 8 + 3 * 64);
}

// Files of response times and classes are found again as those without are.
TEST_F(AccessesFile, HasTheBytesOfItsVersionWithWhatIsAskedFor) {
  ExpandOptions kept = kAll;
  kept.responses = kept.classes = true;
  ASSERT_TRUE(write_accesses(build({kept, TimeBase::kClock}, 3'000).value(), path()).ok());
  const std::string whole = bytes();
  EXPECT_EQ(checksum(std::as_bytes(std::span(whole)), 0), 0xb8d794d43141ecf6U);
}

// Words after the VMs of a head: only valid ones.
TEST_F(AccessesFile, WithAnotherMarkOfAColumnIsRefused) {
  ExpandOptions kept = kAll;
  kept.classes = true;
  ASSERT_TRUE(write_accesses(build({kept, TimeBase::kClock}, 40).value(), path()).ok());
  std::string other = bytes();
  std::vector<std::uint64_t> words(other.size() / 8);
  std::memcpy(words.data(), other.data(), words.size() * 8);
  ASSERT_EQ(words[words[2] - 2], 1U);
  for (const auto& [mark, why] : {std::pair{char{0}, "missing or invalid values in its head"},
                                  {char{2}, "missing or invalid values in its head"},
                                  {char{3}, "missing or invalid values in its head"}}) {
    other[(words[2] - 2) * 8] = mark;
    std::memcpy(words.data(), other.data(), words.size() * 8);
    const auto head = std::as_bytes(std::span(words).first(words[2]));
    words[3] = checksum(head.subspan(32), checksum(head.first(24), 0));
    std::memcpy(other.data(), words.data(), words.size() * 8);
    put(other);
    EXPECT_THAT(message_of(open_accesses(path()).status()), HasSubstr(why)) << int{mark};
  }
}

TEST_F(AccessesFile, HasResponseTimesOnlyIfTheyAreKept) {
  ExpandOptions kept = kAll;
  kept.responses = true;
  ASSERT_TRUE(write_accesses(build({kept, TimeBase::kClock}, 40).value(), path()).ok());
  const std::string with = bytes();
  ASSERT_EQ(testing::with_checksums(with), with);
  ASSERT_TRUE(write_accesses(build({kAll, TimeBase::kClock}, 40).value(), path()).ok());
  EXPECT_GE(with.size(), bytes().size() + (40 + 42 + 20) * 8);
  EXPECT_FALSE(open_accesses(path()).value().keeps_responses);
}

TEST_F(AccessesFile, WithBlocksOfNoRequestIsRefused) {
  ASSERT_TRUE(write_accesses(small(), path()).ok());
  const std::string whole = bytes();
  ASSERT_EQ(testing::with_checksums(whole), whole);
  std::vector<std::uint64_t> words(whole.size() / 8);
  std::memcpy(words.data(), whole.data(), words.size() * 8);
  const std::size_t begins = testing::accesses_columns(words)[1];
  const auto refuses = [&](std::size_t request, std::uint64_t begin, const char* why) {
    std::string changed = whole;
    std::memcpy(changed.data() + begins + request * 8, &begin, 8);
    put(testing::with_checksums(changed));
    EXPECT_THAT(message_of(open_accesses(path()).status()), HasSubstr(why));
  };
  refuses(0, 1, "blocks of no request");
  refuses(1, 9, "request 0 has blocks that are not there");
  refuses(1, ~std::uint64_t{0}, "request 0 has blocks that are not there");
  refuses(2, 1, "request 1 has blocks that are not there");
  refuses(5, 7, "blocks of no request");
}

TEST_F(AccessesFile, WithAHeadThatContradictsIsRefused) {
  const auto refuses = [&](auto change, const char* why) {
    Accesses trace = small();
    change(trace);
    EXPECT_THAT(refused(trace, path()), HasSubstr(why));
  };
  refuses([](Accesses& t) { t.departures = {{9, 1}}; }, "missing or invalid values");
  refuses([](Accesses& t) { t.departures = {{4, 7}}; }, "missing or invalid values");
  refuses([](Accesses& t) { t.departures = {{5, 1}, {4, 0}}; }, "not in order");
  refuses([](Accesses& t) { t.departures = {{4, 1}, {4, 1}}; }, "departs twice");
  refuses([](Accesses& t) { t.departures.assign(3, {5, 1}); }, "missing or invalid values");
  refuses([](Accesses& t) { t.discards = {{6, 0}}; }, "missing or invalid values");
  refuses([](Accesses& t) { t.discards = {{5, 3}}; }, "missing or invalid values");
  refuses([](Accesses& t) { t.discards = {{2, 0}, {1, 0}}; }, "discards that are not in order");
  refuses([](Accesses& t) { t.discard_requests = -1; }, "missing or invalid values");
  refuses([](Accesses& t) { t.warm_up = 6; }, "missing or invalid values");
  refuses([](Accesses& t) { t.warm_up = 1; }, "first has other counts than its head says");
  refuses([](Accesses& t) { ++t.vms[1].accesses; }, "second has other counts than its head says");
  refuses([](Accesses& t) { t.vms[0].unique_blocks = -1; }, "missing or invalid values");
  refuses([](Accesses& t) { t.vms[1].unique_blocks = kNoBlock - 2; }, "missing or invalid values");
  refuses([](Accesses& t) { t.vms[0].name = "\n"; }, "a VM with no name");
  refuses([](Accesses& t) { t.vms.clear(), t.departures.clear(); }, "request 0 is of no VM");
  refuses([](Accesses& t) { t.line_blocks = 2; }, "half a line");
  refuses([](Accesses& t) { t.line_blocks = 0; }, "a block or line size of 0");
  refuses([](Accesses& t) { t.block_bytes = 0; }, "a block or line size of 0");
  refuses([](Accesses& t) { t.time_base = static_cast<TimeBase>(2); }, "missing or invalid values");
  refuses([](Accesses& t) { t.given.requests[1] = -1; }, "missing or invalid values");
}

}  // namespace
}  // namespace mcsim
