// Trusts: the caches of dense ids, which are their twins in conformance_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"
#include "core/containers/key_index.hpp"
#include "core/engine/policy/policy_cache.hpp"
#include "tests/support/policy_cases.hpp"

namespace mcsim {
namespace {

using testing::PolicyTrace;
using testing::Subject;

// A cache of raw keys, whatever its policy is.
class KeyedCache {
 public:
  virtual ~KeyedCache() = default;
  virtual bool access(std::uint64_t key) = 0;
  virtual void resize(Count capacity) = 0;
  virtual Count size() const = 0;
  virtual absl::Status check() const = 0;

  void evicted(std::uint64_t key) { victims.push_back(key); }
  std::vector<std::uint64_t> victims;
};

template <class P>
class KeyedCacheOf final : public KeyedCache {
 public:
  KeyedCacheOf(const ParamMap& params, Count capacity)
      : cache_(parse_params<typename P::Params>(params).value(), {.capacity = capacity},
               KeyIndex()) {}

  bool access(std::uint64_t key) override {
    const bool enters = !cache_.refuses() || cache_.contains(key) || cache_.capacity() == 0 ||
                        cache_.admits({.block = key}, *this);
    return enters && cache_.access({.block = key}, *this);
  }
  void resize(Count capacity) override { cache_.resize(capacity, *this); }
  Count size() const override { return cache_.size(); }
  absl::Status check() const override { return cache_.check(); }

 private:
  Cache<P, KeyIndex> cache_;
};

// A cache of raw keys, and what was handed out again in between, is one of dense ids.
void expect_the_same_on_raw_keys(
    std::string_view policy,
    const std::function<std::unique_ptr<KeyedCache>(const ParamMap&, Count capacity)>& make) {
  testing::for_each_case(
      policy, [&](const PolicyTrace& trace, const ParamMap& params, Count capacity) {
        const bool by_name = testing::goes_by_name(policy, params);
        const auto most = static_cast<Count>(by_name ? trace.unique : kNoSlot);
        if (capacity > most) return;
        Subject dense(policy, trace, params, capacity);
        const std::unique_ptr<KeyedCache> keyed = make(params, capacity);
        const auto key_of = [&](BlockId block) {
          return by_name ? std::uint64_t{block} : mix64(block % 7) << 20 | block;
        };
        Random random(3);
        const auto expect_same_victims = [&] {
          std::vector<std::uint64_t> expected;
          for (const BlockId block : dense.victims) expected.push_back(key_of(block));
          ASSERT_EQ(keyed->victims, expected);
          keyed->victims.clear();
        };
        for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
          if (random.below(200) == 0) {
            const auto size =
                static_cast<Count>(random.below(3 * static_cast<std::uint64_t>(capacity)));
            dense.resize(std::min(size, most));
            keyed->resize(std::min(size, most));
            expect_same_victims();
          }
          ASSERT_EQ(keyed->access(key_of(trace.blocks[i])), dense.access(i)) << "at access " << i;
          expect_same_victims();
        }
        EXPECT_EQ(keyed->size(), dense.cache().size());
        EXPECT_TRUE(keyed->check().ok()) << keyed->check().message();
      });
}

template <class P>
class RawKeys : public ::testing::Test {};

TYPED_TEST_SUITE(RawKeys, testing::AllPolicies, testing::PolicyNames);

TYPED_TEST(RawKeys, AreServedAsDenseIds) {
  if constexpr (OnlinePolicy<TypeParam>) {
    expect_the_same_on_raw_keys(
        TypeParam::kInfo.name,
        [](const ParamMap& params, Count capacity) -> std::unique_ptr<KeyedCache> {
          return std::make_unique<KeyedCacheOf<TypeParam>>(params, capacity);
        });
  }
}

}  // namespace
}  // namespace mcsim
