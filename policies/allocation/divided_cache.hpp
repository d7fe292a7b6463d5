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
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// A system that knows one cache, of all tiers together, each VM of which has a part of its own:
// what a VM gets of it is spread over the tiers. A member says every period how many blocks each
// VM has from then on (divide()).
class DividedCache : public System {
 public:
  struct Params : DataPathParams {
    Duration period{0};
    ResizeMode resize_mode = ResizeMode::kEager;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"period", &Params::period,
                    "between two decisions (0: the experiment's interval); the source is silent",
                    0},
              Field{"resize_mode", &Params::resize_mode,
                    "how parts come to their new targets; the source is silent"},
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

  // The trace is known: what is kept by VM, and what the VMs get at first, which is equal parts
  // unless this changes them.
  virtual absl::Status begin(const Accesses& trace, std::vector<Count>& blocks) = 0;
  // What each VM gets from now on, in place of what it has: of VMs that are gone nothing, which
  // leaves their space free. Says why what was asked for cannot be had, if it cannot.
  virtual std::string divide(const Observation& seen, std::vector<Count>& blocks) = 0;
  // What divide() found out besides, for the decision to say.
  void note(std::string what) { note_ = std::move(what); }

  Count capacity() const { return capacity_; }  // of a host
  // By VM where it is; where several hosts are known, divide() may move it.
  std::vector<std::size_t>& host_of() { return host_of_; }
  const Machine& machine() const { return machine_; }

  static Count held(const VmCounters& vm);
  // Space that nobody has goes to the VMs that are there, in proportion to what they have.
  void share_free(const Observation& seen, std::vector<Count>& blocks) const;

 private:
  Params params_;
  Machine machine_;
  Nanoseconds period_;
  std::uint64_t seed_;
  Count capacity_ = 0;
  std::vector<std::size_t> host_of_;
  std::string note_;
};

// A system that moves pieces of one size from VM to VM.
class ChunkMover : public DividedCache {
 public:
  struct Params : DividedCache::Params {
    double chunk = 0.01;
    Count floor = 1;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"chunk", &Params::chunk,
                    "share of the cache that is moved at once; the source is silent", 0, 1},
              Field{"floor", &Params::floor, "chunks that no VM has to give; the source is silent",
                    0, 1'000},
          },
          DividedCache::Params::fields());
    }
  };

 protected:
  ChunkMover(const Params& params, SystemContext context);

  // Blocks that a VM with so many can give.
  Count spare(Count blocks) const { return std::clamp<Count>(blocks - floor_, 0, chunk_); }
  void move(std::size_t from, std::size_t to, std::vector<Count>& blocks) const;
  // Says so if the cache is too small for the floors of all VMs.
  std::string too_small(const Observation& seen) const;

 private:
  Count chunk_;
  Count floor_;
};

}  // namespace mcsim
