#include "core/engine/tiers/fetches.hpp"

#include <algorithm>
#include <limits>

#include "core/base/status.hpp"

namespace mcsim {
namespace {

// A fetch in a file.
struct SavedFetch {
  Nanoseconds began;
  Nanoseconds takes;
  std::uint64_t block;
  std::uint64_t from;
};

}  // namespace

// Fetches that ended before the last one began are left out.
void Fetches::save(ArchiveWriter& to) {
  Nanoseconds last = std::numeric_limits<Nanoseconds>::min();
  for (const Fetch& fetch : fetches_) {
    if (fetch.from > 0) last = std::max(last, fetch.began);
  }
  std::vector<SavedFetch> saved;
  for (std::size_t block = 0; block < fetches_.size(); ++block) {
    const Fetch& fetch = fetches_[block];
    if (fetch.from == 0 || last - fetch.began >= fetch.takes) continue;
    saved.push_back(
        {.began = fetch.began, .takes = fetch.takes, .block = block, .from = fetch.from});
  }
  to(saved);
}

void Fetches::load(ArchiveReader& from) {
  std::vector<SavedFetch> saved;
  from(saved);
  if (!from.ok()) return;
  for (const SavedFetch& fetch : saved) {
    if (fetch.from == 0 || fetch.from > times_.tier_ns.size() || fetch.takes <= 0) {
      return from.fail(data_loss("a fetch from tier {} that takes {} ns", fetch.from, fetch.takes));
    }
    if (fetch.block >= kNoBlock) {
      return from.fail(data_loss("block {} is not one of the trace", fetch.block));
    }
    const BlockId block = from.block(BlockId(static_cast<std::uint32_t>(fetch.block)));
    if (!from.ok()) return;
    begin(block, fetch.from, fetch.began, fetch.takes);
  }
}

}  // namespace mcsim
