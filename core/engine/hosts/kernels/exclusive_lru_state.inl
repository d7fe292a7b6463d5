// Saved states of ExclusiveLru; included by exclusive_lru.inl.

#include "core/containers/recency_log_state.hpp"

namespace mcsim {

template <int kTiers>
absl::Status ExclusiveLru<kTiers>::save(ArchiveWriter& to) {
  if (observers_.probe != nullptr) {
    return absl::FailedPreconditionError("a host with a cache probe cannot be saved");
  }
  to(capacity_, sharing_, vms_.size());
  for (std::size_t s = 0; s < stack_count(); ++s) save_stack(log_, stack(s), to);
  for (Vm& vm : vms_) to(vm);
  to(total_, dirty_, admission_);
  return absl::OkStatus();
}

template <int kTiers>
absl::Status ExclusiveLru<kTiers>::load(ArchiveReader& from) {
  std::array<Count, kTiers> capacity{};
  Sharing sharing{};
  std::size_t vms = 0;
  from.limit_blocks(id_count_);
  from(capacity, sharing, vms);
  MCSIM_RETURN_IF_ERROR(from.status());
  if (capacity != capacity_ || sharing != sharing_ || vms != vms_.size()) {
    return invalid_argument("the state is one of {} and {} VMs, not of {} and {}",
                            fmt::join(capacity, " + "), vms, fmt::join(capacity_, " + "),
                            vms_.size());
  }
  for (std::size_t s = 0; s < stack_count(); ++s) {
    load_stack(log_, sharing_ == Sharing::kShared ? shared_ : vms_[s].stack, from);
  }
  for (Vm& vm : vms_) from(vm);
  from(total_, dirty_, admission_);
  MCSIM_RETURN_IF_ERROR(from.status());
  MCSIM_RETURN_IF_ERROR(check_invariants());
  for (std::size_t k = 0; k < kTiers; ++k) {
    for (const Vm& vm : vms_) excess_[k].set(vm.index, excess(vm.held[k], vm.target[k]));
  }
  return absl::OkStatus();
}

}  // namespace mcsim
