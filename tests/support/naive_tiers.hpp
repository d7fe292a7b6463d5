#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <ostream>
#include <vector>

#include <fmt/ranges.h>

#include "core/engine/hosts/tiered_host.hpp"

namespace mcsim::naive {

// Tiers of LRU lists whose copies have versions: a write makes a new one, a read must find the
// newest. Which blocks are dirty is stored nowhere: it follows from the versions of copies. A tier
// in which a part has no space is bypassed.
class Tiers {
 public:
  struct Copy {
    BlockId block;
    Count version;
    friend bool operator==(const Copy&, const Copy&) = default;
  };
  using List = std::list<Copy>;          // most recent first
  using Modes = std::vector<WriteMode>;  // by tier

  struct Counts {
    std::vector<Count> hits;    // the last: misses
    std::vector<Count> reads;   // from devices: of hits, and of data that goes elsewhere
    std::vector<Count> writes;  // to devices
    std::vector<Count> fills;
    std::vector<Count> evictions;
    std::vector<Count> invalidations;
    Count backend_reads = 0;
    Count backend_writes = 0;
    Count staged = 0;  // reads
    friend bool operator==(const Counts&, const Counts&) = default;
    friend void PrintTo(const Counts& counts, std::ostream* out) {
      *out << fmt::format(
          "hits {}, device reads {} writes {}, fills {}, evictions {}, invalidations {}, backend "
          "{} "
          "reads {} writes, staged {}",
          counts.hits, counts.reads, counts.writes, counts.fills, counts.evictions,
          counts.invalidations, counts.backend_reads, counts.backend_writes, counts.staged);
    }
  };

  // What came to the slowest tier and was not let in, the last first: a block comes in the n-th
  // time. All parts have it together.
  struct Staging {
    struct Entry {
      BlockId block;
      Count times;
      std::optional<Count> version;  // of its data, if that is there
    };
    Count n;
    Count space;
    bool data;
    std::list<Entry> entries = {};
  };

  // Capacities by [tier][part].
  Tiers(Chain chain, std::vector<std::vector<Count>> capacity)
      : chain_(chain), capacity_(std::move(capacity)) {
    for (const auto& parts : capacity_) lists_.emplace_back(parts.size());
    admitted_.assign(lists_[0].size(), true);
    modes_.assign(lists_[0].size(), Modes(lists_.size(), WriteMode::kThrough));
    counts_.hits.resize(lists_.size() + 1);
    for (auto* const of_tiers : {&counts_.reads, &counts_.writes, &counts_.fills,
                                 &counts_.evictions, &counts_.invalidations}) {
      of_tiers->resize(lists_.size());
    }
  }

  void stage(Staging staging) { staging_ = std::move(staging); }
  const std::optional<Staging>& staging() const { return staging_; }

  // Blocks of a part that is not admitted do not enter, unless a tier has them.
  void admit(std::size_t part, bool admitted) { admitted_[part] = admitted; }

  // False if an old version was read.
  bool read(std::size_t part, BlockId block) {
    const std::size_t found = find(part, block);
    const bool staged = found == lists_.size() && staged_version(block).has_value();
    ++(staged ? counts_.staged : counts_.hits[found]);
    Count version = 0;
    if (staged) {
      version = *staged_version(block);
    } else if (found < lists_.size()) {
      version = copy(found, part, block)->version;
      ++counts_.reads[found];
    } else {
      version = on_backend_[block];
      ++counts_.backend_reads;
    }
    if (found < lists_.size() || admitted_[part]) bring_in(part, block, found, version);
    return version == newest_[block];
  }

  // With this mode in all tiers from now on; what is dirty was written back, if it does not write
  // back.
  void write(std::size_t part, BlockId block, WriteMode mode) {
    modes_[part].assign(lists_.size(), mode);
    write(part, block);
  }

