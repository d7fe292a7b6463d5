// Trusts: Mattson's stack as a list on the whole stream; first and last accesses
// by a scan; associativity.
#include "core/locality/distances/partial_distances.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/random.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

using naive::Keys;
using testing::HasSubstr;

Keys by_first_access(const Keys& keys) {
  Keys result;
  for (const auto key : keys) {
    if (std::ranges::find(result, key) == result.end()) result.push_back(key);
  }
  return result;
}

// The definition of a partial, read off the piece.
void expect_partial_of(const PartialDistances& partial, const Keys& keys) {
  const auto most = static_cast<std::size_t>(partial.limit);
  Keys first = by_first_access(keys);
  Keys last = by_first_access(Keys(keys.rbegin(), keys.rend()));
  if (partial.limit > 0) {
    first.resize(std::min(most, first.size()));
    last.resize(std::min(most, last.size()));
  }
  std::ranges::reverse(last);
  EXPECT_EQ(partial.first, first);
  EXPECT_EQ(partial.last, last);
  EXPECT_EQ(partial.histogram(), naive::histogram(keys, partial.limit));
}

PartialDistances merged(const PartialDistances& left, const PartialDistances& right) {
  return merge(left, right).value();
}

// Cuts at random, empty pieces included.
std::vector<PartialDistances> random_pieces(const Keys& keys, Count limit, Random& random) {
  std::vector<std::size_t> cuts{0, keys.size()};
  for (std::uint64_t n = random.below(12); n-- > 0;) {
    cuts.push_back(random.below(keys.size() + 1));
    if (random.below(3) == 0) cuts.push_back(cuts.back());
  }
  std::ranges::sort(cuts);
  std::vector<PartialDistances> pieces;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    pieces.push_back(analyse(std::span(keys).subspan(cuts[i - 1], cuts[i] - cuts[i - 1]), limit));
  }
  return pieces;
}

// Merges neighbours in random order: every binary tree can come out.
PartialDistances merge_at_random(std::vector<PartialDistances> pieces, Random& random) {
  while (pieces.size() > 1) {
    const auto left = pieces.begin() + static_cast<std::ptrdiff_t>(random.below(pieces.size() - 1));
    *left = merged(*left, *(left + 1));
    pieces.erase(left + 1);
  }
  return pieces.front();
}

Keys random_keys(Random& random) {
  Keys keys(random.below(300));
  const std::uint64_t blocks = 1 + random.below(random.below(2) == 0 ? 10 : 200);
  const bool loops = random.below(4) == 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = mix64(loops ? i % blocks : random.below(1 + random.below(blocks)));
  }
  return keys;
}

TEST(PartialDistances, OfAPiece) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    for (const Count limit : {0, 1, 2, 63, 64, 65, 300, 5000}) {
      SCOPED_TRACE(testing::Message() << name << ", limit " << limit);
      expect_partial_of(analyse(keys, limit), keys);
    }
  }
}

TEST(PartialDistances, AnyCutsAndAnyTreeGiveThePartialOfTheWhole) {
  Random random(3);
  for (const auto& [name, keys] : naive::awkward_streams()) {
    for (const Count limit : {0, 1, 10, 64, 300}) {
      SCOPED_TRACE(testing::Message() << name << ", limit " << limit);
      for (int round = 0; round < 4; ++round) {
        expect_partial_of(merge_at_random(random_pieces(keys, limit, random), random), keys);
      }
    }
  }
}

TEST(PartialDistances, ChanceFindsNoCounterexample) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Keys keys = random_keys(random);
    const auto limit = static_cast<Count>(random.below(2) * random.below(60));
    const PartialDistances whole = analyse(keys, limit);
    ASSERT_EQ(whole.histogram(), naive::histogram(keys, limit)) << "seed " << seed;
    ASSERT_EQ(merge_at_random(random_pieces(keys, limit, random), random), whole)
        << "seed " << seed;
  }
}

