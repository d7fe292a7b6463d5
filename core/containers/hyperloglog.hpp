#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/status.hpp"

namespace mcsim {

// Estimates how many distinct keys it was given (Flajolet et al. 2007). A key's
// 64-bit hash picks one of 2^precision registers, which keeps the longest run
// of leading zeros it met; few keys are counted by the registers still at zero.
// O(1) per key and per estimate, one byte a register, standard error 1.04 / sqrt(registers).
class HyperLogLog {
 public:
  static constexpr int kMinPrecision = 4;
  static constexpr int kMaxPrecision = 18;

  // `precision` is in [kMinPrecision, kMaxPrecision].
  explicit HyperLogLog(int precision);

  // The smallest precision whose standard error is at most `error`; fails where
  // kMaxPrecision is not enough.
  static absl::StatusOr<int> precision_for(double error);

  void add(std::uint64_t key) {
    const std::uint64_t hash = mix64(key);
    // A sentinel bit ends the run of zeros where the hash does.
    const std::uint64_t rest = (hash << precision_) | (std::uint64_t{1} << (precision_ - 1));
    const auto run = static_cast<std::uint8_t>(1 + std::countl_zero(rest));
    std::uint8_t& longest = registers_[hash >> (64 - precision_)];
    if (run > longest) raise(longest, run);
  }
  double estimate() const;
  void clear();
  // Afterwards this has met the keys of both; their precisions must agree.
  absl::Status merge(const HyperLogLog& other);

  int precision() const { return precision_; }
  // Beside the object itself.
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
  // How many registers have each value, so that estimate() need not look.
  std::array<std::uint32_t, 65> registers_with_{};
};

}  // namespace mcsim
