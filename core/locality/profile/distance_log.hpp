#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mcsim {

// One reuse distance, and how often it occurred.
struct DistanceCount {
  std::uint32_t distance;
  std::uint32_t count;
  friend bool operator==(const DistanceCount&, const DistanceCount&) = default;
};

// The reuse distances of one VM over its whole trace, counted interval by interval; first
// accesses have none. Those of blocks that had been accessed in the same interval are kept
// apart: they are all that an interval knows by itself, and both together what it adds to the
// trace so far. Eight bytes for each distance that occurred in an interval.
class DistanceLog {
 public:
  // Of the interval that the next end_interval() ends. A distance may come more than once.
  void add_within(DistanceCount counted) { within_.push_back(counted); }
  void add_across(DistanceCount counted) { across_.push_back(counted); }
  void end_interval();
  // After the last interval.
  void shrink_to_fit();

  // Of blocks that had been accessed in the same interval.
  std::span<const DistanceCount> within(std::size_t interval) const;
  // Of blocks that had been accessed in earlier intervals alone.
  std::span<const DistanceCount> across(std::size_t interval) const;
  friend bool operator==(const DistanceLog&, const DistanceLog&) = default;

 private:
  std::vector<DistanceCount> within_;
  std::vector<DistanceCount> across_;
  std::vector<std::size_t> within_end_{0};  // one more than there are intervals
  std::vector<std::size_t> across_end_{0};
};

}  // namespace mcsim
