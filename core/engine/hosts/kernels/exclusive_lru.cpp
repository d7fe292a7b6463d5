#include "core/engine/hosts/kernels/exclusive_lru.hpp"

#include <array>
#include <utility>

#include "core/engine/hosts/kernels/exclusive_lru_make.inl"

namespace mcsim {

extern template absl::StatusOr<std::unique_ptr<Host>> make_exclusive_lru<1>(
    const Machine&, const Accesses&, Sharing, DivisionRules, const Allocation&, WriteRules);
extern template absl::StatusOr<std::unique_ptr<Host>> make_exclusive_lru<2>(
    const Machine&, const Accesses&, Sharing, DivisionRules, const Allocation&, WriteRules);
extern template absl::StatusOr<std::unique_ptr<Host>> make_exclusive_lru<3>(
    const Machine&, const Accesses&, Sharing, DivisionRules, const Allocation&, WriteRules);

namespace {

// The number of tiers becomes a template argument here, once per run.
absl::StatusOr<std::unique_ptr<Host>> make_for_tiers(const Machine& machine, const Accesses& trace,
                                                     Sharing sharing, DivisionRules rules,
                                                     const Allocation& targets, WriteRules writes) {
  for (const TierSpec& tier : machine.tiers) {
    if (tier.capacity_blocks < 0) {
      return invalid_argument("tier {}: capacity {} is negative", tier.device.name,
                              tier.capacity_blocks);
    }
  }
  static constexpr std::array kMakers{make_exclusive_lru<1>, make_exclusive_lru<2>,
                                      make_exclusive_lru<3>};
  static_assert(kMakers.size() == kMostLruTiers);
  const std::size_t tiers = machine.tiers.size();
  if (tiers == 0 || tiers > kMostLruTiers) {
    return invalid_argument("tiers: expected 1 to {}, got {}", kMostLruTiers, tiers);
  }
  return kMakers[tiers - 1](machine, trace, sharing, rules, targets, std::move(writes));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> make_shared_lru(const Machine& machine, const Accesses& trace,
                                                      WriteRules writes) {
  return make_for_tiers(machine, trace, Sharing::kShared, {}, {}, std::move(writes));
}

absl::StatusOr<std::unique_ptr<Host>> make_divided_lru(const Machine& machine,
                                                       const Accesses& trace,
                                                       const Allocation& targets,
                                                       DivisionRules rules, WriteRules writes) {
  if (rules.mode == ResizeMode::kStrictOwn) {
    return invalid_argument("resize_mode: expected eager or lazy, got {}", name_of(rules.mode));
  }
  const Sharing sharing = rules.mode == ResizeMode::kEager ? Sharing::kApart : Sharing::kContended;
  return make_for_tiers(machine, trace, sharing, rules, targets, std::move(writes));
}

}  // namespace mcsim
