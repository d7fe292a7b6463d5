#include "policies/replay/chains.hpp"

#include <algorithm>
#include <memory>

#include "policies/registry/eviction.hpp"

namespace mcsim {
namespace {

// Blocks between a prefetch and the access.
constexpr std::size_t kAhead = 8;

std::uint32_t cached_prefix(const TierCache& cache, std::span<const BlockId> chain) {
  const auto missing =
      std::ranges::find_if(chain, [&](BlockId block) { return !cache.contains(block); });
  return static_cast<std::uint32_t>(missing - chain.begin());
}

void access(TierCache& cache, BlockId block, std::vector<BlockId>& victims) {
  const Access<> a{.block = block, .op = Op::kRead};
  if (cache.touch(a)) return;
  if (cache.selective() && !cache.admits(a, victims)) return;
  cache.insert(a, victims);
}

void access_all(TierCache& cache, std::span<const BlockId> chain, bool head_first,
                std::vector<BlockId>& victims) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto at = [&](std::size_t k) { return head_first ? k : chain.size() - 1 - k; };
    if (i + kAhead < chain.size()) cache.prefetch_slot(chain[at(i + kAhead)]);
    access(cache, chain[at(i)], victims);
    victims.clear();
  }
}

absl::StatusOr<std::unique_ptr<TierCache>> make_cache(const Chains& chains,
                                                      const CacheConfig& config) {
  const PolicySetup setup{
      .capacity = config.capacity, .blocks = chains.unique, .seed = config.seed};
  return eviction_registry().make(config.policy, config.params, setup);
}

// Tiers of LRU from the fastest on. A tier without space has no cache.
class CopyTiers {
 public:
  CopyTiers(std::span<const Count> tiers, std::size_t unique) {
    for (const Count capacity : tiers) {
      const PolicySetup setup{.capacity = std::max<Count>(capacity, 1), .blocks = unique};
      caches_.push_back(capacity > 0 ? eviction_registry().make("lru", {}, setup).value()
                                     : nullptr);
    }
  }

  std::size_t tier_of(BlockId block) const {
    const auto holds = [&](const auto& cache) { return cache && cache->contains(block); };
    return static_cast<std::size_t>(std::ranges::find_if(caches_, holds) - caches_.begin());
  }

  void access(BlockId block) {
    if (const std::size_t tier = tier_of(block); tier > 0 && tier < caches_.size()) {
      caches_[tier]->touch({.block = block});
    }
    copy_from(block);
  }

 private:
  // Touch the block in the first tier, and each victim in the tier after its own.
  void copy_from(BlockId block) {
    for (const auto& cache : caches_) {
      if (!cache) continue;
      victims_.clear();
      if (cache->touch({.block = block})) return;
      cache->insert({.block = block}, victims_);
      if (victims_.empty()) return;
      block = victims_.front();
    }
  }

  std::vector<std::unique_ptr<TierCache>> caches_;
  std::vector<BlockId> victims_;
};

}  // namespace

absl::Status check_chains(const Chains& chains) {
  const auto starts = chains.starts;
  if (starts.empty() || starts.front() != 0 || !std::ranges::is_sorted(starts) ||
      static_cast<std::size_t>(starts.back()) != chains.blocks.size()) {
    return invalid_argument("starts: expected indices from 0 to the number of blocks, {}",
                            chains.blocks.size());
  }
  return check_blocks(chains.blocks, chains.unique);
}

std::size_t count_conflicts(const Chains& chains) {
  // Blocks are below 2^31.
  constexpr std::uint32_t kRoot = 0xffffffff;
  constexpr std::uint32_t kUnknown = kRoot - 1;
  constexpr std::uint32_t kSeveral = kRoot - 2;
  std::vector<std::uint32_t> parents(chains.unique, kUnknown);
  std::size_t conflicts = 0;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const std::span<const BlockId> chain = chains.chain(i);
    std::uint32_t parent = kRoot;
    for (const std::uint32_t block : numbers_of(chain)) {
      std::uint32_t& known = parents[block];
      if (known == kUnknown) {
        known = parent;
      } else if (known != parent && known != kSeveral) {
        known = kSeveral;
        ++conflicts;
      }
      parent = block;
    }
  }
  return conflicts;
}

absl::StatusOr<std::vector<std::uint32_t>> replay_blocks(const Chains& chains,
                                                         const CacheConfig& config,
                                                         bool head_first) {
  MCSIM_ASSIGN_OR_RETURN(const auto cache, make_cache(chains, config));
  if (cache->needs_next_use() || cache->needs_times()) {
    return invalid_argument("{}: needs the next use or the time of accesses", config.policy);
  }
  std::vector<std::uint32_t> hits(chains.size());
  std::vector<BlockId> victims;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    hits[i] = cached_prefix(*cache, chains.chain(i));
    access_all(*cache, chains.chain(i), head_first, victims);
  }
  const absl::Status checked = cache->check();
  if (!checked.ok()) return internal_error("{}: {}", config.policy, message_of(checked));
  return hits;
}

absl::Status check_divisions(const Divisions& divisions, std::size_t requests) {
  if (divisions.tenant.size() != requests || divisions.division.size() != requests) {
    return invalid_argument("divisions: expected a tenant and a division for each request");
  }
  const std::size_t rows = divisions.tenants == 0 ? 0 : divisions.parts.size() / divisions.tenants;
  const auto is_below = [](std::size_t end) { return [end](std::size_t i) { return i < end; }; };
  if (divisions.parts.size() != rows * divisions.tenants ||
      !std::ranges::all_of(divisions.tenant, is_below(divisions.tenants)) ||
      !std::ranges::all_of(divisions.division, is_below(rows)) ||
      std::ranges::any_of(divisions.parts, [](Count part) { return part < 0; })) {
    return invalid_argument("divisions: expected a part for each tenant, at least 0");
  }
  return absl::OkStatus();
}

std::vector<std::uint32_t> replay_parts(const Chains& chains, const Divisions& divisions) {
  std::vector<std::unique_ptr<TierCache>> caches;
  for (std::size_t tenant = 0; tenant < divisions.tenants; ++tenant) {
    const PolicySetup setup{.blocks = chains.unique};
    caches.push_back(eviction_registry().make("lru", {}, setup).value());
  }
  std::vector<std::uint32_t> hits(chains.size());
  std::vector<BlockId> victims;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    if (i == 0 || divisions.division[i] != divisions.division[i - 1]) {
      for (std::size_t tenant = 0; tenant < divisions.tenants; ++tenant) {
        caches[tenant]->resize(divisions.part(divisions.division[i], tenant));
      }
    }
    TierCache& cache = *caches[divisions.tenant[i]];
    if (cache.capacity() == 0) continue;
    hits[i] = cached_prefix(cache, chains.chain(i));
    access_all(cache, chains.chain(i), false, victims);
  }
  return hits;
}

std::vector<std::uint8_t> replay_copies(const Chains& chains, std::span<const Count> tiers) {
  CopyTiers caches(tiers, chains.unique);
  std::vector<std::uint8_t> found(chains.blocks.size(), static_cast<std::uint8_t>(tiers.size()));
  auto next = found.begin();
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const std::span<const BlockId> chain = chains.chain(i);
    auto of_block = next;
    for (const BlockId block : chain) {
      const std::size_t tier = caches.tier_of(block);
      if (tier == tiers.size()) break;
      *of_block++ = static_cast<std::uint8_t>(tier);
    }
    next += static_cast<std::ptrdiff_t>(chain.size());
    for (std::size_t k = chain.size(); k-- > 0;) caches.access(chain[k]);
  }
  return found;
}

}  // namespace mcsim
