#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/locality/profile/running_curve.hpp"

namespace mcsim {

// The values of a meter, by VM: the span for its kind is set.
struct Reading {
  std::string_view name = {};  // from the system's declaration of the meter
  std::span<const RunningCurve> curves = {};
  std::span<const Load> loads = {};
  std::span<const Count> distinct = {};
  std::span<const Intensity> intensities = {};
  std::span<const ClassCounts> classes = {};
  std::span<const Responses> responses = {};
};

// A meter, period by period, as a controller reads it.
class MeterReader {
 public:
  explicit MeterReader(const MeterResult& metered);

  // Begins the next period; the first call begins the first. Without an ended period all values are
  // 0.
  void advance();
  // Clears this VM's values permanently.
  void forget(VmId vm);

  Reading reading() const;

 private:
  void read_curves();

  MeterResult metered_;
  std::size_t begun_ = 0;        // periods
  std::vector<bool> forgotten_;  // by VM
  // By VM; empty unless the meter has this kind of value.
  std::vector<RunningCurve> curves_;
  std::variant<std::vector<Load>, std::vector<Count>, std::vector<Intensity>,
               std::vector<ClassCounts>, std::vector<Responses>>
      rows_;
};

// Returns the curve after `begun` periods have begun, added up from the first period that it
// covers.
HitCurve curve_at(const MeterResult& metered, std::size_t begun, VmId vm);

}  // namespace mcsim
