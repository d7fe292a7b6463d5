#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <vector>

#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// The VM of each block of an interned trace. The ids of a VM are contiguous, so the owners of every
// 2^n-th id determine all others. There are about eight such ids per VM, so few chunks contain ids
// of several VMs.
class BlockOwners {
 public:
  explicit BlockOwners(const Accesses& trace) {
    for (const VmInfo& vm : trace.vms) {
      end_.push_back(vm.first_id + vm.unique_blocks);
    }
    const std::size_t wanted = 8 * std::bit_ceil(trace.vms.size());
    while ((trace.id_count() >> shift_) > wanted) ++shift_;
    VmId vm = 0;
    for (std::size_t id = 0; id < trace.id_count(); id += std::size_t{1} << shift_) {
      while (end_[vm] <= id) ++vm;
      first_.push_back(vm);
    }
    first_.push_back(static_cast<VmId>(trace.vms.size() - 1));
  }

  VmId vm_of(BlockId block) const {
    assert(!end_.empty() && block < end_.back());
    const std::size_t chunk = block >> shift_;
    const VmId vm = first_[chunk];
    if (block < end_[vm]) [[likely]]
      return vm;
    const auto begin = end_.begin() + static_cast<std::ptrdiff_t>(vm);
    const auto end = end_.begin() + static_cast<std::ptrdiff_t>(first_[chunk + 1]);
    return VmId(std::upper_bound(begin, end, block) - end_.begin());
  }
  std::size_t count() const { return end_.size(); }
  // The ids of a VM are in [first_of, end_of).
  BlockId first_of(std::size_t vm) const { return vm == 0 ? BlockId(0) : end_[vm - 1]; }
  BlockId end_of(std::size_t vm) const { return end_[vm]; }

 private:
  std::vector<BlockId> end_;  // by VM
  unsigned shift_ = 0;
  std::vector<VmId> first_;  // by id >> shift_; followed by the last VM
};

}  // namespace mcsim
