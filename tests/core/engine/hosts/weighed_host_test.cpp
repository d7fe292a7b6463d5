// Trusts: a list of objects and their sizes per part.
#include "core/engine/hosts/weighed_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <vector>

#include "core/base/random.hpp"
#include "policies/allocation/registry.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/naive_meters.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kVms = 3;

struct Object {
  BlockId id;
  Count bytes;
};

// LRU, the newest object first; evicts until the next one fits.
class NaiveLru {
 public:
  explicit NaiveLru(Count capacity) : capacity_(capacity) {}

  bool access(BlockId id, Count bytes) {
    const bool hit = remove(id);
    if (bytes > capacity_) return hit;
    // A hit evicts nothing, even if the object grew.
    while (!hit && held() + bytes > capacity_) objects_.pop_back();
    objects_.push_front({id, bytes});
    return hit;
  }
  bool remove(BlockId id) {
    return std::erase_if(objects_, [&](const Object& object) { return object.id == id; }) > 0;
  }
  Count held() const {
    Count bytes = 0;
    for (const Object& object : objects_) bytes += object.bytes;
    return bytes;
  }

 private:
  Count capacity_;
  std::list<Object> objects_;
};

Accesses drawn(std::uint64_t seed) {
  Random random(seed);
  std::vector<naive::Row> rows;
  std::vector<std::uint32_t> sizes(60);
  for (auto& size : sizes) size = static_cast<std::uint32_t>(1 + random.below(500));
  for (Nanoseconds at = 0; at < 2'000; ++at) {
    const std::uint64_t key = random.below(1 + random.below(60));
    if (random.below(20) == 0) sizes[key] = static_cast<std::uint32_t>(1 + random.below(5000));
    naive::Row row{.time = at,
                   .vm = static_cast<VmId>(key % kVms),
                   .blocks = {key},
                   .op = static_cast<Op>(random.below(4) == 0),
                   .bytes = sizes[key]};
    const std::uint64_t other = random.below(60);
    if (random.below(10) == 0) row.discards = {{static_cast<VmId>(other % kVms), other}};
    rows.push_back(row);
  }
  return naive::intern(rows, kVms);
}

Machine in_bytes(Count capacity) {
  Machine machine = testing::machine_of({capacity});
  machine.in_bytes = true;
  return machine;
}

// Replays the requests one by one against lists, and checks all counters.
void check(const Accesses& trace, const Machine& machine, const Division& division) {
  const auto host = make_data_path({}, machine, trace, division, 1).value();
  std::vector<NaiveLru> parts;
  for (const Count target : division.targets[0]) parts.emplace_back(target);
  auto discard = trace.discards.begin();
  std::vector<VmCounters> before = host->counters();
  const std::vector<VmCounters> first = before;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    for (; discard != trace.discards.end() && discard->request <= r; ++discard) {
      host->discard(std::span(&discard->block, 1));
      for (NaiveLru& part : parts) part.remove(discard->block);
    }
    host->replay(trace, {r, r + 1});
    const std::size_t vm = trace.request_vm[r];
    const bool hit =
        parts[division.part_of[vm]].access(trace.blocks_of(r)[0], Count{trace.request_bytes[r]});
    const std::vector<VmCounters> now = host->counters();
    const VmCounters span = now[vm].since(before[vm]);
    ASSERT_EQ(span.request_hits, hit ? 1 : 0) << "request " << r;
    ASSERT_EQ(span.byte_hits, hit ? Count{trace.request_bytes[r]} : 0) << "request " << r;
    Count held = 0;
    for (const VmCounters& counters : now) held += counters.tiers[0].occupancy;
    Count expected = 0;
    for (const NaiveLru& part : parts) expected += part.held();
    ASSERT_EQ(held, expected) << "request " << r;
    before = now;
  }
  EXPECT_TRUE(host->check_invariants().ok());
  for (std::size_t vm = 0; vm < kVms; ++vm) {
    EXPECT_TRUE(check_conservation(first[vm], before[vm]).ok());
    EXPECT_GT(before[vm].tiers[0].evictions, 0);
  }
  host->release(VmId(1));
  EXPECT_EQ(host->counters()[1].tiers[0].occupancy, 0);
  EXPECT_TRUE(host->check_invariants().ok());
}

TEST(WeighedHost, ServesAsListsOfObjects) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Accesses trace = drawn(seed);
    const Machine machine = in_bytes(4'000);
    check(trace, machine, shared_by_all(machine, trace));
    check(trace, machine, {.part_of = {0, 1, 2}, .targets = {{1'000, 2'000, 1'000}}});
  }
}

TEST(WeighedHost, RefusesWhatHasNoRule) {
  const Accesses trace = drawn(1);
  const Machine machine = in_bytes(100);
  const Division shared = shared_by_all(machine, trace);
  DataPathParams params;
  params.policy = "car";
  EXPECT_FALSE(check(params, {.machine = machine}).ok());
  EXPECT_FALSE(check(DataPathParams{}, {.machine =
                                            [] {
                                              Machine two = testing::machine_of({10, 20});
                                              two.in_bytes = true;
                                              return two;
                                            }()})
                   .ok());
  Division changing = shared;
  changing.changeable = true;
  EXPECT_FALSE(make_data_path({}, machine, trace, changing, 1).ok());
  Accesses without = trace;
  without.keeps_bytes = false;
  EXPECT_FALSE(make_data_path({}, machine, without, shared, 1).ok());
  const auto host = make_data_path({}, machine, trace, shared, 1).value();
  EXPECT_FALSE(host->resize(Allocation(1, kVms)).ok());
  EXPECT_TRUE(system_registry().make("static", {}, {.machine = machine}).value()->counts_bytes());
  EXPECT_FALSE(system_registry()
                   .make("multicache", {}, {.machine = testing::machine_of({10, 20})})
                   .value()
                   ->counts_bytes());
}

}  // namespace
}  // namespace mcsim
