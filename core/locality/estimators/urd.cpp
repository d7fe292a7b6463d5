#include "core/locality/estimators/urd.hpp"

#include <algorithm>

#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {

absl::Status UrdEstimator::process(const References& next) {
  constexpr std::size_t kPiece = 1 << 16;
  if (next.ops.size() != next.keys.size()) {
    return invalid_argument(
        "urd needs the operation of every reference: expected a trace with operations");
  }
  return for_each_run(
      next,
      [&](const References& run) -> absl::Status {
        for (std::size_t at = 0; at < run.keys.size(); at += kPiece) {
          MCSIM_RETURN_IF_ERROR(
              process_piece(run.subspan(at, std::min(kPiece, run.keys.size() - at))));
        }
        return absl::OkStatus();
      },
      [&](std::uint64_t key) { engine_.discard(key); });
}

absl::Status UrdEstimator::process_piece(const References& piece) {
  const auto is_read = [&](std::size_t i) { return static_cast<Op>(piece.ops[i]) == Op::kRead; };
  keys_.clear();
  for (std::size_t i = 0; i < piece.keys.size(); ++i) {
    blocks_.try_emplace(piece.keys[i], 0);
    if (count_writes_ || is_read(i)) keys_.push_back(piece.keys[i]);
  }
  distances_.resize(keys_.size());
  MCSIM_RETURN_IF_ERROR(engine_.process(keys_, distances_));
  accesses_ += static_cast<Count>(piece.keys.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < piece.keys.size(); ++i) {
    if (!count_writes_ && !is_read(i)) continue;
    const Count distance = distances_[next++];
    if (distance == kCold || !is_read(i)) continue;
    const auto at = static_cast<std::size_t>(distance);
    if (at >= reads_.size()) reads_.resize(at + 1);
    ++reads_[at];
  }
  return absl::OkStatus();
}

DistanceHistogram UrdEstimator::histogram() const {
  DistanceHistogram histogram{.distance = {}, .count = {}, .cold = accesses_};
  for (std::size_t distance = 0; distance < reads_.size(); ++distance) {
    if (reads_[distance] == 0) continue;
    histogram.distance.push_back(static_cast<Count>(distance));
    histogram.count.push_back(reads_[distance]);
    histogram.cold -= reads_[distance];
  }
  return histogram;
}

std::size_t UrdEstimator::bytes() const {
  return sizeof *this + engine_.bytes() + bytes_of(blocks_) +
         (keys_.capacity() + distances_.capacity() + reads_.capacity()) * sizeof(Count);
}

}  // namespace mcsim