  // As the modes in force have it.
  void write(std::size_t part, BlockId block) {
    const Modes& modes = modes_[part];
    const Count version = ++newest_[block];
    if (staging_) return write_beside_staging(part, block, version, modes[0]);
    if (find(part, block) == lists_.size() && !admitted_[part]) {
      ++counts_.hits.back();
      return write_backend(block, version);
    }
    const std::size_t end = end_of_write(part, block);
    if (end == lists_.size()) write_backend(block, version);
    // On its way it passes some by; below, what it does not reach has old data.
    const auto passed = [&](std::size_t k) { return k < end && modes[k] == WriteMode::kAround; };
    std::size_t found = 0;
    while (found < lists_.size() && (passed(found) || !holds(found, part, block))) ++found;
    // Copies that it passes by are dropped: they are no hits.
    ++counts_.hits[found];
    if (found < lists_.size() && modes[found] != WriteMode::kAround) to_front(found, part, block);
    // Into tiers above where it was found: faster ones than the last that it goes to, then slower
    // ones, which it is still in if nothing pushes it out again; and then into that one.
    std::vector<bool> enters(lists_.size(), false);
    for (std::size_t k = 0; k < found; ++k) {
      enters[k] = k < end ? wanted(modes, part, k, found)
                          : k > end && everywhere() && modes[k] == WriteMode::kBack &&
                                may_enter(part, k, found);
    }
    const bool ends_above = end < found && end < lists_.size();
    const bool moves = ends_above || std::ranges::count(enters, true) > 0;
    if (chain_ == Chain::kExclusive && moves && found < lists_.size()) take_out(found, part, block);
    const bool fills = found == lists_.size();
    written_ = {block, version};
    for (std::size_t k = end; k-- > 0;) {
      if (enters[k]) put(k, part, {block, version}, fills);
    }
    for (std::size_t k = lists_.size(); k-- > end + 1;) {
      if (enters[k]) put(k, part, {block, version}, fills);
    }
    if (end < lists_.size()) {
      if (Copy* const of = copy(end, part, block)) {
        if (end != found) to_front(end, part, block);
        of->version = version;
        ++counts_.writes[end];
      } else {
        // Also where what came in above pushed the block out of this tier.
        put(end, part, {block, version}, fills || found <= end);
      }
    }
    written_ = {kNoBlock, 0};
    for (std::size_t k = 0; k < end; ++k) {
      modes[k] == WriteMode::kAround ? erase(k, part, block) : update(k, part, block, version);
    }
  }

  // Modes by tier from now on. No tier that does not write back has what slower ones lack.
  void write_modes(std::size_t part, Modes modes) {
    modes_[part] = std::move(modes);
    for (const auto& [block, newest] : std::map(newest_)) {
      for (std::size_t k = 0; k < lists_.size(); ++k) {
        if (modes_[part][k] != WriteMode::kBack && is_dirty_in(k, part, block))
          settle(k, part, block);
      }
    }
  }

  // Whether nothing is lost if all tiers faster than the first that writes back are.
  bool survives(std::size_t part, BlockId block) {
    Count kept = on_backend_[block];
    for (std::size_t k = first_back(modes_[part], 0); k < lists_.size(); ++k) {
      if (const Copy* const of = copy(k, part, block)) kept = std::max(kept, of->version);
    }
    return kept == newest_[block];
  }

  void resize(std::vector<std::vector<Count>> capacity) {
    capacity_ = std::move(capacity);
    for (std::size_t k = lists_.size(); k-- > 0;) {
      for (std::size_t part = 0; part < lists_[k].size(); ++part) trim(k, part);
    }
  }

  // Brings the backend up to date with what this part has.
  void flush(std::size_t part) {
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      for (Copy& of : lists_[k][part]) {
        if (on_backend_[of.block] < newest_[of.block]) read_newest(part, of.block);
        if (of.version != newest_[of.block]) {
          of.version = newest_[of.block];
          ++counts_.writes[k];
        }
        if (on_backend_[of.block] < of.version) write_backend(of.block, of.version);
      }
    }
  }

  // Nothing of this part is held any more.
  void release(std::size_t part) {
    for (const std::vector<List>& tier : lists_) {
      while (!tier[part].empty()) drop(part, BlockId{tier[part].front().block});
    }
  }
  void drop_staged(BlockId block) {
    if (Staging::Entry* const entry = staged(block)) entry->version.reset();
  }

  // A block is held no more.
  void drop(std::size_t part, BlockId block) {
    if (is_dirty(block)) {
      read_newest(part, block);
      write_backend(block, newest_[block]);
    }
    drop_staged(block);
    for (std::size_t k = 0; k < lists_.size(); ++k) erase(k, part, block);
  }

  // A block is held no more, and what is newer than on the backend is lost.
  void discard(std::size_t part, BlockId block) {
    newest_[block] = on_backend_[block];
    drop(part, block);
  }

  // The fastest tier that has the block, or the number of tiers.
  std::size_t find(std::size_t part, BlockId block) {
    std::size_t k = 0;
    while (k < lists_.size() && !holds(k, part, block)) ++k;
    return k;
  }
  bool holds(std::size_t tier, std::size_t part, BlockId block) {
    return copy(tier, part, block) != nullptr;
  }
  bool is_dirty(BlockId block) { return on_backend_[block] != newest_[block]; }

