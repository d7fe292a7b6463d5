#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/mode_curves.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// A base class of systems that divide one cache into a partition for each VM. All tiers together
// are that cache, and the share of a VM is spread over them. divide() sets the sizes every period.
class DividedCache : public System {
 public:
  struct Params : DataPathParams {
    Duration period{0};
    ResizeMode resize_mode = ResizeMode::kEager;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"period", &Params::period,
                    "time between two decisions (0: the interval of the experiment); not specified "
                    "in the publication",
                    0},
              Field{"resize_mode", &Params::resize_mode,
                    "how partitions change to new targets: shrink at once (eager), evict only when "
                    "the tier is full (lazy), or evict their own blocks when they insert "
                    "(strict-own); not specified in the publication"},
          },
          DataPathParams::fields());
    }
  };

  std::vector<Timer> timers() const override {
    return {{.name = "sizes", .clock = {.period = period_}}};
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  DividedCache(const Params& params, SystemContext context);

  // Initialise the state of the VMs, once the trace is known. `blocks` has equal sizes, which the
  // function may change.
  virtual absl::Status begin(const Accesses& trace, std::vector<Count>& blocks) = 0;
  // Replace the current sizes by new ones. A departed VM gets 0, which leaves its space free.
  // Returns the reason if the requested sizes are infeasible, else an empty text.
  virtual std::string divide(const Observation& seen, std::vector<Count>& blocks) = 0;
  // Attach a note from divide() to the decision.
  void note(std::string what) { note_ = std::move(what); }

  Count capacity() const { return capacity_; }  // of one host
  // The host of each VM. With several hosts, divide() may change it.
  std::vector<std::size_t>& host_of() { return host_of_; }
  const Machine& machine() const { return machine_; }
  // The curves of the current decision, by the write mode of each VM.
  std::span<const RunningCurve> curves() const { return curves_; }
  // Append the curves of VMs that write around.
  std::vector<Meter> with_around(std::vector<Meter> meters) const {
    return with_curves_around(std::move(meters), params_, machine_.tiers.size());
  }

  static Count held(const VmCounters& vm);
  // Distribute free space to the VMs that are present, in proportion to their sizes.
  void share_free(const Observation& seen, std::vector<Count>& blocks) const;

 private:
  Params params_;
  Machine machine_;
  Nanoseconds period_;
  std::uint64_t seed_;
  Count capacity_ = 0;
  std::vector<std::size_t> host_of_;
  std::string note_;
  ModeCurves mode_curves_;
  std::span<const RunningCurve> curves_;
};

// A base class of systems that move chunks of one size between VMs.
class ChunkMover : public DividedCache {
 public:
  struct Params : DividedCache::Params {
    double chunk = 0.01;
    Count floor = 1;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"chunk", &Params::chunk,
                    "size of a chunk, as a share of the cache; not specified in the publication", 0,
                    1},
              Field{"floor", &Params::floor,
                    "number of chunks below which a VM does not shrink; not specified in the "
                    "publication",
                    0, 1'000},
          },
          DividedCache::Params::fields());
    }
  };

 protected:
  ChunkMover(const Params& params, SystemContext context);

  // Return the blocks that a VM of this size can give.
  Count spare(Count blocks) const { return std::clamp<Count>(blocks - floor_, 0, chunk_); }
  void move(std::size_t from, std::size_t to, std::vector<Count>& blocks) const;
  // Return an error text if the cache is too small for the floors of all VMs.
  std::string too_small(const Observation& seen) const;

 private:
  Count chunk_;
  Count floor_;
};

}  // namespace mcsim
