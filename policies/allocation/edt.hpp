#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/extent_placer.hpp"

namespace mcsim {

// EDT: every extent on the device where it costs least. A device is paid for by whatever an
// extent takes more of, its room or its operations, so that busy extents are cheapest on fast
// devices and idle ones on large ones. A tier takes what saves most there, until its room or its
// operations are used up; the rest goes where it costs least next.
//
// An operation is a request, and takes a device as long as one of a block keeps it busy: large
// requests use up no more. The backend has as many drives as it needs, each with the operations of
// one. Nothing is powered down.
class Edt final : public ExtentPlacer {
 public:
  struct Params : ExtentPlacer::Params {
    double memory = 0.5;
    double busy = 1;
    double drive_gb = 1000;

    static constexpr auto fields() {
      return std::tuple_cat(
          ExtentPlacer::Params::fields(),
          std::tuple{
              Field{"memory", &Params::memory,
                    "weight of the past in the mean rate of an extent (0: the last epoch "
                    "alone); the source is silent",
                    0, 0.999},
              Field{"busy", &Params::busy,
                    "share of its time that a tier may be busy with what is placed in it; "
                    "the source is silent",
                    0, 1},
              Field{"drive_gb", &Params::drive_gb,
                    "size of a drive of the backend, in 10^9 bytes; the source is silent", 1e-9}});
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "edt",
      .summary = "EDT: extents live where they cost least, by room and by operations.",
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
  // What a device can do and what it costs.
  struct Place {
    double price;       // of all of it, dollars
    double extents;     // that fit
    double operations;  // in an epoch
  };
  std::vector<Place> places() const;
  // Dollars of the device that an extent of so many operations an epoch takes.
  static double cost(const Place& place, double operations);

  double memory_;
  double busy_;
  double drive_gb_;
};

}  // namespace mcsim