TEST(PartialDistances, MergingIsAssociativeAndAnEmptyPieceChangesNothing) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const auto limit = static_cast<Count>(random.below(40));
    const PartialDistances a = analyse(random_keys(random), limit);
    const PartialDistances b = analyse(random_keys(random), limit);
    const PartialDistances c = analyse(random_keys(random), limit);
    ASSERT_EQ(merged(merged(a, b), c), merged(a, merged(b, c))) << "seed " << seed;
    const PartialDistances nothing = analyse({}, limit);
    ASSERT_EQ(merged(a, nothing), a);
    ASSERT_EQ(merged(nothing, a), a);
  }
}

TEST(PartialDistances, MergeRefusesAnotherLimit) {
  EXPECT_EQ(message_of(merge(analyse({}, 5), analyse({}, 0)).status()),
            "partial distances of limit 5 cannot be merged with those of limit 0");
}

TEST(PartialDistances, BytesGiveThePartialBack) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    for (const Count limit : {0, 10, 300}) {
      SCOPED_TRACE(name);
      const PartialDistances partial = analyse(keys, limit);
      EXPECT_EQ(PartialDistances::from_bytes(partial.to_bytes()).value(), partial);
    }
  }
}

std::string error_of(std::string_view bytes) {
  return message_of(PartialDistances::from_bytes(bytes).status());
}

TEST(PartialDistances, DamageIsNoticed) {
  const std::string good = analyse(Keys{1, 2, 3, 1, 2, 2, 4, 1}).to_bytes();
  ASSERT_EQ(error_of(good), "");
  Random random(4);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(error_of(std::string_view(good).substr(0, size)), "") << "cut at " << size;
  }
  EXPECT_NE(error_of(good + '\0'), "");
  EXPECT_NE(error_of(good + std::string(8, '\0')), "");
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(error_of(bad), "") << "bit " << bit;
  }
}

// A file that is whole, checksum and all, with other words in it.
std::string with_word(std::string bytes, std::size_t index, std::uint64_t value) {
  const auto set = [&](std::size_t at, std::uint64_t word) {
    for (std::size_t i = 0; i < 8; ++i) bytes[8 * at + i] = static_cast<char>(word >> (8 * i));
  };
  set(index, value);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + 1 < bytes.size() / 8; ++at) {
    std::uint64_t word = 0;
    for (std::size_t i = 8; i-- > 0;)
      word = word << 8 | static_cast<unsigned char>(bytes[8 * at + i]);
    sum = mix64(sum ^ word);
  }
  set(bytes.size() / 8 - 1, sum);
  return bytes;
}

TEST(PartialDistances, ErrorsSayWhatIsWrong) {
  // Words: 0 magic, 1 version, 2 limit, 3 cold, 4 and 5 lengths, distances {0, 1},
  // counts {1, 1}, first {7, 8}, last {8, 7}.
  const std::string good = analyse(Keys{7, 7, 8, 7}).to_bytes();
  EXPECT_EQ(error_of("time,vm,op,offset"), "not partial distances: wrong magic number");
  EXPECT_EQ(error_of(with_word(good, 1, 2)), "partial distances of version 2: expected version 1");
  EXPECT_EQ(error_of(good.substr(0, 40)), "partial distances end in their head, after 40 bytes");
  EXPECT_EQ(error_of(good.substr(0, good.size() - 1)),
            "partial distances of 2 distances and 2 blocks cannot have 119 bytes");
  EXPECT_THAT(error_of(with_word(good, 5, ~std::uint64_t{0})), HasSubstr("cannot have 120 bytes"));
  EXPECT_THAT(error_of(with_word(good, 4, std::uint64_t{1} << 63)),
              HasSubstr("cannot have 120 bytes"));
  std::string flipped = good;
  flipped[60] = static_cast<char>(flipped[60] ^ 4);
  EXPECT_EQ(error_of(flipped), "partial distances are damaged: their checksum does not match");

  const auto contradiction = [&](std::size_t word, std::uint64_t value) {
    return error_of(with_word(good, word, value));
  };
  EXPECT_THAT(contradiction(2, ~std::uint64_t{0}), HasSubstr("a negative limit or count"));
  EXPECT_THAT(contradiction(3, 1), HasSubstr("cold without a limit"));
  EXPECT_THAT(contradiction(2, 1), HasSubstr("more blocks than the limit"));
  EXPECT_THAT(contradiction(6, 1), HasSubstr("distances that do not increase"));
  EXPECT_THAT(contradiction(7, 2), HasSubstr("a distance above the number of blocks"));
  EXPECT_THAT(contradiction(8, 0), HasSubstr("a distance that did not occur"));
  EXPECT_THAT(contradiction(8, ~std::uint64_t{0} >> 1), HasSubstr("more accesses than"));
  EXPECT_THAT(contradiction(10, 8), HasSubstr("a block twice"));
  EXPECT_THAT(contradiction(10, 9), HasSubstr("first accesses to other blocks than last ones"));
}

