#include "core/locality/distances/byte_distances.hpp"

#include <algorithm>
#include <boost/sort/spreadsort/integer_sort.hpp>
#include <cmath>

#include "core/base/guarded.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {

PrefixSums::PrefixSums(std::size_t size) : weights_(size) {
  while (size > 1) {
    size = (size >> kBits) + 1;
    levels_.emplace_back(size);
  }
}

void PrefixSums::set(std::size_t at, std::uint32_t weight) {
  weights_[at] = weight;
  total_ += weight;
  for (Pages<Count>& level : levels_) level[at >>= kBits] += weight;
}

void PrefixSums::clear(std::size_t at) {
  const Count weight = weights_[at];
  weights_[at] = 0;
  total_ -= weight;
  for (Pages<Count>& level : levels_) level[at >>= kBits] -= weight;
}

// Of each level, the entries of the last group, before the place.
Count PrefixSums::before(std::size_t end) const {
  const auto add_group = [&](const auto* entries) {
    Count sum = 0;
    for (std::size_t i = end >> kBits << kBits; i < end; ++i) sum += entries[i];
    end >>= kBits;
    return sum;
  };
  Count sum = add_group(weights_.data());
  for (const Pages<Count>& level : levels_) sum += add_group(level.data());
  return sum;
}

std::size_t PrefixSums::bytes() const {
  std::size_t bytes = weights_.bytes();
  for (const Pages<Count>& level : levels_) bytes += level.bytes();
  return bytes;
}

ByteDistances::ByteDistances(std::size_t objects)
    : last_(objects),
      object_at_(2 * objects + 1),
      axis_(object_at_.size()),
      size_(object_at_.size()) {}

Count ByteDistances::access(std::uint32_t object, std::uint32_t bytes) {
  if (end_ == size_) compact();
  std::uint32_t& last = last_[object];
  Count others = kCold;
  if (last != 0) {
    others = axis_.total() - axis_.before(last);
    axis_.clear(last - 1);
  }
  axis_.set(end_, bytes);
  object_at_[end_] = object;
  last = static_cast<std::uint32_t>(++end_);
  return others;
}

std::size_t ByteDistances::bytes() const {
  return last_.bytes() + object_at_.bytes() + axis_.bytes();
}

void ByteDistances::compact() {
  std::size_t to = 0;
  for (std::size_t from = 0; from < end_; ++from) {
    const std::uint32_t weight = axis_[from];
    if (weight == 0) continue;
    const std::uint32_t object = object_at_[from];
    axis_.clear(from);
    axis_.set(to, weight);
    object_at_[to] = object;
    last_[object] = static_cast<std::uint32_t>(++to);
  }
  end_ = to;
}

namespace {

struct Reuse {
  Count distance;
  std::uint32_t bytes;
};

CurveEstimate curve_of(std::vector<Reuse> reuses) {
  boost::sort::spreadsort::integer_sort(
      reuses.begin(), reuses.end(),
      [](const Reuse& reuse, unsigned shift) { return reuse.distance >> shift; },
      [](const Reuse& a, const Reuse& b) { return a.distance < b.distance; });
  CurveEstimate curve;
  Count hits = 0;
  Count bytes = 0;
  for (std::size_t i = 0; i < reuses.size(); ++i) {
    ++hits;
    bytes += reuses[i].bytes;
    if (i + 1 < reuses.size() && reuses[i + 1].distance == reuses[i].distance) continue;
    curve.capacity.push_back(static_cast<double>(reuses[i].distance));
    curve.hits.push_back(static_cast<double>(hits));
    curve.byte_hits.push_back(static_cast<double>(bytes));
  }
  return curve;
}

absl::Status check_columns(std::span<const std::uint32_t> objects,
                           std::span<const std::uint32_t> bytes, std::size_t unique) {
  if (objects.size() != bytes.size()) {
    return invalid_argument("bytes: {} of them for {} accesses", bytes.size(), objects.size());
  }
  constexpr auto kMost = static_cast<std::size_t>(DistanceOptions::kMaxBlocks);
  if (unique >= kMost) return too_many_blocks(DistanceOptions::kMaxBlocks);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] >= unique)
      return invalid_argument("object {} of a trace of {}", objects[i], unique);
    if (bytes[i] == 0) return invalid_argument("bytes[{}]: expected at least 1, got 0", i);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Count>> byte_distances(std::span<const std::uint32_t> objects,
                                                  std::span<const std::uint32_t> bytes,
                                                  std::size_t unique) {
  return guarded("byte_distances", [&]() -> absl::StatusOr<std::vector<Count>> {
    MCSIM_RETURN_IF_ERROR(check_columns(objects, bytes, unique));
    ByteDistances distances(unique);
    std::vector<Count> found(objects.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i] = distances.access(objects[i], bytes[i]);
    }
    return found;
  });
}

absl::StatusOr<ByteCurve> byte_curve(std::span<const std::uint32_t> objects,
                                     std::span<const std::uint32_t> bytes, std::size_t unique,
                                     const ByteCurveOptions& options) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  constexpr std::size_t kFar = 24;  // how many accesses ahead
  constexpr std::size_t kNear = 12;
  return guarded("byte_curve", [&]() -> absl::StatusOr<ByteCurve> {
    MCSIM_RETURN_IF_ERROR(check_columns(objects, bytes, unique));
    if (!(options.rate > 0 && options.rate <= 1)) {
      return out_of_range("rate: {} is outside (0, 1]", options.rate);
    }
    const std::size_t warm_up = std::min(options.warm_up, objects.size());
    ByteDistances distances(unique);
    std::vector<Reuse> reuses;
    Count all_bytes = 0;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (i + kFar < objects.size()) distances.prefetch_last(objects[i + kFar]);
      if (i + kNear < objects.size()) distances.prefetch_axis(objects[i + kNear]);
      const Count others = distances.access(objects[i], bytes[i]);
      if (i % kPiece == kPiece - 1 && options.tick) {
        MCSIM_RETURN_IF_ERROR(options.tick(static_cast<Count>(i + 1)));
      }
      if (i < warm_up) continue;
      all_bytes += bytes[i];
      if (others == kCold) continue;
      const double scaled = std::ceil(static_cast<double>(others) / options.rate);
      reuses.push_back({static_cast<Count>(scaled) + bytes[i], bytes[i]});
    }
    const std::size_t held = distances.bytes() + reuses.capacity() * sizeof(Reuse);
    ByteCurve curve{.hits = curve_of(std::move(reuses)), .bytes = held};
    curve.hits.accesses = static_cast<double>(objects.size() - warm_up);
    curve.hits.bytes = static_cast<double>(all_bytes);
    curve.hits.resolved_from = bytes.empty() ? 0 : std::ranges::max(bytes);
    return curve;
  });
}

}  // namespace mcsim
