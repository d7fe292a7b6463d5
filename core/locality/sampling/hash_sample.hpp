#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mcsim {

// The lowest hashes met, each with a time, in one array that is hash table and
// priority queue at once: a hash's home is proportional to it, and entries stand
// in order of hash, each at its home or, where that is taken, as close behind as
// the order allows. Look-ups scan from the home on; the highest hash is the last
// entry, and as nothing else is ever removed, gaps need no repair.
//
// The homes spread over the array as long as the hashes are uniform up to the
// limit. When the limit has fallen by an eighth they are dealt out anew.
// Whatever the hashes, there is room behind the last home for all of them.
// O(1) expected; 30 bytes an entry, all taken by the constructor.
class HashSample {
 public:
  // Hashes are below this.
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

  // Where `hash` is, or should be.
  std::size_t find(std::uint64_t hash) const {
    std::size_t at = home(hash);
    while (hashes_[at] < hash) ++at;
    return at;
  }
  bool holds(std::size_t at, std::uint64_t hash) const { return hashes_[at] == hash; }
  std::uint32_t& time(std::size_t at) { return times_[at]; }

  // Adds a hash that is not there, at what find() said.
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

  // Removes the highest; only lower hashes may come from now on.
  void pop_highest() {
    const std::uint64_t limit = hashes_[end_ - 1];
    hashes_[end_ - 1] = kNone;
    --size_;
    while (end_ > 0 && hashes_[end_ - 1] == kNone) --end_;
    if (limit < scaled_for_ - scaled_for_ / 8) respread(limit);
  }

  // Gives every entry's time to `renumber` and keeps what it returns.
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

  // Homes for hashes below `limit`: hash * homes / limit, the factor times 2^64.
  void rescale(std::uint64_t limit) {
    scaled_for_ = limit;
    const Wide scale = (static_cast<Wide>(homes_) << 64) / limit;
    // Where the limit is below the homes, every hash is its own.
    scale_ = static_cast<std::uint64_t>(std::min<Wide>(scale, kNone));
  }

  // Deals out new homes: all entries to the end of the array, then each, lowest
  // first, to its place, which is never behind where it waits.
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
