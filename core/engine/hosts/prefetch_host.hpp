#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/prefetch_ids.hpp"
#include "core/engine/hosts/tiered_host.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/engine/tiers/prefetcher.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Tiers of which one prefetches. The prefetcher runs after each read request, when all of its
// blocks were served; its blocks are then in the cache at once. A block that a tier has already is
// not prefetched, and neither is a block of the request. Others are read from the backend and enter
// the tier under these rules:
//
//   filters, policies   decide as for a missed block of the request that caused it; a rejected
//                       block is not read. Filters do not record an access
//   blocked VM          nothing is prefetched (VmAdmission)
//   inclusive chain     the block enters all slower tiers, too, or is not read
//   end of the device   nothing is prefetched after the last block that the trace accesses
//
// The first read of a prefetched block is a hit of the tier that holds it, and the block was used.
// It was wasted if it left all tiers, or was overwritten, before a read. Blocks that the trace
// never accesses use space, too: PrefetchIds has ids for them.
//
// Cost: the walk of TieredHost, one call per request, and a byte per block.
class PrefetchHost final : public Host, private PrefetchCache {
 public:
  // The tiers must serve requests of the trace with the new ids.
  using MakeTiers = std::function<absl::StatusOr<std::unique_ptr<TieredHost>>(const Accesses&)>;

  // `tier`: the tier that prefetches, of `tiers`.
  static absl::StatusOr<std::unique_ptr<Host>> make(std::unique_ptr<Prefetcher> prefetcher,
                                                    std::size_t tier, std::size_t tiers,
                                                    const Accesses& trace,
                                                    const MakeTiers& make_tiers);

  void replay(const Accesses& trace, RequestRange range) override;
  Actions supports() const override { return tiers_->supports(); }
  absl::Status resize(const Allocation& targets) override { return tiers_->resize(targets); }
  absl::Status set_write_modes(std::span<const WriteMode> modes) override {
    return tiers_->set_write_modes(modes);
  }
  absl::Status check_write_modes_by_tier(const ModesByTier& modes) const override {
    return tiers_->check_write_modes_by_tier(modes);
  }
  absl::Status set_write_modes_by_tier(const ModesByTier& modes) override {
    return tiers_->set_write_modes_by_tier(modes);
  }
  absl::Status set_admission(const std::vector<bool>& admits) override {
    return tiers_->set_admission(admits);
  }
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override { tiers_->release(vm); }
  void discard(std::span<const BlockId> blocks) override;
  absl::Status failure() const override { return tiers_->failure(); }
  std::vector<VmCounters> counters() const override;
  absl::Status check_invariants() const override { return tiers_->check_invariants(); }

 private:
  // The state of a block, in bits.
  static constexpr std::uint8_t kUnread = 1;  // prefetched and not accessed since
  static constexpr std::uint8_t kMarked = 2;
  static constexpr std::uint8_t kListed = 4;  // in unread_

  struct Counts {
    Count prefetched = 0;
    Count used = 0;
    Count wasted = 0;
  };

  PrefetchHost(std::unique_ptr<Prefetcher> prefetcher, std::size_t tier, std::size_t tiers,
               PrefetchIds ids, const Accesses& trace)
      : prefetcher_(std::move(prefetcher)),
        tier_(tier),
        backend_(tiers),
        ids_(std::move(ids)),
        trace_(ids_.renumber(trace)),
        owners_(trace_),
        state_(trace_.id_count()),
        counts_(trace_.vms.size()) {}

  void note_outcomes(std::size_t request);
  void prefetch_after(const Accesses& trace, std::size_t request);
  void compact();

  // The cache as the prefetcher sees it, for the VM of request_.
  bool holds(std::uint64_t address) const override;
  bool take_mark(std::uint64_t address) override;
  void prefetch(std::uint64_t begin, std::uint64_t end, std::uint64_t mark) override;
  bool is_requested(std::uint64_t address) const {
    return address >= request_->first && address < request_->end();
  }
  void note_prefetched(VmId vm, BlockId block);

  bool is_held(VmId vm, BlockId block) const { return tiers_->fastest_with(vm, block) < backend_; }

  std::unique_ptr<Prefetcher> prefetcher_;
  std::size_t tier_;
  std::size_t backend_;  // the number of tiers
  PrefetchIds ids_;
  Accesses trace_;  // with ids_
  BlockOwners owners_;
  std::unique_ptr<TieredHost> tiers_;
  Pages<std::uint8_t> state_;    // by block
  std::vector<BlockId> unread_;  // all blocks that are unread, and some that were
  std::size_t compact_at_ = 1024;
  std::vector<Counts> counts_;             // by VM, without blocks in unread_ that left
  std::vector<std::size_t> found_;         // by block of the last request
  std::vector<ReadOutcome> outcomes_;      // by block of the last request
  const PrefetchRead* request_ = nullptr;  // during a call of the prefetcher
};

}  // namespace mcsim