  // Blocks with a newer version than the backend.
  Count dirty() {
    return std::ranges::count_if(
        newest_, [&](const auto& entry) { return on_backend_[entry.first] != entry.second; });
  }
  Count size(std::size_t tier, std::size_t part) const {
    return static_cast<Count>(lists_[tier][part].size());
  }
  const Counts& counts() const { return counts_; }

 private:
  Copy* copy(std::size_t tier, std::size_t part, BlockId block) {
    for (Copy& of : lists_[tier][part]) {
      if (of.block == block) return &of;
    }
    return nullptr;
  }

  // An invalidation, if the tier has the block.
  void erase(std::size_t tier, std::size_t part, BlockId block) {
    counts_.invalidations[tier] += holds(tier, part, block) ? 1 : 0;
    take_out(tier, part, block);
  }
  void take_out(std::size_t tier, std::size_t part, BlockId block) {
    lists_[tier][part].remove_if([&](const Copy& of) { return of.block == block; });
  }
  // From the slowest device that has it: the one that would lose it last.
  void read_newest(std::size_t part, BlockId block) {
    for (std::size_t k = lists_.size(); k-- > 0;) {
      const Copy* const of = copy(k, part, block);
      if (of == nullptr || of->version != newest_[block]) continue;
      ++counts_.reads[k];
      return;
    }
  }

  void to_front(std::size_t tier, std::size_t part, BlockId block) {
    List& list = lists_[tier][part];
    const auto at = std::ranges::find(list, block, &Copy::block);
    list.splice(list.begin(), list, at);
  }

  bool everywhere() const { return chain_ == Chain::kInclusive || chain_ == Chain::kIndependent; }

