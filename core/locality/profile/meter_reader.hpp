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

// The values of a meter, by VM: one of the spans, as the kind of meter has it.
struct Reading {
  std::string_view name = {};  // under which a system declared the meter
  std::span<const RunningCurve> curves = {};
  std::span<const Load> loads = {};
  std::span<const Count> distinct = {};
  std::span<const Intensity> intensities = {};
  std::span<const ClassCounts> classes = {};
  std::span<const Responses> responses = {};
};

// A meter period by period, as a controller sees it.
class MeterReader {
 public:
  explicit MeterReader(const Metered& metered);

  // The next period begins; the first time it is the first. What has not been is nothing.
  void advance();
  // Of this VM nothing is known any more.
  void forget(VmId vm);

  Reading reading() const;

 private:
  void read_curves();

  Metered metered_;
  std::size_t begun_ = 0;        // periods
  std::vector<bool> forgotten_;  // by VM
  // By VM, as far as the meter has it.
  std::vector<RunningCurve> curves_;
  std::variant<std::vector<Load>, std::vector<Count>, std::vector<Intensity>,
               std::vector<ClassCounts>, std::vector<Responses>>
      rows_;
};

// What a curve is when so many periods have begun, added up from the first that it covers.
HitCurve curve_at(const Metered& metered, std::size_t begun, VmId vm);

}  // namespace mcsim
