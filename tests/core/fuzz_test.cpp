// Trusts: nothing about the input; the laws are in tests/support/fuzzing.hpp.
// The same inputs on every run.
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "core/trace/formats/all.hpp"
#include "tests/support/format_seeds.hpp"
#include "tests/support/fuzzing.hpp"

namespace mcsim {
namespace {

using Bytes = std::vector<std::uint8_t>;

void mutate(Bytes& bytes, Random& random) {
  static constexpr std::string_view kTokens[] = {
      ",", "\n", "\r\n", "-1",  " ", "\"", "0", "*", "9999999999999999999999",
      ".", "e",  "Read", "\xff"};
  const auto at = [&] { return random.below(bytes.size() + 1); };
  const auto position = [&] { return bytes.begin() + static_cast<std::ptrdiff_t>(at()); };
  switch (random.below(5)) {
    case 0:
      if (!bytes.empty()) bytes[random.below(bytes.size())] ^= std::uint8_t(1U << random.below(8));
      break;
    case 1:
      bytes.resize(at());
      break;
    case 2: {
      const std::string_view token = kTokens[random.below(std::size(kTokens))];
      bytes.insert(position(), token.begin(), token.end());
      break;
    }
    case 3: {
      const Bytes copy(position(), bytes.end());
      bytes.insert(position(), copy.begin(), copy.end());
      break;
    }
    default: {
      auto first = position(), last = position();
      bytes.erase(std::min(first, last), std::max(first, last));
    }
  }
}

TEST(Fuzz, SeedsAreValidAndCoverEverySubject) {
  const auto seeds = fuzzing_seeds();
  std::vector<bool> covered(fuzzing_subjects());
  for (const Bytes& seed : seeds) {
    ASSERT_LT(seed.front(), covered.size());
    covered[seed.front()] = true;
    EXPECT_EQ(read_untrusted(seed), "");
    if (seed.front() >= formats().entries().size()) continue;
    auto source = *open_bytes(std::string(seed.begin() + 1, seed.end()), "t");
    const auto& entry = formats().entries()[seed.front()];
    auto reader =
        *entry.make(mcsim::testing::seed_params(entry.info.name),
                    ReaderContext{.source = std::move(source), .name = "t", .vm_name = "t"});
    Requests chunk;
    const absl::Status status = reader->next(chunk);
    EXPECT_TRUE(status.ok()) << status;
  }
  for (std::size_t format = 0; format < covered.size(); ++format) {
    if (format >= formats().entries().size()) {
      EXPECT_TRUE(covered[format]) << "subject " << format;
      continue;
    }
    EXPECT_TRUE(covered[format]) << formats().entries()[format].info.name
                                 << " has no seed: add a valid file of the format, of a few lines, "
                                    "to tests/support/format_seeds.hpp";
  }
}

TEST(Fuzz, MutatedFilesAreRequestsOrAnError) {
  Random random(42);
  const auto seeds = fuzzing_seeds();
  for (int round = 0; round < 10'000; ++round) {
    Bytes input = seeds[random.below(seeds.size())];
    for (std::uint64_t i = 1 + random.below(4); i > 0; --i) mutate(input, random);
    const std::string wrong = read_untrusted(input);
    ASSERT_EQ(wrong, "") << "round " << round;
  }
}

TEST(Fuzz, RandomBytesAreRequestsOrAnError) {
  Random random(43);
  for (int round = 0; round < 3'000; ++round) {
    Bytes input(random.below(300));
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
    ASSERT_EQ(read_untrusted(input), "") << "round " << round;
  }
}

}  // namespace
}  // namespace mcsim