  // The first tier from one on that writes back, or the number of tiers.
  static std::size_t first_back(const Modes& modes, std::size_t from) {
    while (from < modes.size() && modes[from] != WriteMode::kBack) ++from;
    return from;
  }
  bool has_room(std::size_t tier, std::size_t part) const { return capacity_[tier][part] > 0; }
  // Whether a block that `found` had may come into a tier above: the tier has room, and in an
  // inclusive chain all tiers between them have, too.
  bool may_enter(std::size_t part, std::size_t tier, std::size_t found) const {
    if (chain_ != Chain::kInclusive) return has_room(tier, part);
    for (std::size_t k = tier; k < found; ++k) {
      if (!has_room(k, part)) return false;
    }
    return true;
  }
  // Where a write ends: the first tier that writes back, and has the block or lets it in.
  std::size_t end_of_write(std::size_t part, BlockId block) {
    const Modes& modes = modes_[part];
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      if (modes[k] != WriteMode::kBack) continue;
      std::size_t found = k;
      while (found < lists_.size() && !holds(found, part, block)) ++found;
      if (found == k || may_enter(part, k, found)) return k;
    }
    return lists_.size();
  }
  // Whether a block that is written comes into a tier above where it was found, as far as the chain
  // goes: into all that may, or into the first of them. Tiers written around are none.
  bool wanted(const Modes& modes, std::size_t part, std::size_t tier, std::size_t found) const {
    const auto takes = [&](std::size_t k) {
      return modes[k] != WriteMode::kAround && may_enter(part, k, found);
    };
    if (!takes(tier)) return false;
    for (std::size_t k = 0; k < tier && !everywhere(); ++k) {
      if (takes(k)) return false;
    }
    return true;
  }

  void update(std::size_t tier, std::size_t part, BlockId block, Count version) {
    Copy* const of = copy(tier, part, block);
    if (of == nullptr || of->version == version) return;
    of->version = version;
    ++counts_.writes[tier];
  }

  // Whether the tier's copy is newer than what slower tiers and the backend have, and no faster
  // one has a newer.
  bool is_dirty_in(std::size_t tier, std::size_t part, BlockId block) {
    const Copy* const here = copy(tier, part, block);
    if (here == nullptr || on_backend_[block] >= here->version) return false;
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      const Copy* const of = copy(k, part, block);
      if (of == nullptr || k == tier) continue;
      if (k < tier ? of->version > here->version : of->version >= here->version) return false;
    }
    return true;
  }

  // Into the next tier that writes back, or to the backend, and into all copies on the way.
  void settle(std::size_t tier, std::size_t part, BlockId block) {
    const Count version = copy(tier, part, block)->version;
    const auto takes = [&](std::size_t k) {
      return modes_[part][k] == WriteMode::kBack && (holds(k, part, block) || has_room(k, part));
    };
    std::size_t to = tier + 1;
    while (to < lists_.size() && !takes(to)) ++to;
    ++counts_.reads[tier];
    for (std::size_t k = tier + 1; k < lists_.size() && k <= to; ++k) {
      update(k, part, block, version);
    }
    if (to == lists_.size()) {
      write_backend(block, version);
    } else if (!holds(to, part, block)) {
      put(to, part, {block, version});
    }
  }

  // As the one mode of all tiers has it.
  void write_beside_staging(std::size_t part, BlockId block, Count version, WriteMode mode) {
    const std::size_t found = find(part, block);
    ++counts_.hits[mode == WriteMode::kAround ? lists_.size() : found];
    if (Staging::Entry* const entry = staged(block); entry != nullptr && entry->version) {
      entry->version = version;
      if (mode == WriteMode::kAround) entry->version.reset();
    }
    if (mode == WriteMode::kAround) {
      for (std::size_t k = 0; k < lists_.size(); ++k) erase(k, part, block);
      return write_backend(block, version);
    }
    if (found == lists_.size() && !admitted_[part]) return write_backend(block, version);
    if (mode == WriteMode::kThrough) write_backend(block, version);
    written_ = {block, version};
    const bool came_in = bring_in(part, block, found, version);
    written_ = {kNoBlock, 0};
    if (!came_in && found < lists_.size()) {
      copy(found, part, block)->version = version;
      ++counts_.writes[found];
    } else if (!came_in && mode == WriteMode::kBack) {
      write_backend(block, version);
    }
    if (mode == WriteMode::kBack) return;
    for (std::size_t k = 0; k < lists_.size(); ++k) update(k, part, block, version);
  }

  Staging::Entry* staged(BlockId block) {
    if (!staging_) return nullptr;
    for (Staging::Entry& entry : staging_->entries) {
      if (entry.block == block) return &entry;
    }
    return nullptr;
  }
  std::optional<Count> staged_version(BlockId block) {
    const Staging::Entry* const entry = staged(block);
    return entry == nullptr ? std::nullopt : entry->version;
  }

  // Whether the tier lets in a copy that it does not have.
  bool lets_in(std::size_t tier, std::size_t part, Copy copy) {
    if (!has_room(tier, part)) return false;
    if (!staging_ || tier + 1 < lists_.size()) return true;
    Count times = 1;
    if (const Staging::Entry* const entry = staged(copy.block)) times += entry->times;
    staging_->entries.remove_if([&](const auto& entry) { return entry.block == copy.block; });
    if (times == staging_->n) return true;
    staging_->entries.push_front({copy.block, times, std::nullopt});
    if (staging_->data) staging_->entries.front().version = copy.version;
    if (static_cast<Count>(staging_->entries.size()) > staging_->space) {
      staging_->entries.pop_back();
    }
    return false;
  }

  // `version` is that of the copies that come in above `found`. False if none came in.
  bool bring_in(std::size_t part, BlockId block, std::size_t found, Count version) {
    std::vector<bool> enters(found, false);
    for (std::size_t k = 0; k < found; ++k) {
      enters[k] = lets_in(k, part, {block, version});
      if (enters[k] && !everywhere()) break;
    }
    bool no_gap = true;
    for (std::size_t k = found; chain_ == Chain::kInclusive && k-- > 0;) {
      no_gap = no_gap && enters[k];
      enters[k] = no_gap;
    }
    const bool comes_in = std::ranges::count(enters, true) > 0;
    if (found < lists_.size()) {
      to_front(found, part, block);
      if (chain_ == Chain::kExclusive && comes_in) take_out(found, part, block);
    }
    for (std::size_t k = found; k-- > 0;) {
      if (enters[k]) put(k, part, {block, version}, found == lists_.size());
    }
    return comes_in;
  }

  // A copy that the tier does not have.
  void put(std::size_t tier, std::size_t part, Copy copy, bool fills = false) {
    ++counts_.writes[tier];
    counts_.fills[tier] += fills ? 1 : 0;
    lists_[tier][part].push_front(copy);
    trim(tier, part);
  }

  void trim(std::size_t tier, std::size_t part) {
    while (size(tier, part) > capacity_[tier][part]) {
      Copy victim = lists_[tier][part].back();
      lists_[tier][part].pop_back();
      bool outdated = false;
      std::size_t source = tier;  // the device that has the newest data of the victim
      for (std::size_t k = tier; k-- > 0;) {
        const Copy* const above = copy(k, part, victim.block);
        if (above == nullptr) continue;
        if (chain_ == Chain::kInclusive) {
          if (above->version > victim.version) {
            victim.version = above->version;
            source = k;
          }
          erase(k, part, victim.block);
        } else {
          outdated = outdated || above->version > victim.version;
        }
      }
      if (!go_down(tier, source, part, victim, outdated)) ++counts_.evictions[tier];
    }
  }

  // Whether a slower tier has the block because of it.
  bool go_down(std::size_t tier, std::size_t source, std::size_t part, Copy victim, bool outdated) {
    Count below = on_backend_[victim.block];
    for (std::size_t k = tier + 1; k < lists_.size(); ++k) {
      if (const Copy* const of = copy(k, part, victim.block)) below = std::max(below, of->version);
    }
    const bool above = victim == written_ && find(part, victim.block) < tier;
    const bool is_new = !outdated && !above && victim.version > below;
    if (is_new) ++counts_.reads[source];
    if (is_new && !staging_) return write_on(tier, part, victim);
    if (everywhere() && !is_new) return false;
    for (std::size_t k = tier + 1; k < lists_.size(); ++k) {
      if (holds(k, part, victim.block)) {
        to_front(k, part, victim.block);
        if (is_new) update(k, part, victim.block, victim.version);
        return true;
      }
      if (!lets_in(k, part, victim)) continue;
      if (!is_new) ++counts_.reads[source];
      put(k, part, victim);
      return true;
    }
    if (is_new) write_backend(victim.block, victim.version);
    return false;
  }

  // A victim that is new: past tiers that are written around, to the first that is not, and if that
  // is written through, on until the backend or one that writes back.
  bool write_on(std::size_t tier, std::size_t part, Copy victim) {
    bool taken = false;
    for (std::size_t k = tier + 1; k < lists_.size(); ++k) {
      const WriteMode mode = modes_[part][k];
      if (mode == WriteMode::kAround) {
        erase(k, part, victim.block);
        continue;
      }
      if (Copy* const of = copy(k, part, victim.block)) {
        to_front(k, part, victim.block);
        of->version = victim.version;
        ++counts_.writes[k];
      } else if ((!taken || mode == WriteMode::kBack) && has_room(k, part)) {
        put(k, part, victim);
      } else {
        continue;
      }
      if (mode == WriteMode::kBack) return true;
      taken = true;
    }
    write_backend(victim.block, victim.version);
    return taken;
  }

  void write_backend(BlockId block, Count version) {
    ++counts_.backend_writes;
    on_backend_[block] = version;
  }

  Chain chain_;
  std::vector<std::vector<Count>> capacity_;
  std::vector<std::vector<List>> lists_;  // [tier][part]
  std::vector<bool> admitted_;            // by part
  std::vector<Modes> modes_;              // by part
  // What comes in may be pushed out of a slower tier by what leaves the faster ones for it: they
  // have the newest version.
  Copy written_{kNoBlock, 0};
  std::optional<Staging> staging_;
  std::map<BlockId, Count> newest_;
  std::map<BlockId, Count> on_backend_;
  Counts counts_;
};

