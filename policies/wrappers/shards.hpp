#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/registry.hpp"
#include "policies/wrappers/wrapped.hpp"

namespace mcsim {

// A cache in parts with fixed shares of the capacity, each under the policy. The hash of a block
// selects its shard. Blocks left over by the division go to the first shards.
//
// The number of shards is halved until each has at least `least` blocks, as in Guava. It stays
// when the capacity changes. While a shard has no space, the first shard takes its blocks.
class ShardedCache final : public TierCache {
 public:
  struct Params {
    Count n = 4;
    std::string policy = "lru";
    Count least = 1;

    static constexpr auto fields() {
      return std::tuple{
          Field{"n", &Params::n, "maximum number of shards", 1, 64},
          Field{"policy", &Params::policy, "wrapped policy: NAME or NAME(PARAM=VALUE,…)"},
          Field{"least", &Params::least,
                "minimum number of blocks of a shard, below which there are half as many", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "shards",
      .summary = "Divides the cache and the keys into equal parts by a hash, each under a policy.",
      .reference = "Guava, LocalCache; libraries that lock parts of a cache"};

  static absl::StatusOr<std::unique_ptr<TierCache>> make(const Params& params,
                                                         const PolicySetup& setup);

  absl::Status replay(const AccessBatch<>& batch) override;
  bool touch(const Access<>& a) override { return of(a.block).touch(a); }
  void insert(const Access<>& a, std::vector<BlockId>& victims) override {
    of(a.block).insert(a, victims);
  }
  bool take(BlockId block) override { return of(block).take(block); }
  bool discard(BlockId block) override { return of(block).discard(block); }
  using TierCache::resize;
  void resize(Count capacity, std::vector<BlockId>& victims) override;
  bool admits(const Access<>& a, std::vector<BlockId>& victims) override {
    return of(a.block).admits(a, victims);
  }
  bool selective() const override { return shards_[0]->selective(); }
  absl::Status failure() const override;
  bool contains(BlockId block) const override { return shards_[home_of(block)]->contains(block); }
  Count size() const override;
  Count capacity() const override;
  std::size_t bytes() const override;
  bool needs_next_use() const override { return false; }
  absl::Status check() const override;

  std::size_t shards() const { return shards_.size(); }
  // Return the shard that the hash selects.
  std::size_t shard_of(BlockId block) const;

 private:
  // The accesses of a batch to one shard, and their positions in the batch.
  struct Piece {
    std::vector<BlockId> blocks;
    std::vector<std::uint8_t> ops;
    std::vector<std::uint8_t> hits;
    std::vector<std::size_t> positions;
  };

  ShardedCache(std::vector<std::unique_ptr<TierCache>> shards, const PolicySetup& setup,
               std::uint64_t salt);

  // Return the shard that holds the block or would insert it.
  std::size_t home_of(BlockId block) const;
  TierCache& of(BlockId block) { return *shards_[home_of(block)]; }
  absl::Status replay_piece(const AccessBatch<>& batch);
  CacheCounts sum_of_counts() const;

  std::vector<std::unique_ptr<TierCache>> shards_;
  std::vector<Piece> pieces_;  // by shard
  BlockId first_block_;
  std::uint64_t salt_;
  bool has_strays_;  // whether the first shard may hold blocks of others
};

}  // namespace mcsim
