#include "core/engine/tiers/dirty_tracker.hpp"

#include <algorithm>

namespace mcsim {
namespace {

// Trace times may begin before zero.
std::uint64_t since(Nanoseconds begin, Nanoseconds time) {
  return static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(begin);
}

}  // namespace

DirtyTracker::DirtyTracker(WriteRules rules, const Accesses& trace, Copies copies)
    : id_count_(trace.id_count()),
      rules_(std::move(rules)),
      begin_(trace.request_time.empty() ? 0 : trace.request_time[0]),
      next_flush_(static_cast<std::uint64_t>(rules_.flush_every)),
      bits_(copies == Copies::kOne ? trace.id_count() / 64 + 1 : 0),
      copies_(copies == Copies::kSeveral ? trace.id_count() + 7 : 0),
      tallies_(trace.vms.size()) {
  if (flushes() || limited()) queue_.emplace(trace.id_count());
  rules_.modes.resize(trace.vms.size(), WriteMode::kThrough);
  if (rules_.by_tier.empty()) {
    assign(rules_.modes);
  } else {
    assign_by_tier(rules_.by_tier);
  }
}

bool DirtyTracker::flush_due(Nanoseconds time) {
  const std::uint64_t now = since(begin_, time);
  if (!flushes() || now < next_flush_) return false;
  const auto period = static_cast<std::uint64_t>(rules_.flush_every);
  const std::uint64_t next = (now / period + 1) * period;
  next_flush_ = next > now ? next : std::numeric_limits<std::uint64_t>::max();
  return true;
}

std::size_t DirtyTracker::next_flush(const Accesses& trace, RequestRange range) const {
  if (!flushes()) return range.end;
  const auto times = std::span(trace.request_time).subspan(range.begin, range.end - range.begin);
  const auto due = std::ranges::partition_point(
      times, [&](Nanoseconds time) { return since(begin_, time) < next_flush_; });
  return range.begin + std::max<std::size_t>(1, static_cast<std::size_t>(due - times.begin()));
}

void DirtyTracker::add_counts(std::size_t vm, VmCounters& of) const {
  of.dirty = tallies_[vm].dirty;
  of.dirtied = tallies_[vm].dirtied;
  of.write_backs = tallies_[vm].write_backs;
  of.discarded_dirty = tallies_[vm].discarded;
  of.backend_writes += of.write_backs;
}

}  // namespace mcsim
