#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/extent_placer.hpp"

namespace mcsim {

// EDT: places every extent on the device where it costs least. The cost of an extent is the larger
// of its shares of the device's space and of its operations, times the price of the device. Busy
// extents are therefore cheapest on fast devices, and idle ones on large devices. A tier takes the
// extents that save most there until its space or its operations are used up; the rest goes to the
// next cheapest device.
//
// An operation is a request, and keeps a device busy for the time of one block whatever its length.
// The backend has the number of drives that it needs, each with the operations of one drive.
// Powering down idle devices is not modelled.
class Edt final : public ExtentPlacer {
 public:
  struct Params : ExtentPlacer::Params {
    double memory = 0.5;
    double busy = 1;
    double drive_gb = 1000;

    static constexpr auto fields() {
      return std::tuple_cat(
          ExtentPlacer::Params::fields(),
          std::tuple{Field{"memory", &Params::memory,
                           "weight of past epochs in an extent's mean rate of operations (0: only "
                           "the last epoch); not specified in the publication",
                           0, 0.999},
                     Field{"busy", &Params::busy,
                           "maximum utilisation of a tier by the extents placed in it, as a share "
                           "of its time; not specified in the publication",
                           0, 1},
                     Field{"drive_gb", &Params::drive_gb,
                           "size of a drive of the backend, in units of 10^9 bytes; not specified "
                           "in the publication",
                           1e-9}});
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "edt",
      .summary =
          "Places each extent on the device where it costs least, by space and by operations "
          "(EDT).",
      .reference =
          "Guerra, Pucha, Glider, Belluomini, Rangaswami: Cost effective storage using extent "
          "based dynamic tiering, FAST 2011"};

  Edt(const Params& params, SystemContext context)
      : ExtentPlacer(params, std::move(context)),
        memory_(params.memory),
        busy_(params.busy),
        drive_gb_(params.drive_gb) {}

 protected:
  double score(const ExtentAccess&, Count) const override { return 1 - memory_; }
  void end_epoch(std::vector<double>& scores) const override;
  std::vector<std::size_t> wanted() const override;

 private:
  // Capacity and price of a device.
  struct Place {
    double price;       // dollars for the whole device
    double extents;     // extents that fit
    double operations;  // operations per epoch
  };
  std::vector<Place> places() const;
  // Return the cost in dollars of an extent with this number of operations per epoch.
  static double cost(const Place& place, double operations);

  double memory_;
  double busy_;
  double drive_gb_;
};

}  // namespace mcsim
