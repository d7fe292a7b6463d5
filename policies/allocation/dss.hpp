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
  kAuto,    // the trace, if it says
  kSize,    // of the blocks of a request
  kColumn,  // the trace says
};

template <>
struct Choices<ClassesBy> {
  static constexpr std::array names{std::pair{"auto", ClassesBy::kAuto},
                                    std::pair{"size", ClassesBy::kSize},
                                    std::pair{"column", ClassesBy::kColumn}};
};

// Differentiated Storage Services: requests have classes. What is of a class that matters is
// always let in, the rest only where there is room (selective allocation); and what is evicted
// first is of the class that matters least (selective eviction). With one class it is LRU.
//
// Classes come from whoever makes the requests: from policies about users, which is here a class
// for a VM, or from file systems and databases that know what they ask for, which is a column of
// classes in the trace. Without one it is that of the request's size: small ones come first, as of
// metadata and small files.
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
                "class of all requests of a VM, from 0, which matters most, to 7; `by` says what "
                "tells those of a VM not named",
                0},
          Field{"by", &Params::by,
                "what tells the class of a request: its size, which gives 0, 1 or 2, the trace's "
                "column of classes, or that if there is one and else the size"},
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

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    experiment.classes = experiment.classes || params_.by != ClassesBy::kSize;
    return experiment;
  }
  bool needs_classes() const override { return params_.by == ClassesBy::kColumn; }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    constexpr double kNotNamed = -1;
    const bool by_column =
        params_.by == ClassesBy::kAuto ? trace.keeps_classes : params_.by == ClassesBy::kColumn;
    if (by_column && !trace.keeps_classes) {
      return invalid_argument("by: column: the classes of the trace were not kept");
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
