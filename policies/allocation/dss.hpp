#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/engine/hosts/classed_host.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {

enum class ClassesBy : std::uint8_t {
  kAuto,    // the column of the trace if there is one, else the size
  kSize,    // the size of a request in whole blocks
  kColumn,  // the column of the trace
};

template <>
struct Choices<ClassesBy> {
  static constexpr std::array names{std::pair{"auto", ClassesBy::kAuto},
                                    std::pair{"size", ClassesBy::kSize},
                                    std::pair{"column", ClassesBy::kColumn}};
};

// Differentiated Storage Services: requests have classes. Selective allocation always admits blocks
// of the most important classes, and others only while there is free space. Selective eviction
// evicts blocks of the least important class first. With one class it is LRU.
//
// Classes come from the source of the requests. A policy about users is a class for each VM here.
// File systems and databases that classify their requests correspond to a column of the trace.
// Without that column the request size determines the class: small requests rank first, as metadata
// and small files do.
class Dss final : public System {
 public:
  struct Params {
    PerVm classes;
    ClassesBy by = ClassesBy::kAuto;
    Count small = 4096;
    Count large = 65536;
    Count always = 2;

    static constexpr auto fields() {
      return std::tuple{
          Field{"classes", &Params::classes,
                "class of all requests of a VM, from 0 (most important) to 7; `by` determines the "
                "classes of VMs that are not named",
                0},
          Field{"by", &Params::by,
                "source of a request's class: its size (class 0, 1 or 2), the class column of the "
                "trace, or auto: the column if there is one, else the size"},
          Field{"small", &Params::small,
                "maximum size of a request of class 0, in bytes of whole blocks; not specified in "
                "the publication",
                0},
          Field{"large", &Params::large,
                "maximum size of a request of class 1, in bytes of whole blocks; larger requests "
                "are of class 2; not specified in the publication",
                0},
          Field{"always", &Params::always,
                "number of classes, from 0 on, that are admitted to a full cache by evicting other "
                "blocks; not specified in the publication",
                0, kMostClasses},
      };
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "dss",
      .summary =
          "Admits and evicts blocks by the class of their requests (Differentiated Storage "
          "Services).",
      .reference = "Mesnier, Chen, Luo, Akers: Differentiated storage services, SOSP 2011"};

  Dss(Params params, SystemContext context)
      : params_(std::move(params)), machine_(std::move(context.machine)) {}

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    experiment.classes = experiment.classes || params_.by != ClassesBy::kSize;
    return experiment;
  }
  bool needs_classes() const override { return params_.by == ClassesBy::kColumn; }

  bool can_delay_hits() const override { return false; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    constexpr double kNotNamed = -1;
    const bool by_column =
        params_.by == ClassesBy::kAuto ? trace.keeps_classes : params_.by == ClassesBy::kColumn;
    if (by_column && !trace.keeps_classes) {
      return invalid_argument("by: column: the trace has no column of classes");
    }
    MCSIM_ASSIGN_OR_RETURN(
        const std::vector<double> classes,
        per_vm("classes", params_.classes, trace.vms, kNotNamed, "a class from 0 to 7"));
    for (const double of_class : classes) {
      if (of_class == kNotNamed || is_class(of_class)) continue;
      return invalid_argument("classes: {} is not a class from 0 to 7", of_class);
    }
    const auto classify = [classes, by_column, small = params_.small, large = params_.large](
                              const Accesses& of, std::size_t request) -> std::size_t {
      const double of_vm = classes[of.request_vm[request]];
      if (of_vm != kNotNamed) return static_cast<std::size_t>(of_vm);
      if (by_column) return of.request_class[request];
      const Count bytes = static_cast<Count>(of.blocks_of(request).size()) * of.block_bytes;
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
