#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/types.hpp"
#include "core/containers/alias_table.hpp"
#include "core/containers/recency_list.hpp"
#include "core/trace/synthetic/synthetic.hpp"

// Generators for the locality models of synthetic workloads; each returns one extent a request.
namespace mcsim {

// A run of consecutive blocks that is always requested as a whole.
struct Extent {
  std::uint32_t first_block = 0;
  std::uint32_t bytes = 0;
};

// The blocks of one VM. Every extent is new, so components never share a block.
class BlockSpace {
 public:
  explicit BlockSpace(std::uint32_t block_bytes) : block_bytes_(block_bytes) {}

  std::uint32_t block_bytes() const { return block_bytes_; }

  Extent take(std::uint32_t bytes) {
    const Extent extent{static_cast<std::uint32_t>(next_), bytes};
    next_ += blocks_of(bytes);
    return extent;
  }

  std::uint32_t blocks_of(std::uint32_t bytes) const { return (bytes - 1) / block_bytes_ + 1; }

  // Whether all 2^32 block numbers are used; later extents would wrap around and are invalid.
  bool exhausted() const { return next_ > (std::uint64_t{1} << 32); }

 private:
  std::uint32_t block_bytes_;
  std::uint64_t next_ = 0;
};

// Draws the sizes of new extents.
class SizeMix {
 public:
  explicit SizeMix(std::span<const RequestSize> sizes);

  std::uint32_t draw(Random& random) const { return bytes_[table_.draw(random)]; }
  double mean_blocks(const BlockSpace& space) const;

 private:
  std::vector<std::uint32_t> bytes_;
  std::vector<double> weights_;
  AliasTable table_;
};

// Draws reuse distances from a hit-ratio curve: first a piece of the curve by its share, then a
// uniform distance in the piece.
class DistanceSampler {
 public:
  static constexpr Count kCold = -1;

  explicit DistanceSampler(const StackModel& model);

  // Returns a distance in blocks, or kCold.
  Count draw(Random& random) const;

 private:
  std::vector<Count> bounds_;  // piece i is [bounds_[i], bounds_[i + 1])
  AliasTable pieces_;          // the last one is cold
};

// Extents made in batches and returned one by one, so that cache misses overlap.
class ExtentBatch {
 public:
  static constexpr std::size_t kSize = 32;

  bool empty() const { return position_ == kSize; }
  Extent pop() { return extents_[position_++]; }
  std::span<Extent> refill() {
    position_ = 0;
    return extents_;
  }

 private:
  std::array<Extent, kSize> extents_{};
  std::size_t position_ = kSize;
};

class StackStream {
 public:
  StackStream(const StackModel& model, SizeMix sizes, const BlockSpace& space);
  Extent next(BlockSpace& space, Random& random) {
    if (batch_.empty()) refill(space, random);
    return batch_.pop();
  }

 private:
  void refill(BlockSpace& space, Random& random);

  DistanceSampler distances_;
  SizeMix sizes_;
  double mean_blocks_;
  RecencyList<Extent> stack_;
  ExtentBatch batch_;
};

class ZipfStream {
 public:
  ZipfStream(const ZipfModel& model, const SizeMix& sizes, BlockSpace& space, Random& random);
  Extent next(BlockSpace&, Random& random) {
    if (batch_.empty()) refill(random);
    return batch_.pop();
  }

 private:
  void refill(Random& random);

  std::vector<Extent> extents_;  // most popular first
  AliasTable ranks_;
  ExtentBatch batch_;
};

class LoopStream {
 public:
  LoopStream(const LoopModel& model, const SizeMix& sizes, BlockSpace& space, Random& random);
  Extent next(BlockSpace&, Random&) {
    if (position_ == extents_.size()) position_ = 0;
    return extents_[position_++];
  }

 private:
  std::vector<Extent> extents_;
  std::size_t position_ = 0;
};

class ScanStream {
 public:
  explicit ScanStream(SizeMix sizes) : sizes_(std::move(sizes)) {}
  Extent next(BlockSpace& space, Random& random) { return space.take(sizes_.draw(random)); }

 private:
  SizeMix sizes_;
};

using ExtentStream = std::variant<StackStream, ZipfStream, LoopStream, ScanStream>;

ExtentStream make_stream(const SyntheticComponent& component, BlockSpace& space, Random& random);

}  // namespace mcsim
