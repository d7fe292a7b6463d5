#pragma once

#include <cstddef>
#include <vector>

#include "core/engine/run/system.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/locality/profile/meter_reader.hpp"

namespace mcsim {

// The meter readings that a system sees.
class MeterReadings {
 public:
  MeterReadings(const System& system, const Characterised& measured) {
    meters_ = system.meters();
    for (const MeterSpec& spec : meter_specs(system)) {
      readers_.emplace_back(*measured.find(spec));
      readers_.back().advance();
    }
  }

  void advance(std::size_t timer) {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (meters_[i].timer == timer) readers_[i].advance();
    }
  }
  void forget(VmId vm) {
    for (MeterReader& reader : readers_) reader.forget(vm);
  }
  std::vector<Reading> readings() const {
    std::vector<Reading> all;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      all.push_back(readers_[i].reading());
      all.back().name = meters_[i].name;
    }
    return all;
  }

 private:
  std::vector<Meter> meters_;
  std::vector<MeterReader> readers_;  // by meter
};

}  // namespace mcsim
