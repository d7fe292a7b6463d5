#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/classed_host.hpp"
#include "core/engine/system.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {

// Differentiated Storage Services: requests have classes. What is of a class that matters is
// always let in, the rest only where there is room (selective allocation); and what is evicted
// first is of the class that matters least (selective eviction). With one class it is LRU.
//
// Classes come from policies about users, which is here a class for a VM: a trace with a column of
// classes is read with that as its VMs. Of other VMs it is that of the request's size: small ones
// come first, as of metadata and small files.
class Dss final : public System {
 public:
  struct Params {
    PerVm classes;
    Count small = 4096;
    Count large = 65536;
    Count always = 2;

    static constexpr auto fields() {
      return std::tuple{
          Field{"classes", &Params::classes,
                "class of all requests of a VM, from 0, which matters most, to 7; those of a VM "
                "not named are 0, 1 or 2 by their size",
                0},
          Field{"small", &Params::small,
                "bytes of the blocks of a request up to which it is of class 0; the source is "
                "silent",
                0},
          Field{"large", &Params::large,
                "those up to which it is of class 1, beyond which it is of class 2; the source is "
                "silent",
                0},
          Field{"always", &Params::always,
                "how many classes are let in where others have to leave for them; the source is "
                "silent",
                0, kMostClasses},
      };
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "dss",
      .summary = "Differentiated storage: classes of requests decide what comes in and what goes.",
      .reference = "Mesnier, Chen, Luo, Akers: Differentiated storage services, SOSP 2011"};

  Dss(Params params, SystemContext context)
      : params_(std::move(params)), machine_(std::move(context.machine)) {}

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    constexpr double kBySize = -1;
    MCSIM_ASSIGN_OR_RETURN(
        const std::vector<double> classes,
        per_vm("classes", params_.classes, trace.vms, kBySize, "a class from 0 to 7"));
    for (const double of_class : classes) {
      if (of_class == kBySize || is_class(of_class)) continue;
      return invalid_argument("classes: {} is not a class from 0 to 7", of_class);
    }
    const auto classify = [classes, small = params_.small, large = params_.large](
                              std::size_t vm, Op, Count bytes) -> std::size_t {
      if (classes[vm] != kBySize) return static_cast<std::size_t>(classes[vm]);
      return bytes <= small ? 0 : bytes <= large ? 1 : 2;
    };
    return std::make_unique<ClassedHost>(machine_, trace, static_cast<std::size_t>(params_.always),
                                         classify);
  }

 private:
  static bool is_class(double number) {
    return number < kMostClasses && number == static_cast<double>(static_cast<int>(number));
  }

  Params params_;
  Machine machine_;
};

}  // namespace mcsim
