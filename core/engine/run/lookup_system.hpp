#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/model/counters.hpp"
#include "core/engine/run/run.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim {

// A system for a trace of chains, as those of KV caches. The request of a chain is first a lookup:
// it reads each block from head to tail. Then it is a touch: it writes each block from tail to
// head. Each read and write is a request of one block. So LRU has heads of chains above their
// tails. A read hits if and only if its block belongs to the longest cached prefix:
//
// - blocks before it in the chain are more recent than a cached block, so that reading them first
//   changes no position below them;
// - no block after the first miss is cached.
//
// This class lets a system count lookups alone. Curves and working sets are those of reads, and the
// counters of its observations exclude touches. It moves no block.
class LookupSystem final : public System {
 public:
  explicit LookupSystem(std::shared_ptr<System> counted) : counted_(std::move(counted)) {
    if (counted_->keeps_addresses()) keep_addresses();
  }

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    return counted_->trace_view(experiment);
  }
  bool needs_classes() const override { return counted_->needs_classes(); }
  std::vector<Timer> timers() const override { return counted_->timers(); }
  std::vector<Meter> meters() const override;
  Actions actions() const override { return counted_->actions(); }
  Actions host_supports() const override { return counted_->host_supports(); }
  std::optional<ProbeSpec> probe() const override { return counted_->probe(); }
  std::optional<std::string> default_optimizer() const override {
    return counted_->default_optimizer();
  }
  absl::Status use_optimizer(std::shared_ptr<Optimizer> optimizer) override {
    return counted_->use_optimizer(std::move(optimizer));
  }
  bool divides_hosts() const override { return counted_->divides_hosts(); }
  bool counts_bytes() const override { return counted_->counts_bytes(); }
  bool can_delay_hits() const override { return false; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

  // Remove the touches from the counters of a run of this system.
  void remove_touches(RunResult& result) const;

 private:
  std::shared_ptr<System> counted_;
  Count touch_bytes_ = 0;  // of one touch, if the trace has bytes
};

// Return counters without writes, each of which is a request of one block.
VmCounters without_writes(const VmCounters& of, Count write_bytes);

}  // namespace mcsim
