#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/base/status.hpp"

namespace mcsim {

// The VMs that a host admits: all until set() blocks some. A block of a blocked VM that no tier
// holds bypasses all tiers, without a call of their filters. Blocks that tiers hold are served,
// moved and evicted as before.
class VmAdmission {
 public:
  explicit VmAdmission(std::size_t vms) : blocked_(vms, 0) {}

  bool is_blocked(std::size_t vm) const { return blocked_[vm] != 0; }
  bool any_blocked() const { return any_blocked_; }

  // Admit or block each VM from now on.
  absl::Status set(const std::vector<bool>& admits) {
    if (admits.size() != blocked_.size()) {
      return invalid_argument("admits: expected {} VMs, got {}", blocked_.size(), admits.size());
    }
    for (std::size_t vm = 0; vm < blocked_.size(); ++vm) blocked_[vm] = admits[vm] ? 0 : 1;
    any_blocked_ = std::ranges::count(admits, false) > 0;
    return absl::OkStatus();
  }

  auto state() { return std::tie(blocked_, any_blocked_); }

 private:
  std::vector<std::uint8_t> blocked_;  // by VM
  bool any_blocked_ = false;
};

}  // namespace mcsim
