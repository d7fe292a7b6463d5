#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/status.hpp"

namespace mcsim {

// Which VMs a host lets in: all, until it is told otherwise. Of a VM that is shut out no block
// comes in that no tier holds, whatever filters would say, who are not asked; what it holds is
// served, moved between tiers and evicted as ever.
class Gate {
 public:
  explicit Gate(std::size_t vms) : shut_(vms, 0) {}

  bool shut(std::size_t vm) const { return shut_[vm] != 0; }
  bool any_shut() const { return any_shut_; }

  // By VM, whether it is let in from now on.
  absl::Status set(const std::vector<bool>& admits) {
    if (admits.size() != shut_.size()) {
      return invalid_argument("admits: {} of them for {} VMs", admits.size(), shut_.size());
    }
    for (std::size_t vm = 0; vm < shut_.size(); ++vm) shut_[vm] = admits[vm] ? 0 : 1;
    any_shut_ = std::ranges::count(admits, false) > 0;
    return absl::OkStatus();
  }

 private:
  std::vector<std::uint8_t> shut_;  // by VM
  bool any_shut_ = false;
};

}  // namespace mcsim
