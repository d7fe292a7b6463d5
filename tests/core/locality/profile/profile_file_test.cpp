// Trusts: what was measured, which characterise_test holds to the definitions; and of files that
// untrusted bytes: the list of invariants that readers of meters rely on.
#include "core/locality/profile/profile_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/base/checksum.hpp"
#include "core/base/random.hpp"
#include "core/locality/profile/meter_checks.hpp"
#include "core/locality/profile/meter_plan.hpp"
#include "tests/support/naive_meters.hpp"
#include "tests/support/profile_words.hpp"

namespace mcsim {
namespace {

using naive::intern;
using naive::random_rows;
using naive::random_spec;
using naive::Row;
using ::testing::HasSubstr;

constexpr std::nullopt_t kCurves = std::nullopt;
constexpr VmId kVms = 3;

// A folder that is gone afterwards.
class ProfileFile : public ::testing::Test {
 protected:
  ProfileFile() {
    std::string name = (std::filesystem::temp_directory_path() / "mcsim_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ProfileFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "trace.profile") const {
    return (folder_ / name).string();
  }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(std::string_view bytes) const {
    std::ofstream(path(), std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  std::vector<std::uint64_t> words() const {
    const std::string all = bytes();
    std::vector<std::uint64_t> words(all.size() / 8);
    std::memcpy(words.data(), all.data(), words.size() * 8);
    return words;
  }
  // Writes what was found, and reads that.
  absl::StatusOr<Characterised> there_and_back(const Accesses& trace, const Characterised& found,
                                               const std::optional<MeterSpec>& meter) const {
    MCSIM_RETURN_IF_ERROR(write_profile(found, meter, path()));
    return read_profile(trace, meter, path());
  }

  std::filesystem::path folder_;
};

Accesses random_trace(Random& random) {
  Accesses trace = intern(random_rows(random, kVms), kVms);
  trace.warm_up = random.below(trace.request_count());
  return trace;
}

// Two VMs; 0 accesses blocks 1, 2 and 1, and 1 block 7.
Accesses small() { return intern({{0, 0, {1, 2, 1}}, {5, 1, {7}}, {12, 0, {2}, Op::kWrite}}, 2); }

constexpr TimerClock kTen{.period = 10};

// Measurements of a meter on `small`, or its curves.
Characterised found_of(const std::optional<MeterSpec>& meter) {
  const std::vector<MeterSpec> specs = meter ? std::vector{*meter} : std::vector<MeterSpec>{};
  return characterise(small(), specs).value();
}

TEST_F(ProfileFile, HoldsWhatWasMeasured) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const Accesses trace = random_trace(random);
    const MeterSpec spec = random_spec(random);
    const Characterised found = characterise(trace, {&spec, 1}).value();
    const auto read = there_and_back(trace, found, measured_as(spec));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->meters.front().spec, measured_as(spec));
    EXPECT_EQ(*read->meters.front().measured, *found.meters.front().measured);
    EXPECT_EQ(*read->meters.front().cuts, *found.meters.front().cuts);
    const auto curves = there_and_back(trace, found, kCurves);
    ASSERT_TRUE(curves.ok()) << curves.status();
    EXPECT_EQ(*curves->whole_curves, *found.whole_curves);
  }
}

// The writer puts words into the file a piece at a time.
TEST_F(ProfileFile, OfManyPiecesIsTheSame) {
  Random random(6);
  std::vector<Row> rows(40);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].time = static_cast<Nanoseconds>(i);
    for (int k = 0; k < 20'000; ++k) rows[i].blocks.push_back(random.below(200'000));
  }
  const Accesses trace = intern(rows, 1);
  const MeterSpec spec{.clock = {.period = 20}, .what = CurveMeter{}};
  const Characterised found = characterise(trace, {&spec, 1}).value();
  EXPECT_EQ(*there_and_back(trace, found, spec)->meters.front().measured,
            *found.meters.front().measured);
  EXPECT_GT(words().size(), std::size_t{1} << 18);
  EXPECT_EQ(*there_and_back(trace, found, kCurves)->whole_curves, *found.whole_curves);
}

// Nothing that is known is measured again, and all comes out as without.
TEST_F(ProfileFile, IsKnownToWhoeverMeasuresTheRest) {
  Random random(7);
  for (int round = 0; round < 100; ++round) {
    const Accesses trace = random_trace(random);
    std::vector<MeterSpec> specs;
    for (int k = 0; k < 4; ++k) specs.push_back(random_spec(random));
    const Characterised whole = characterise(trace, specs).value();
    std::vector<Characterised> known;
    for (const MeterSpec& spec : specs) {
      if (random.below(2) == 0) continue;
      known.push_back(there_and_back(trace, whole, measured_as(spec)).value());
    }
    const bool curves = random.below(2) == 0;
    if (curves) known.push_back(there_and_back(trace, whole, kCurves).value());
    const auto found = characterise(trace, specs, nullptr, 0, known);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->meters, whole.meters);
    EXPECT_EQ(*found->whole_curves, *whole.whole_curves);
    for (const Characterised& part : known) {
      if (part.meters.empty()) continue;
      const auto is_its = [&](const MeterResult& of) {
        return of.measured == part.meters.front().measured;
      };
      EXPECT_LE(std::ranges::count_if(found->meters, is_its), std::ssize(specs));
    }
  }
}

