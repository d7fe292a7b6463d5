#include "core/base/archive.hpp"
#include "core/engine/model/counters.hpp"

namespace mcsim {
namespace {

void archive_counters(auto& archive, VmCounters& of) {
  for (const auto& total : VmCounters::kTotals) archive(of.*total.second);
  for (const auto& level : VmCounters::kLevels) archive(of.*level.second);
  archive(of.reads_served, of.writes_served, of.tiers);
}

}  // namespace

void VmCounters::save(ArchiveWriter& to) { archive_counters(to, *this); }

void VmCounters::load(ArchiveReader& from) { archive_counters(from, *this); }

}  // namespace mcsim
