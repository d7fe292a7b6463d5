#include "core/containers/hyperloglog.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/types.hpp"

namespace mcsim {
namespace {

// Number of registers that merge() compares at once; divides the number of registers.
constexpr std::size_t kGroup = std::size_t{1} << HyperLogLog::kMinPrecision;

double error_of(int precision) { return 1.04 / std::sqrt(std::ldexp(1.0, precision)); }

// The bias correction of the harmonic mean.
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
    : precision_(precision), registers_(std::size_t{1} << precision) {
  clear();
}

absl::StatusOr<int> HyperLogLog::precision_for(double error) {
  for (int precision = kMinPrecision; precision <= kMaxPrecision; ++precision) {
    if (error_of(precision) <= error) return precision;
  }
  return invalid_argument("HyperLogLog cannot reach a standard error of {}: its best is {:.4f}",
                          error, error_of(kMaxPrecision));
}

double HyperLogLog::estimate() const {
  double sum = 0;
  for (std::size_t run = 0; run < registers_with_.size(); ++run) {
    if (registers_with_[run] == 0) continue;
    sum += std::ldexp(static_cast<double>(registers_with_[run]), -static_cast<int>(run));
  }
  const auto m = static_cast<double>(registers_.size());
  const double raw = alpha(registers_.size()) * m * m / sum;
  const auto zeros = static_cast<double>(registers_with_[0]);
  if (raw <= 2.5 * m && zeros > 0) return m * std::log(m / zeros);
  return raw;
}

void HyperLogLog::clear() {
  std::fill(registers_.begin(), registers_.end(), std::uint8_t{0});
  registers_with_.fill(0);
  registers_with_[0] = static_cast<std::uint32_t>(registers_.size());
}

absl::Status HyperLogLog::merge(const HyperLogLog& other) {
  if (other.precision_ != precision_) {
    return invalid_argument("HyperLogLog of precision {} cannot be merged with one of {}",
                            precision_, other.precision_);
  }
  // Most registers do not change if this sketch has seen many more keys.
  for (std::size_t group = 0; group < registers_.size(); group += kGroup) {
    std::array<std::uint8_t, kGroup> longest;
    std::transform(registers_.begin() + static_cast<std::ptrdiff_t>(group),
                   registers_.begin() + static_cast<std::ptrdiff_t>(group + kGroup),
                   other.registers_.begin() + static_cast<std::ptrdiff_t>(group), longest.begin(),
                   [](auto a, auto b) { return std::max(a, b); });
    if (std::memcmp(longest.data(), &registers_[group], kGroup) == 0) continue;
    for (std::size_t i = group; i < group + kGroup; ++i) {
      if (other.registers_[i] > registers_[i]) raise(registers_[i], other.registers_[i]);
    }
  }
  return absl::OkStatus();
}

double HyperLogLog::standard_error() const { return error_of(precision_); }

}  // namespace mcsim