TEST_F(ProfileFile, WhereAllIsKnownThereIsNoPass) {
  const Accesses trace = small();
  const std::vector<MeterSpec> specs{{kTen, CurveMeter{}},
                                     {kTen, CurveMeter{.foresight = Foresight::kWhole}},
                                     {kTen, LoadMeter{}}};
  const Characterised whole = characterise(trace, specs).value();
  const std::vector known{there_and_back(trace, whole, specs[0]).value(),
                          there_and_back(trace, whole, specs[2]).value(),
                          there_and_back(trace, whole, kCurves).value()};
  const Characterised found = characterise(trace, specs, nullptr, 0, known).value();
  EXPECT_EQ(found.meters[0].measured, known[0].meters[0].measured);
  EXPECT_EQ(found.meters[2].measured, known[1].meters[0].measured);
  EXPECT_EQ(found.whole_curves, known[2].whole_curves) << "not counted again";
  EXPECT_EQ(found.meters[1].whole_curves, known[2].whole_curves);
}

TEST_F(ProfileFile, OfLooksThatDifferIsTheSame) {
  const MeterSpec one{kTen, CurveMeter{}};
  const MeterSpec other{
      kTen, CurveMeter{.scope = DistanceScope::kCumulative, .window = {10}, .distance_limit = 9}};
  EXPECT_EQ(measured_as(one), measured_as(other));
  EXPECT_FALSE(measured_as(one) == measured_as({kTen, CurveMeter{.window = {20}}}));
  EXPECT_TRUE(write_profile(found_of(one), other, path()).ok());
  EXPECT_EQ(write_profile(found_of(one), MeterSpec{kTen, LoadMeter{}}, path()).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ProfileFile, OfAnotherTraceIsRefused) {
  const MeterSpec spec{kTen, LoadMeter{}};
  const Characterised known = found_of(spec);
  const Accesses one_vm = intern({{0, 0, {1}}, {15, 0, {2}}}, 1);
  const Accesses longer = intern({{0, 0, {1}}, {15, 1, {2}}, {25, 1, {2}}}, 2);
  for (const Accesses* trace : {&one_vm, &longer}) {
    EXPECT_EQ(message_of(characterise(*trace, {&spec, 1}, nullptr, 0, {&known, 1}).status()),
              "known: meter 'load' is of another trace");
  }
  ASSERT_TRUE(write_profile(known, spec, path()).ok());
  EXPECT_THAT(message_of(read_profile(one_vm, spec, path()).status()), HasSubstr("of 2 VMs"));
  EXPECT_THAT(message_of(read_profile(longer, spec, path()).status()),
              HasSubstr("missing or invalid values"));
  EXPECT_THAT(message_of(read_profile(small(), MeterSpec{kTen, ClassMeter{}}, path()).status()),
              HasSubstr("it has load"));
  EXPECT_THAT(message_of(read_profile(small(), kCurves, path()).status()),
              HasSubstr("it has load"));
  EXPECT_EQ(
      message_of(read_profile(small(), MeterSpec{{.period = 0}, LoadMeter{}}, path()).status()),
      message_of(check_meter(small(), {{.period = 0}, LoadMeter{}})));
}

TEST_F(ProfileFile, SaysWhatItHas) {
  ASSERT_TRUE(write_profile(found_of(kCurves), kCurves, path()).ok());
  EXPECT_EQ(describe_profile(path()).value(), "curves of 2 VMs");
  const MeterSpec spec{kTen, IntensityMeter{.window = {10}}};
  ASSERT_TRUE(write_profile(found_of(spec), spec, path()).ok());
  EXPECT_EQ(describe_profile(path()).value(), "reuse intensity of 2 VMs");
  EXPECT_EQ(describe_profile(path("none")).status().code(), absl::StatusCode::kNotFound);
}

// Files of a version are found again by their name, whatever program made them.
TEST_F(ProfileFile, HasTheBytesOfItsVersion) {
  Random random(9);
  const Accesses trace = intern(random_rows(random, kVms), kVms);
  const auto specs = testing::meters_of_every_kind(kSecond);
  const Characterised found = characterise(trace, specs).value();
  std::uint64_t sum = 0;
  const auto add = [&](const std::optional<MeterSpec>& meter) {
    ASSERT_TRUE(write_profile(found, meter, path()).ok());
    const std::string whole = bytes();
    sum = checksum(std::as_bytes(std::span(whole)), sum);
  };
  add(kCurves);
  for (const MeterSpec& spec : specs) add(spec);
  EXPECT_EQ(sum, 0x3038dcd98a42e312U)
      << "a meter shows something else, or is written so: raise kProfileVersion, and put this here";
}

TEST_F(ProfileFile, DamagedInAnyWayIsRefused) {
  const MeterSpec spec{kTen, CurveMeter{}};
  ASSERT_TRUE(write_profile(found_of(spec), spec, path()).ok());
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    const absl::Status status = read_profile(small(), spec, path()).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size << ": " << status;
    ASSERT_THAT(message_of(status), HasSubstr(path()));
    ASSERT_THAT(message_of(status), HasSubstr("remove it and mcsim will rebuild it"));
    ASSERT_EQ(describe_profile(path()).status(), status);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    put(changed);
    ASSERT_EQ(read_profile(small(), spec, path()).status().code(), absl::StatusCode::kDataLoss);
  }
  put(whole + std::string(8, '\0'));
  EXPECT_THAT(message_of(read_profile(small(), spec, path()).status()), HasSubstr("instead of"));
  put("ARROW1, and more that is none of ours, so many bytes ...");
  EXPECT_EQ(message_of(read_profile(small(), spec, path()).status()),
            path() +
                ": not a profile of this version of mcsim (another kind of file); remove it and "
                "mcsim will rebuild it");
  std::string other = whole;
  ++other[8];
  put(other);
  EXPECT_THAT(message_of(read_profile(small(), spec, path()).status()), HasSubstr("(version 5)"));
  EXPECT_EQ(read_profile(small(), spec, path("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ProfileFile, ThatCannotBeWrittenIsSaidToBeSo) {
  EXPECT_EQ(message_of(write_profile(found_of(kCurves), kCurves, "/dev/full")),
            "/dev/full: cannot be written: No space left on device");
  EXPECT_EQ(write_profile(found_of(kCurves), kCurves, path("no/folder")).code(),
            absl::StatusCode::kNotFound);
}

// --- Files that others wrote, with checksums that are right ---------------------------

// Every word of every kind of file, replaced by what may be worst: nothing that comes of it is
// beyond what there is.
TEST_F(ProfileFile, WithAnyWordReplacedIsRefusedOrHarmless) {
  const auto replaced = [&](const std::optional<MeterSpec>& meter) {
    ASSERT_TRUE(write_profile(found_of(meter), meter, path()).ok());
    const std::vector<std::uint64_t> whole = words();
    ASSERT_EQ(testing::with_checksum(whole), whole);
    int refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const std::uint64_t word :
           {~std::uint64_t{0}, std::uint64_t{1} << 61,
            std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()),
            std::uint64_t{2}, whole[at] + 1}) {
        std::vector<std::uint64_t> changed = whole;
        changed[at] = word;
        changed = testing::with_checksum(changed);
        const auto read = profile_in(changed, small(), meter, "t");
        if (!read.ok()) {
          EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << read.status();
          ++refused;
        } else {
          EXPECT_EQ(testing::what_is_wrong(*read, small()), "");
        }
      }
    }
    EXPECT_GT(refused, 10);
  };
  replaced(kCurves);
  for (const MeterSpec& spec : testing::meters_of_every_kind(10)) replaced(spec);
}