// What hosts counted of the same, all VMs together. Blocks that come over a link are read and
// written on devices of the same tier; the twin has no hosts.
inline Tiers::Counts counts_of(const std::vector<VmCounters>& vms) {
  Tiers::Counts sum;
  for (const VmCounters& vm : vms) {
    sum.hits.resize(vm.tiers.size() + 1);
    for (auto* const of_tiers :
         {&sum.reads, &sum.writes, &sum.fills, &sum.evictions, &sum.invalidations}) {
      of_tiers->resize(vm.tiers.size());
    }
    for (std::size_t k = 0; k < vm.tiers.size(); ++k) {
      const TierCounters& tier = vm.tiers[k];
      sum.hits[k] += tier.hits;
      sum.reads[k] +=
          vm.reads_served.blocks[k] + tier.copied_out - (tier.transfers - tier.remote_reads);
      sum.writes[k] += tier.device_writes() - tier.transfers;
      sum.fills[k] += tier.fills;
      sum.evictions[k] += tier.evictions;
      sum.invalidations[k] += tier.invalidations;
    }
    sum.hits.back() += vm.misses;
    sum.backend_reads += vm.backend_reads;
    sum.backend_writes += vm.backend_writes;
    sum.staged += vm.staged_hits;
  }
  return sum;
}

}  // namespace mcsim::naive