// A folder of its own that goes with it.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("mcsim_partials_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

constexpr const char* kJobVariable = "MCSIM_PARTIAL_DISTANCES_JOB";

// Commands of the processes below: "analyse KEYS OUT" or "merge LEFT RIGHT OUT".
void work_on(const std::string& job) {
  std::istringstream words(job);
  const std::vector<std::string> argument{std::istream_iterator<std::string>(words), {}};
  if (argument.at(0) == "analyse") {
    const std::string bytes = contents(argument.at(1));
    Keys keys(bytes.size() / sizeof(std::uint64_t));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(keys.data()));
    write(argument.at(2), analyse(keys).to_bytes());
    return;
  }
  const auto partial = [](const std::string& path) {
    return PartialDistances::from_bytes(contents(path)).value();
  };
  write(argument.at(3), merged(partial(argument.at(1)), partial(argument.at(2))).to_bytes());
}

// Runs the test below in a process of its own that has one job.
pid_t start(const std::string& job) {
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=PartialDistances.ProcessesGiveTheSameBits";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  std::string variable = std::string(kJobVariable) + "=" + job;
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  if (posix_spawn(&child, program.c_str(), &quiet, nullptr, arguments, environment.data()) != 0) {
    child = -1;
  }
  posix_spawn_file_actions_destroy(&quiet);
  return child;
}

bool succeeds(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

TEST(PartialDistances, ProcessesGiveTheSameBits) {
  if (const char* job = std::getenv(kJobVariable)) return work_on(job);
  if (!std::filesystem::exists("/proc/self/exe")) GTEST_SKIP() << "no /proc/self/exe here";
  Random random(6);
  Keys keys(4000);
  for (auto& key : keys) key = random.below(1 + random.below(900));
  const Folder folder;
  std::vector<pid_t> analysts;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i);
    write(folder.file("keys" + name),
          {reinterpret_cast<const char*>(keys.data() + 1000 * i), 1000 * sizeof(std::uint64_t)});
    analysts.push_back(start("analyse " + folder.file("keys" + name) + " " + folder.file(name)));
  }
  for (const pid_t child : analysts) ASSERT_TRUE(succeeds(child));
  const auto merge_files = [&](const char* left, const char* right, const char* out) {
    return start("merge " + folder.file(left) + " " + folder.file(right) + " " + folder.file(out));
  };
  const pid_t older = merge_files("0", "1", "01");
  const pid_t newer = merge_files("2", "3", "23");
  ASSERT_TRUE(succeeds(older));
  ASSERT_TRUE(succeeds(newer));
  ASSERT_TRUE(succeeds(merge_files("01", "23", "0123")));
  const std::string bytes = contents(folder.file("0123"));
  EXPECT_EQ(bytes, analyse(keys).to_bytes());
  EXPECT_EQ(PartialDistances::from_bytes(bytes).value().histogram(), naive::histogram(keys, 0));
}

}  // namespace
}  // namespace mcsim
