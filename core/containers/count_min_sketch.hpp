#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/archive.hpp"
#include "core/base/pages.hpp"
#include "core/base/random.hpp"

namespace mcsim {

// Estimate how often keys occur with counters of four bits: a count-min sketch of four rows
// (Cormode, Muthukrishnan: "An improved data stream summary", 2005). The four counters of a key lie
// in one cache line. Estimates are never too low, except that counters saturate at 15 and halve()
// reduces them.
//
// Half a byte a counter; the number of counters is rounded up to a power of two.
class CountMinSketch {
 public:
  explicit CountMinSketch(std::size_t counters) { reserve(counters); }

  // Loses all counts if the sketch has to grow.
  void reserve(std::size_t counters) {
    const std::size_t lines = std::bit_ceil(std::max<std::size_t>(1, counters / kCounters));
    if (lines > lines_.size()) lines_ = Pages<Line>(lines);
  }

  std::uint32_t estimate(std::uint64_t key) const {
    const std::uint64_t hash = mix64(key);
    const Line& line = line_of(hash);
    std::uint64_t least = kMax;
    for (std::size_t row = 0; row < kRows; ++row) {
      const Place at = place(hash, row);
      least = std::min(least, line[at.word] >> at.shift & kMax);
    }
    return static_cast<std::uint32_t>(least);
  }

  // Increment the counters of the key that are below the maximum; return false if all are
  // saturated.
  bool add(std::uint64_t key) {
    const std::uint64_t hash = mix64(key);
    Line& line = line_of(hash);
    bool added = false;
    for (std::size_t row = 0; row < kRows; ++row) {
      const Place at = place(hash, row);
      const bool counts = (line[at.word] >> at.shift & kMax) != kMax;
      line[at.word] += static_cast<std::uint64_t>(counts) << at.shift;
      added |= counts;
    }
    return added;
  }
  // Increment only the smallest counters of the key: closer estimates that are still not too low
  // (Estan, Varghese: "New directions in traffic measurement", 2002).
  bool add_to_least(std::uint64_t key) {
    const std::uint64_t least = estimate(key);
    if (least == kMax) return false;
    const std::uint64_t hash = mix64(key);
    Line& line = line_of(hash);
    for (std::size_t row = 0; row < kRows; ++row) {
      const Place at = place(hash, row);
      const bool counts = (line[at.word] >> at.shift & kMax) == least;
      line[at.word] += static_cast<std::uint64_t>(counts) << at.shift;
    }
    return true;
  }

  // Age all counters.
  void halve() {
    for (Line& line : lines_) {
      for (std::uint64_t& word : line) word = word >> 1 & 0x7777'7777'7777'7777ULL;
    }
  }

  void save(ArchiveWriter& to) { to(lines_); }
  void load(ArchiveReader& from) { from.read_hashed(lines_); }
  std::size_t bytes() const { return lines_.size() * sizeof(Line); }

 private:
  static constexpr std::size_t kRows = 4;
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kCounters = 16 * kWords;  // in a line
  static constexpr std::uint64_t kMax = 15;

  using Line = std::array<std::uint64_t, kWords>;

  // A row is two words of a line, that is, 32 counters.
  struct Place {
    std::size_t word;
    std::uint64_t shift;
  };
  static Place place(std::uint64_t hash, std::size_t row) {
    const std::uint64_t bits = hash >> (44 + 5 * row);
    return {.word = 2 * row + (bits & 1), .shift = (bits >> 1 & 15) * 4};
  }
  const Line& line_of(std::uint64_t hash) const { return lines_[hash & (lines_.size() - 1)]; }
  Line& line_of(std::uint64_t hash) { return lines_[hash & (lines_.size() - 1)]; }

  Pages<Line> lines_;
};

}  // namespace mcsim
