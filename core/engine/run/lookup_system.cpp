#include "core/engine/run/lookup_system.hpp"

#include <span>
#include <variant>

namespace mcsim {
namespace {

std::vector<VmCounters> without_writes(std::span<const VmCounters> of, Count write_bytes) {
  std::vector<VmCounters> reads;
  for (const VmCounters& vm : of) reads.push_back(without_writes(vm, write_bytes));
  return reads;
}

}  // namespace

VmCounters without_writes(const VmCounters& of, Count write_bytes) {
  VmCounters reads = of;
  Count write_hits = 0;
  for (TierCounters& tier : reads.tiers) {
    write_hits += tier.write_hits;
    tier.hits -= tier.write_hits;
    tier.write_hits = 0;
    tier.updates = 0;
  }
  reads.requests -= of.writes;
  reads.request_hits -= write_hits;
  reads.bytes -= write_bytes * of.writes;
  reads.byte_hits -= write_bytes * write_hits;
  reads.accesses -= of.writes;
  reads.misses -= of.write_misses;
  reads.writes = 0;
  reads.write_misses = 0;
  reads.backend_writes = 0;
  reads.writes_served = {};
  return reads;
}

std::vector<Meter> LookupSystem::meters() const {
  std::vector<Meter> meters = counted_->meters();
  for (Meter& meter : meters) {
    if (auto* curve = std::get_if<CurveMeter>(&meter.what)) curve->ops = OpFilter::kReads;
    if (auto* distinct = std::get_if<DistinctMeter>(&meter.what)) distinct->ops = OpFilter::kReads;
    if (auto* share = std::get_if<IntensityMeter>(&meter.what)) share->ops = OpFilter::kReads;
  }
  return meters;
}

absl::StatusOr<std::unique_ptr<Host>> LookupSystem::make_host(const Accesses& trace) {
  touch_bytes_ = trace.keeps_bytes ? static_cast<Count>(trace.block_bytes) : 0;
  return counted_->make_host(trace);
}

absl::StatusOr<std::optional<Decision>> LookupSystem::decide(const Observation& seen) {
  const std::vector<VmCounters> counters = without_writes(seen.counters, touch_bytes_);
  const std::vector<VmCounters> since = without_writes(seen.since, touch_bytes_);
  Observation lookups = seen;
  lookups.counters = counters;
  lookups.since = since;
  return counted_->decide(lookups);
}

void LookupSystem::remove_touches(RunResult& result) const {
  for (std::vector<VmCounters>& interval : result.intervals) {
    interval = without_writes(interval, touch_bytes_);
  }
}

}  // namespace mcsim
