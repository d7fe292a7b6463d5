#include "core/trace/synthetic/extents.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/portable_math.hpp"

namespace mcsim {
namespace {

std::vector<double> weights_of(std::span<const RequestSize> sizes) {
  std::vector<double> weights;
  for (const RequestSize& size : sizes) weights.push_back(size.weight);
  return weights;
}

// Extents of the mix's sizes that cover exactly `blocks` blocks; the last one is shortened to fit.
std::vector<Extent> fixed_extents(Count blocks, const SizeMix& sizes, BlockSpace& space,
                                  Random& random) {
  std::vector<Extent> extents;
  extents.reserve(static_cast<std::size_t>(static_cast<double>(blocks) / sizes.mean_blocks(space)));
  const auto block_bytes = static_cast<Count>(space.block_bytes());
  while (blocks > 0) {
    const Count bytes = std::min<Count>(sizes.draw(random), blocks * block_bytes);
    extents.push_back(space.take(static_cast<std::uint32_t>(bytes)));
    blocks -= space.blocks_of(static_cast<std::uint32_t>(bytes));
  }
  return extents;
}

std::vector<double> zipf_weights(std::size_t count, double alpha) {
  std::vector<double> weights(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    weights[rank] = portable_exp2(-alpha * portable_log2(static_cast<double>(rank + 1)));
  }
  return weights;
}

// The number of pieces that approximate a straight line over log(blocks), for each doubling.
constexpr double kPiecesPerOctave = 16;

// Adds the pieces of the curve between two points.
void add_pieces(const HitRatioPoint& from, const HitRatioPoint& to, Interpolation interpolation,
                std::vector<Count>& bounds, std::vector<double>& shares) {
  const double rise = to.hit_ratio - from.hit_ratio;
  if (interpolation == Interpolation::kLinear || from.blocks == 0) {
    bounds.push_back(to.blocks);
    shares.push_back(rise);
    return;
  }
  const double first = portable_log2(static_cast<double>(from.blocks));
  const double octaves = portable_log2(static_cast<double>(to.blocks)) - first;
  const auto line = [&](double blocks) { return (portable_log2(blocks) - first) / octaves; };
  double drawn = 0;
  for (double step = 1; bounds.back() < to.blocks; ++step) {
    const double knot = std::ceil(portable_exp2(first + step / kPiecesPerOctave));
    const Count bound = std::min(static_cast<Count>(knot), to.blocks);
    if (bound == bounds.back()) continue;
    const double reached = line(static_cast<double>(bound));
    bounds.push_back(bound);
    shares.push_back(rise * (reached - drawn));
    drawn = reached;
  }
}

}  // namespace

SizeMix::SizeMix(std::span<const RequestSize> sizes)
    : weights_(weights_of(sizes)), table_(weights_) {
  for (const RequestSize& size : sizes) bytes_.push_back(size.bytes);
}

double SizeMix::mean_blocks(const BlockSpace& space) const {
  double blocks = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    blocks += weights_[i] * space.blocks_of(bytes_[i]);
  }
  return blocks / std::accumulate(weights_.begin(), weights_.end(), 0.0);
}

DistanceSampler::DistanceSampler(const StackModel& model) : pieces_(std::vector<double>{1.0}) {
  std::vector<double> shares;
  bounds_.push_back(0);
  HitRatioPoint from;
  for (const HitRatioPoint& to : model.curve) {
    add_pieces(from, to, model.interpolation, bounds_, shares);
    from = to;
  }
  shares.push_back(1 - from.hit_ratio);
  pieces_ = AliasTable(shares);
}

Count DistanceSampler::draw(Random& random) const {
  const std::size_t piece = pieces_.draw(random);
  if (piece + 1 == pieces_.size()) return kCold;
  const auto width = static_cast<std::uint64_t>(bounds_[piece + 1] - bounds_[piece]);
  return bounds_[piece] + static_cast<Count>(random.below(width));
}

StackStream::StackStream(const StackModel& model, SizeMix sizes, const BlockSpace& space)
    : distances_(model), sizes_(std::move(sizes)), mean_blocks_(sizes_.mean_blocks(space)) {}

void StackStream::refill(BlockSpace& space, Random& random) {
  const std::span<Extent> extents = batch_.refill();
  std::array<std::size_t, ExtentBatch::kSize> depths;
  std::size_t live = stack_.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Count distance = distances_.draw(random);
    if (distance == DistanceSampler::kCold) {
      depths[i] = live;
    } else {
      depths[i] = static_cast<std::size_t>(static_cast<double>(distance) / mean_blocks_);
    }
    if (depths[i] >= live) {
      extents[i] = space.take(sizes_.draw(random));
      ++live;
    }
  }
  stack_.use(depths, extents);
}

ZipfStream::ZipfStream(const ZipfModel& model, const SizeMix& sizes, BlockSpace& space,
                       Random& random)
    : extents_(fixed_extents(model.blocks, sizes, space, random)),
      ranks_(zipf_weights(extents_.size(), model.alpha)) {}

void ZipfStream::refill(Random& random) {
  const std::span<Extent> extents = batch_.refill();
  std::array<std::size_t, ExtentBatch::kSize> ranks;
  ranks_.draw(random, ranks);
  for (std::size_t i = 0; i < extents.size(); ++i) extents[i] = extents_[ranks[i]];
}

LoopStream::LoopStream(const LoopModel& model, const SizeMix& sizes, BlockSpace& space,
                       Random& random)
    : extents_(fixed_extents(model.blocks, sizes, space, random)) {}

ExtentStream make_stream(const SyntheticComponent& component, BlockSpace& space, Random& random) {
  SizeMix sizes(component.sizes);
  if (const auto* stack = std::get_if<StackModel>(&component.model)) {
    return StackStream(*stack, std::move(sizes), space);
  }
  if (const auto* zipf = std::get_if<ZipfModel>(&component.model)) {
    return ZipfStream(*zipf, sizes, space, random);
  }
  if (const auto* loop = std::get_if<LoopModel>(&component.model)) {
    return LoopStream(*loop, sizes, space, random);
  }
  return ScanStream(std::move(sizes));
}

}  // namespace mcsim
