#include "core/locality/hyperloglog.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/base/random.hpp"
#include "core/base/types.hpp"

namespace mcsim {
namespace {

double error_of(int precision) { return 1.04 / std::sqrt(std::ldexp(1.0, precision)); }

// Corrects the bias of the harmonic mean.
double alpha(std::size_t registers) {
  switch (registers) {
    case 16:
      return 0.673;
    case 32:
      return 0.697;
    case 64:
      return 0.709;
    default:
      return 0.7213 / (1 + 1.079 / static_cast<double>(registers));
  }
}

}  // namespace

HyperLogLog::HyperLogLog(int precision)
    : precision_(precision), registers_(std::size_t{1} << precision) {}

absl::StatusOr<int> HyperLogLog::precision_for(double error) {
  for (int precision = kMinPrecision; precision <= kMaxPrecision; ++precision) {
    if (error_of(precision) <= error) return precision;
  }
  return invalid_argument("HyperLogLog cannot reach a standard error of {}: its best is {:.4f}",
                          error, error_of(kMaxPrecision));
}

void HyperLogLog::add(std::uint64_t key) {
  const std::uint64_t hash = mix64(key);
  // A sentinel bit ends the run of zeros where the hash does.
  const std::uint64_t rest = (hash << precision_) | (std::uint64_t{1} << (precision_ - 1));
  const auto run = static_cast<std::uint8_t>(1 + std::countl_zero(rest));
  std::uint8_t& longest = registers_[hash >> (64 - precision_)];
  longest = std::max(longest, run);
}

double HyperLogLog::estimate() const {
  std::array<Count, 65> registers_with{};
  for (const std::uint8_t run : registers_) ++registers_with[run];
  double sum = 0;
  for (std::size_t run = 0; run < registers_with.size(); ++run) {
    sum += std::ldexp(static_cast<double>(registers_with[run]), -static_cast<int>(run));
  }
  const auto m = static_cast<double>(registers_.size());
  const double raw = alpha(registers_.size()) * m * m / sum;
  const auto zeros = static_cast<double>(registers_with[0]);
  if (raw <= 2.5 * m && zeros > 0) return m * std::log(m / zeros);
  return raw;
}

void HyperLogLog::clear() { std::fill(registers_.begin(), registers_.end(), std::uint8_t{0}); }

absl::Status HyperLogLog::merge(const HyperLogLog& other) {
  if (other.precision_ != precision_) {
    return invalid_argument("HyperLogLog of precision {} cannot be merged with one of {}",
                            precision_, other.precision_);
  }
  std::transform(registers_.begin(), registers_.end(), other.registers_.begin(), registers_.begin(),
                 [](auto a, auto b) { return std::max(a, b); });
  return absl::OkStatus();
}

double HyperLogLog::standard_error() const { return error_of(precision_); }

}  // namespace mcsim