TEST_F(ProfileFile, WithWhatContradictsTheTraceIsRefused) {
  const auto refuses = [&](const std::optional<MeterSpec>& meter, std::size_t at,
                           std::uint64_t word, const char* why) {
    ASSERT_TRUE(write_profile(found_of(meter), meter, path()).ok());
    std::vector<std::uint64_t> changed = words();
    ASSERT_LT(at, changed.size());
    changed[at] = word;
    const auto read = profile_in(testing::with_checksum(changed), small(), meter, "t");
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(message_of(read.status()), HasSubstr(why));
  };
  const auto counted = [](std::uint32_t distance, std::uint32_t count) {
    return std::bit_cast<std::uint64_t>(DistanceCount{distance, count});
  };
  // Accesses 4, steps 1: distance 1, twice.
  refuses(kCurves, 8, 2, "a distance beyond all blocks");
  refuses(kCurves, 9, 0, "a distance that did not occur");
  refuses(kCurves, 9, 5, "more distances than accesses");
  refuses(kCurves, 6, 6, "missing or invalid values");
  refuses(kCurves, 7, 3, "missing or invalid values");
  const MeterSpec curve{kTen, CurveMeter{}};
  // Accesses 3, one distance of age 0: 1, once.
  refuses(curve, 8, counted(2, 1), "a distance beyond all blocks");
  refuses(curve, 8, counted(1, 4), "more distances than accesses");
  refuses(curve, 6, 6, "missing or invalid values");
  refuses(curve, 7, ~std::uint64_t{0}, "missing or invalid values");
  refuses(curve, 5, 3, "of 3 VMs");
  refuses(curve, 4, 1, "it has load");
  refuses(curve, 4, 7, "of no known kind");
  const MeterSpec load{kTen, LoadMeter{}};
  // Requests, those that read, accesses, those that read, bytes read and written.
  refuses(load, 6, 4, "missing or invalid values");
  refuses(load, 7, 2, "missing or invalid values");
  refuses(load, 8, 6, "missing or invalid values");
  refuses(load, 9, 4, "missing or invalid values");
  refuses(load, 10, ~std::uint64_t{0}, "missing or invalid values");
  refuses(load, 11, std::uint64_t{1} << 63, "missing or invalid values");
}

}  // namespace
}  // namespace mcsim
