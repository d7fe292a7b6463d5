#include "policies/wrappers/shards.hpp"

#include <utility>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 14;  // accesses that are divided at a time

// The capacity of a shard: the first ones have the blocks left over.
Count part_of(Count capacity, std::size_t shards, std::size_t shard) {
  const auto count = static_cast<Count>(shards);
  return capacity / count + (static_cast<Count>(shard) < capacity % count ? 1 : 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TierCache>> ShardedCache::make(const Params& params,
                                                              const PolicySetup& setup) {
  MCSIM_ASSIGN_OR_RETURN(const ComponentSpec spec, parse_component(params.policy));
  auto count = static_cast<std::size_t>(params.n);
  while (count > 1 && setup.capacity / static_cast<Count>(count) < params.least) count /= 2;
  Random random = Random(setup.seed).split(kInfo.name);
  const std::uint64_t salt = random();
  std::vector<std::unique_ptr<TierCache>> shards(count);
  for (std::size_t i = 0; i < count; ++i) {
    PolicySetup own = setup;
    own.capacity = part_of(setup.capacity, count, i);
    own.seed = random();
    MCSIM_ASSIGN_OR_RETURN(shards[i], make_wrapped(spec, own));
  }
  return std::unique_ptr<TierCache>(new ShardedCache(std::move(shards), setup, salt));
}

ShardedCache::ShardedCache(std::vector<std::unique_ptr<TierCache>> shards, const PolicySetup& setup,
                           std::uint64_t salt)
    : shards_(std::move(shards)),
      pieces_(shards_.size()),
      first_block_(setup.first_block),
      salt_(salt),
      has_strays_(setup.capacity < static_cast<Count>(shards_.size())) {
  claim_column(setup);
}

std::size_t ShardedCache::shard_of(BlockId block) const {
  const std::uint64_t hash = mix64((block - first_block_) ^ salt_) >> 32;
  return hash * shards_.size() >> 32;
}

std::size_t ShardedCache::home_of(BlockId block) const {
  const std::size_t shard = shard_of(block);
  if (!has_strays_ || shards_[shard]->contains(block)) return shard;
  return shards_[shard]->capacity() == 0 || shards_[0]->contains(block) ? 0 : shard;
}

absl::Status ShardedCache::replay(const AccessBatch<>& batch) {
  MCSIM_RETURN_IF_ERROR(batch.check());
  const CacheCounts before = sum_of_counts();
  for (std::size_t begin = 0; begin < batch.blocks.size(); begin += kPiece) {
    MCSIM_RETURN_IF_ERROR(replay_piece(batch.part(begin, kPiece)));
  }
  counts_ = counts_.plus(sum_of_counts().since(before));
  return absl::OkStatus();
}

absl::Status ShardedCache::replay_piece(const AccessBatch<>& batch) {
  for (Piece& piece : pieces_) {
    piece.blocks.clear();
    piece.ops.clear();
    piece.positions.clear();
  }
  for (std::size_t i = 0; i < batch.blocks.size(); ++i) {
    Piece& piece = pieces_[home_of(batch.blocks[i])];
    piece.blocks.push_back(batch.blocks[i]);
    if (!batch.ops.empty()) piece.ops.push_back(batch.ops[i]);
    piece.positions.push_back(i);
  }
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    Piece& piece = pieces_[shard];
    piece.hits.resize(batch.hits.empty() ? 0 : piece.blocks.size());
    MCSIM_RETURN_IF_ERROR(
        shards_[shard]->replay({.blocks = piece.blocks, .ops = piece.ops, .hits = piece.hits}));
    for (std::size_t i = 0; i < piece.hits.size(); ++i) {
      batch.hits[piece.positions[i]] = piece.hits[i];
    }
  }
  return absl::OkStatus();
}

void ShardedCache::resize(Count capacity, std::vector<BlockId>& victims) {
  has_strays_ = has_strays_ || capacity < static_cast<Count>(shards_.size());
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    shards_[i]->resize(part_of(capacity, shards_.size(), i), victims);
  }
}

CacheCounts ShardedCache::sum_of_counts() const {
  CacheCounts sum;
  for (const auto& shard : shards_) sum = sum.plus(shard->counts());
  return sum;
}

absl::Status ShardedCache::failure() const {
  for (const auto& shard : shards_) MCSIM_RETURN_IF_ERROR(shard->failure());
  return absl::OkStatus();
}

Count ShardedCache::size() const {
  Count size = 0;
  for (const auto& shard : shards_) size += shard->size();
  return size;
}

Count ShardedCache::capacity() const {
  Count capacity = 0;
  for (const auto& shard : shards_) capacity += shard->capacity();
  return capacity;
}

std::size_t ShardedCache::bytes() const {
  std::size_t bytes = 0;
  for (const auto& shard : shards_) bytes += shard->bytes();
  return bytes;
}

absl::Status ShardedCache::check() const {
  for (const auto& shard : shards_) MCSIM_RETURN_IF_ERROR(shard->check());
  return absl::OkStatus();
}

}  // namespace mcsim
