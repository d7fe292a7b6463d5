#include "core/locality/profile/request_classes.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/share.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

// References whose distances are held at once.
constexpr std::size_t kPiece = 1 << 16;

}  // namespace

absl::Status RequestClasses::process(const References& next) {
  if (next.ops.size() != next.keys.size()) {
    return invalid_argument(
        "request classes need to know of every reference whether it reads or "
        "writes; this trace does not tell");
  }
  for (std::size_t at = 0; at < next.keys.size(); at += kPiece) {
    MCSIM_RETURN_IF_ERROR(process_piece(next.subspan(at, std::min(kPiece, next.keys.size() - at))));
  }
  return absl::OkStatus();
}

absl::Status RequestClasses::process_piece(const References& piece) {
  const auto is_write = [&](std::size_t i) {
    return piece.ops[i] == static_cast<std::uint8_t>(Op::kWrite);
  };
  measured_.clear();
  for (std::size_t i = 0; i < piece.keys.size(); ++i) {
    if (count_writes_ || !is_write(i)) measured_.push_back(piece.keys[i]);
  }
  found_.resize(measured_.size());
  MCSIM_RETURN_IF_ERROR(engine_.process(measured_, found_));

  std::size_t measured = 0;
  for (std::size_t i = 0; i < piece.keys.size(); ++i) {
    const bool write = is_write(i);
    const Count distance = count_writes_ || !write ? found_[measured++] : kCold;
    const auto [last, is_new] = last_op_.try_emplace(piece.keys[i], piece.ops[i]);
    if (is_new) {
      ++cold_[write ? 1 : 0];
      continue;
    }
    const bool after_write =
        std::exchange(last->second, piece.ops[i]) == static_cast<std::uint8_t>(Op::kWrite);
    const std::size_t of = (write ? 2 : 0) + (after_write ? 1 : 0);
    ++seen_[of];
    if (distance == kCold) continue;
    std::vector<Count>& counts = with_distance_[of];
    const auto at = static_cast<std::size_t>(distance);
    if (at >= counts.size()) counts.resize(at + 1);
    ++counts[at];
  }
  return absl::OkStatus();
}

Count RequestClasses::accesses() const {
  return std::accumulate(seen_.begin(), seen_.end(), cold_[0] + cold_[1]);
}

double RequestClasses::fraction(RequestClass of) const {
  const Count all = accesses();
  return all == 0 ? 0 : static_cast<double>(accesses(of)) / static_cast<double>(all);
}

DistanceHistogram RequestClasses::distances(RequestClass of) const {
  const std::vector<Count>& counts = with_distance_[index(of)];
  DistanceHistogram histogram{.distance = {}, .count = {}, .cold = accesses(of)};
  for (std::size_t distance = 0; distance < counts.size(); ++distance) {
    if (counts[distance] == 0) continue;
    histogram.distance.push_back(static_cast<Count>(distance));
    histogram.count.push_back(counts[distance]);
    histogram.cold -= counts[distance];
  }
  return histogram;
}

Count RequestClasses::max_distance(RequestClass of) const {
  const DistanceHistogram histogram = distances(of);
  return histogram.distance.empty() ? -1 : histogram.distance.back();
}

DistanceHistogram RequestClasses::of_all(std::initializer_list<RequestClass> counted) const {
  DistanceHistogram sum;
  for (const RequestClass of : counted) sum.merge(distances(of));
  sum.cold += accesses() - sum.accesses();
  return sum;
}

DistanceHistogram RequestClasses::trd() const {
  return of_all({RequestClass::kRar, RequestClass::kRaw, RequestClass::kWar, RequestClass::kWaw});
}

DistanceHistogram RequestClasses::urd() const {
  return of_all({RequestClass::kRar, RequestClass::kRaw});
}

Count RequestClasses::urd_size(double quantile) const {
  const HitCurve curve(urd());
  return curve.capacity_for(ceil_share(quantile, curve.hits(curve.saturation())));
}

std::size_t RequestClasses::bytes() const {
  std::size_t sum = engine_.bytes() + bytes_of(last_op_) +
                    (measured_.capacity() + found_.capacity()) * sizeof(Count);
  for (const auto& counts : with_distance_) sum += counts.capacity() * sizeof(Count);
  return sum;
}

}  // namespace mcsim
