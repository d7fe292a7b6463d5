#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.hpp"

namespace mcsim {

// Estimates how many distinct keys it was given (Flajolet et al. 2007). A key's
// 64-bit hash picks one of 2^precision registers, which keeps the longest run
// of leading zeros it met; few keys are counted by the registers still at zero.
// O(1) per key, one byte a register, standard error 1.04 / sqrt(registers).
class HyperLogLog {
 public:
  static constexpr int kMinPrecision = 4;
  static constexpr int kMaxPrecision = 18;

  // `precision` is in [kMinPrecision, kMaxPrecision].
  explicit HyperLogLog(int precision);

  // The smallest precision whose standard error is at most `error`; fails where
  // kMaxPrecision is not enough.
  static absl::StatusOr<int> precision_for(double error);

  void add(std::uint64_t key);
  double estimate() const;
  void clear();
  // Afterwards this has met the keys of both; their precisions must agree.
  absl::Status merge(const HyperLogLog& other);

  int precision() const { return precision_; }
  double standard_error() const;

 private:
  int precision_;
  std::vector<std::uint8_t> registers_;
};

}  // namespace mcsim
