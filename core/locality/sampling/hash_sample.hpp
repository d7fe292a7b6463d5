#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mcsim {

// The lowest hashes met, each with a time, in one array that is both hash table and priority queue.
// A hash's home index is proportional to the hash. Entries are ordered by hash, each at its home
// or, if that is taken, at the next index that the order allows. Look-ups scan from the home on.
// The highest hash is the last entry; only it is ever removed, so gaps need no repair.
//
// Homes spread over the whole array while the hashes are uniform up to the limit. When the limit
// has fallen by an eighth, all entries get new homes. Whatever the hashes, all of them fit behind
// the last home. O(1) expected; 30 bytes an entry, all allocated by the constructor.
class HashSample {
 public:
  // All hashes are below this.
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  // Room for `max_size` entries, of hashes below `limit`.
  explicit HashSample(std::size_t max_size, std::uint64_t limit = kNone)
      : homes_(max_size + max_size / 2),
        hashes_(homes_ + max_size, kNone),
        times_(hashes_.size()),
        first_limit_(limit) {
    rescale(limit);
  }

  std::size_t size() const { return size_; }
  std::size_t bytes() const {
    return hashes_.size() * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
  }

  void clear() {
    std::fill(hashes_.begin(), hashes_.end(), kNone);
    size_ = end_ = 0;
    rescale(first_limit_);
  }

  // Returns the index of `hash`, or the index at which to insert it.
  std::size_t find(std::uint64_t hash) const {
    std::size_t at = home(hash);
    while (hashes_[at] < hash) ++at;
    return at;
  }
  bool holds(std::size_t at, std::uint64_t hash) const { return hashes_[at] == hash; }
  std::uint32_t& time(std::size_t at) { return times_[at]; }

  // Inserts a hash that is not in the sample at the index that find() returned.
  void insert(std::size_t at, std::uint64_t hash, std::uint32_t time) {
    ++size_;
    for (;; ++at) {
      std::swap(hashes_[at], hash);
      std::swap(times_[at], time);
      if (hash == kNone) break;
    }
    end_ = std::max(end_, at + 1);
  }

  std::uint64_t highest() const { return hashes_[end_ - 1]; }
  std::uint32_t highest_time() const { return times_[end_ - 1]; }

  // Removes the highest hash; only lower hashes may be inserted from now on.
  void pop_highest() {
    const std::uint64_t limit = hashes_[end_ - 1];
    hashes_[end_ - 1] = kNone;
    --size_;
    while (end_ > 0 && hashes_[end_ - 1] == kNone) --end_;
    if (limit < scaled_for_ - scaled_for_ / 8) respread(limit);
  }

  // Replaces every entry's time by renumber(time).
  template <class Renumber>
  void renumber_times(Renumber renumber) {
    for (std::size_t at = 0; at < end_; ++at) {
      if (hashes_[at] != kNone) times_[at] = renumber(times_[at]);
    }
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::size_t home(std::uint64_t hash) const {
    return static_cast<std::size_t>((static_cast<Wide>(hash) * scale_) >> 64);
  }

  // Sets the homes for hashes below `limit`: home = hash * homes / limit, with the factor times
  // 2^64.
  void rescale(std::uint64_t limit) {
    scaled_for_ = limit;
    const Wide scale = (static_cast<Wide>(homes_) << 64) / limit;
    // If the limit is below the number of homes, every hash is its own home.
    scale_ = static_cast<std::uint64_t>(std::min<Wide>(scale, kNone));
  }

  // Moves all entries to the end of the array, then each, lowest first, to its new home or behind
  // it, which is never behind its current index.
  void respread(std::uint64_t limit) {
    std::size_t waiting = hashes_.size();
    for (std::size_t at = end_; at-- > 0;) {
      if (hashes_[at] == kNone) continue;
      --waiting;
      hashes_[waiting] = hashes_[at];
      times_[waiting] = times_[at];
    }
    std::fill(hashes_.begin(), hashes_.begin() + static_cast<std::ptrdiff_t>(waiting), kNone);
    rescale(limit);
    end_ = 0;
    for (; waiting < hashes_.size(); ++waiting) {
      const std::uint64_t hash = hashes_[waiting];
      const std::uint32_t time = times_[waiting];
      hashes_[waiting] = kNone;
      end_ = std::max(end_, home(hash));
      hashes_[end_] = hash;
      times_[end_++] = time;
    }
  }

  std::size_t homes_;
  std::vector<std::uint64_t> hashes_;  // kNone where there is no entry
  std::vector<std::uint32_t> times_;
  std::size_t size_ = 0;
  std::size_t end_ = 0;  // one past the last entry
  std::uint64_t first_limit_;
  std::uint64_t scaled_for_ = kNone;
  std::uint64_t scale_ = 0;
};

}  // namespace mcsim
