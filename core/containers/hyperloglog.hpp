#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/status.hpp"

namespace mcsim {

// Estimate the number of distinct keys (Flajolet et al. 2007). A key's 64-bit hash selects one of
// 2^precision registers, which stores the longest run of leading zeros seen. Small numbers are
// estimated from the registers that are still zero. O(1) per key and per estimate, one byte a
// register, standard error 1.04 / sqrt(registers).
class HyperLogLog {
 public:
  static constexpr int kMinPrecision = 4;
  static constexpr int kMaxPrecision = 18;

  // `precision` is in [kMinPrecision, kMaxPrecision].
  explicit HyperLogLog(int precision);

  // The smallest precision with a standard error of at most `error`; fails if kMaxPrecision is not
  // enough.
  static absl::StatusOr<int> precision_for(double error);

  void add(std::uint64_t key) {
    const std::uint64_t hash = mix64(key);
    // A sentinel bit ends the run of zeros at the end of the hash.
    const std::uint64_t rest = (hash << precision_) | (std::uint64_t{1} << (precision_ - 1));
    const auto run = static_cast<std::uint8_t>(1 + std::countl_zero(rest));
    std::uint8_t& longest = registers_[hash >> (64 - precision_)];
    if (run > longest) raise(longest, run);
  }
  double estimate() const;
  void clear();
  // Add the keys of another sketch of the same precision.
  absl::Status merge(const HyperLogLog& other);

  int precision() const { return precision_; }
  // Memory in addition to the object itself.
  std::size_t bytes() const { return registers_.capacity(); }
  double standard_error() const;

 private:
  void raise(std::uint8_t& longest, std::uint8_t run) {
    --registers_with_[longest];
    ++registers_with_[run];
    longest = run;
  }

  int precision_;
  std::vector<std::uint8_t> registers_;
  // The number of registers with each value, so that estimate() need not scan the registers.
  std::array<std::uint32_t, 65> registers_with_{};
};

}  // namespace mcsim
