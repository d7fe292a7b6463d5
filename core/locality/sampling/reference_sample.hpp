#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mcsim {

// References of a stream at random, each as likely to be here as any other, however
// the blocks are sampled. Two of them are of one block with a probability that is the
// sum of the squares of the blocks' shares of all references: so they tell how uneven
// the blocks are, those included that a spatial sample does not have.
//
// From one that is kept to the next the distance is very nearly exponential, so that
// no loop and no run of references stays unseen. When there is no more room, half of
// them go, drawn by lot, and the distances double. A comparison a reference, O(1) for
// one that is kept; no floating point, and nothing is allocated after construction.
class ReferenceSample {
 public:
  static constexpr std::size_t kRoom = 2560;
  // Weights are in sixteenths of a reference.
  static constexpr int kFractionBits = 4;

  explicit ReferenceSample(std::uint64_t seed);

  // The position in the stream, from 0, of the next reference that is kept.
  std::uint64_t next() const { return next_; }
  // That is one to the block of this hash; if it were sampled spatially, it would count
  // with that weight. A weight of 0 stands for a block that need not be sampled.
  void keep(std::uint64_t hash, std::uint64_t weight);
  // Forgets all references.
  void clear();

  // What there is to know of sampling the blocks of a stream of so many references.
  struct Outlook {
    // References to each block that was looked at so often that these are known, and never
    // at a time when it was sampled.
    std::vector<double> absent = {};
    double absent_variance = 0;  // of the sum of these
    // Of the number of references to all other blocks that are sampled spatially, as scaled
    // up to the stream. Exact if every reference was kept.
    double variance = 0;
  };
  // A block is known from so many looks on.
  Outlook outlook(double accesses, std::size_t known_from) const;

  std::size_t bytes() const { return kRoom * sizeof(Kept); }

 private:
  struct Kept {
    std::uint32_t block;  // the upper half of its hash
    std::uint32_t weight;
    double variance() const;
    bool sampled() const;
  };

  void halve();
  std::uint64_t distance();
  std::uint64_t draw();  // the upper bits will do

  std::uint64_t seed_;
  std::uint64_t random_;
  std::uint64_t next_ = 0;
  int doublings_ = 0;  // of the mean distance
  std::vector<Kept> kept_;
};

}  // namespace mcsim
