#include "core/trace/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/base/random.hpp"
#include "core/base/suggest.hpp"
#include "core/containers/alias_table.hpp"
#include "core/trace/arrivals.hpp"
#include "core/trace/extents.hpp"

namespace mcsim {
namespace {

constexpr Count kMostBlocks = Count{1} << 32;

bool is_share(double x) { return x >= 0 && x <= 1; }

// Weights that can be drawn from: none negative, none infinite, not all zero.
template <class Range>
absl::Status check_weights(std::string_view what, const Range& range) {
  double sum = 0;
  for (const auto& entry : range) {
    if (!(entry.weight >= 0) || !std::isfinite(entry.weight)) {
      return invalid_argument("{}: weight {} is not a finite number >= 0", what, entry.weight);
    }
    sum += entry.weight;
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    return invalid_argument("{}: the weights must have a finite sum > 0", what);
  }
  return absl::OkStatus();
}

absl::Status check_blocks(std::string_view what, Count blocks) {
  if (blocks >= 1 && blocks <= kMostBlocks) return absl::OkStatus();
  return invalid_argument("{}: blocks: {} is outside [1, {}]", what, blocks, kMostBlocks);
}

absl::Status check(const StackModel& model) {
  if (model.curve.empty()) return invalid_argument("stack: the curve needs at least one point");
  HitRatioPoint before;
  for (const HitRatioPoint& point : model.curve) {
    if (point.blocks <= before.blocks || point.blocks > kMostBlocks) {
      return invalid_argument("stack: curve: {} blocks after {} (must rise, to at most {})",
                              point.blocks, before.blocks, kMostBlocks);
    }
    if (!is_share(point.hit_ratio) || point.hit_ratio < before.hit_ratio) {
      return invalid_argument("stack: curve: hit ratio {} after {} (must not fall, within [0, 1])",
                              point.hit_ratio, before.hit_ratio);
    }
    before = point;
  }
  return absl::OkStatus();
}

absl::Status check(const ZipfModel& model) {
  if (!(model.alpha >= 0 && model.alpha <= 10)) {
    return invalid_argument("zipf: alpha: {} is outside [0, 10]", model.alpha);
  }
  return check_blocks("zipf", model.blocks);
}

absl::Status check(const LoopModel& model) { return check_blocks("loop", model.blocks); }

absl::Status check(const ScanModel&) { return absl::OkStatus(); }

absl::Status check_shares(std::string_view what, const std::vector<ComponentShare>& shares,
                          std::span<const std::string_view> components) {
  for (const ComponentShare& share : shares) {
    if (std::ranges::find(components, share.component) == components.end()) {
      return not_found("{}: unknown component '{}'{}", what, share.component,
                       did_you_mean(share.component, components));
    }
  }
  return check_weights(what, shares);
}

absl::Status check(const Bursts& bursts, const SyntheticPhase& phase,
                   std::span<const std::string_view> components) {
  if (bursts.length < 1 || bursts.length > bursts.period || bursts.length > phase.duration) {
    return invalid_argument("bursts: length: {} ns is outside [1, min(period, duration)]",
                            bursts.length);
  }
  if (!is_share(bursts.share)) {
    return invalid_argument("bursts: share: {} is outside [0, 1]", bursts.share);
  }
  if (!bursts.reads.empty()) {
    MCSIM_RETURN_IF_ERROR(check_shares("bursts: reads", bursts.reads, components));
  }
  if (!bursts.writes.empty()) {
    MCSIM_RETURN_IF_ERROR(check_shares("bursts: writes", bursts.writes, components));
  }
  return absl::OkStatus();
}

absl::Status within(std::string_view where, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), fmt::format("{}: {}", where, message_of(status)));
}

// Classes are a column: of all requests, or of none.
absl::Status check_classes(const SyntheticProfile& profile) {
  const auto has_class = [](const SyntheticComponent& component) {
    return component.of_class.has_value();
  };
  const bool some = std::ranges::any_of(profile.vms, [&](const SyntheticVm& vm) {
    return std::ranges::any_of(vm.components, has_class);
  });
  for (const SyntheticVm& vm : profile.vms) {
    const auto without = std::ranges::find_if_not(vm.components, has_class);
    if (!some || without == vm.components.end()) continue;
    return invalid_argument("vm '{}': component '{}': others have a class: expected one of 0 to {}",
                            vm.name, without->name, kMostClasses - 1);
  }
  return absl::OkStatus();
}

// Which component an access goes to.
class Mixture {
 public:
  Mixture(const std::vector<ComponentShare>& shares, const std::vector<SyntheticComponent>& all)
      : table_(weights(shares)) {
    for (const ComponentShare& share : shares) {
      const auto found = std::ranges::find(all, share.component, &SyntheticComponent::name);
      component_.push_back(static_cast<std::size_t>(found - all.begin()));
    }
  }

  std::size_t draw(Random& random) const { return component_[table_.draw(random)]; }

 private:
  static std::vector<double> weights(const std::vector<ComponentShare>& shares) {
    if (shares.empty()) return {1};  // never drawn from
    std::vector<double> weights;
    for (const ComponentShare& share : shares) weights.push_back(share.weight);
    return weights;
  }

  AliasTable table_;
  std::vector<std::size_t> component_;
};

// A component at work, with the generator that only it draws from.
struct Component {
  ExtentStream stream;
  Random random;
};

}  // namespace

absl::Status validate(const SyntheticComponent& component) {
  MCSIM_RETURN_IF_ERROR(check_weights("sizes", component.sizes));
  for (const RequestSize& size : component.sizes) {
    if (size.bytes == 0) return invalid_argument("sizes: a request has at least one byte");
  }
  if (component.of_class && *component.of_class >= kMostClasses) {
    return out_of_range("class: {} is outside [0, {}]", *component.of_class, kMostClasses - 1);
  }
  return std::visit([](const auto& model) { return check(model); }, component.model);
}

absl::Status validate(const SyntheticPhase& phase, std::span<const std::string_view> components) {
  if (phase.duration < 1) return invalid_argument("duration: must be at least 1 ns");
  if (phase.requests < 0) return invalid_argument("requests: {} is negative", phase.requests);
  if (!is_share(phase.read_share)) {
    return invalid_argument("read_share: {} is outside [0, 1]", phase.read_share);
  }
  if (phase.read_share > 0) {
    MCSIM_RETURN_IF_ERROR(check_shares("reads", phase.reads, components));
  }
  if (phase.read_share < 1) {
    MCSIM_RETURN_IF_ERROR(check_shares("writes", phase.writes, components));
  }
  if (phase.diurnal && !is_share(phase.diurnal->amplitude)) {
    return invalid_argument("diurnal: amplitude: {} is outside [0, 1]", phase.diurnal->amplitude);
  }
  return phase.bursts ? check(*phase.bursts, phase, components) : absl::OkStatus();
}

absl::Status validate(const SyntheticVm& vm) {
  std::vector<std::string_view> names;
  for (const SyntheticComponent& component : vm.components) {
    const std::string where = fmt::format("component '{}'", component.name);
    if (std::ranges::find(names, component.name) != names.end()) {
      return invalid_argument("{}: declared twice", where);
    }
    names.push_back(component.name);
    MCSIM_RETURN_IF_ERROR(within(where, validate(component)));
  }
  Nanoseconds free_from = 0;
  for (std::size_t i = 0; i < vm.phases.size(); ++i) {
    const SyntheticPhase& phase = vm.phases[i];
    const std::string where = fmt::format("phases[{}]", i);
    MCSIM_RETURN_IF_ERROR(within(where, validate(phase, names)));
    if (phase.start < free_from) {
      return invalid_argument("{}: starts at {} ns, before the phase before it ends ({} ns)", where,
                              phase.start, free_from);
    }
    free_from = phase.start + phase.duration;
  }
  return absl::OkStatus();
}

// The requests of one VM.
class SyntheticTrace::VmGenerator {
 public:
  VmGenerator(const SyntheticVm& vm, std::uint32_t block_bytes, const Random& random)
      : vm_(vm),
        random_(random),
        space_(block_bytes),
        arrival_random_(random.split("arrivals")),
        choice_random_(random.split("choices")) {
    components_.reserve(vm.components.size());
    for (const SyntheticComponent& component : vm.components) {
      Random own = random.split("component/" + component.name);
      ExtentStream stream = make_stream(component, space_, own);
      components_.push_back({std::move(stream), own});
    }
  }

  // Makes the next request; false once there are no more.
  bool advance() {
    while (requests_left_ == 0) {
      if (phase_ == vm_.phases.size()) return false;
      begin(vm_.phases[phase_++]);
    }
    const RequestArrival arrival = arrivals_->next();
    const auto left = static_cast<std::uint64_t>(requests_left_--);
    const bool is_read = static_cast<Count>(choice_random_.below(left)) < reads_left_;
    if (is_read) --reads_left_;
    const Mixture& mixture = mixtures_[(arrival.in_burst ? 2U : 0U) + (is_read ? 0U : 1U)];
    const std::size_t drawn = mixture.draw(choice_random_);
    Component& component = components_[drawn];
    of_class_ = vm_.components[drawn].of_class;
    extent_ = std::visit([&](auto& stream) { return stream.next(space_, component.random); },
                         component.stream);
    time_ = arrival.time;
    op_ = is_read ? Op::kRead : Op::kWrite;
    return true;
  }

  Nanoseconds time() const { return time_; }

  void push(VmId vm, Requests& chunk) const {
    chunk.push(time_, vm, op_, std::uint64_t{extent_.first_block} * space_.block_bytes(),
               extent_.bytes, -1, of_class_);
  }

  bool exhausted() const { return space_.exhausted(); }

 private:
  void begin(const SyntheticPhase& phase) {
    requests_left_ = phase.requests;
    const double reads = phase.read_share * static_cast<double>(phase.requests);
    reads_left_ = static_cast<Count>(std::floor(reads + 0.5));
    arrivals_.emplace(phase, arrival_random_);
    arrival_random_ = arrival_random_.split("phase");
    const Bursts none;
    const Bursts& bursts = phase.bursts ? *phase.bursts : none;
    const auto either = [](const auto& own, const auto& otherwise) -> const auto& {
      return own.empty() ? otherwise : own;
    };
    mixtures_.clear();
    mixtures_.emplace_back(phase.reads, vm_.components);
    mixtures_.emplace_back(phase.writes, vm_.components);
    mixtures_.emplace_back(either(bursts.reads, phase.reads), vm_.components);
    mixtures_.emplace_back(either(bursts.writes, phase.writes), vm_.components);
  }

  const SyntheticVm& vm_;
  Random random_;
  BlockSpace space_;
  Random arrival_random_;
  Random choice_random_;  // read or write, and which component
  std::vector<Component> components_;

  std::size_t phase_ = 0;  // the next one to begin
  Count requests_left_ = 0;
  Count reads_left_ = 0;
  std::optional<Arrivals> arrivals_;
  std::vector<Mixture> mixtures_;  // reads, writes; the same in bursts

  Nanoseconds time_ = 0;
  Op op_ = Op::kRead;
  Extent extent_;
  std::optional<std::uint8_t> of_class_;
};

absl::StatusOr<SyntheticTrace> SyntheticTrace::make(SyntheticProfile profile) {
  return guarded("synthetic trace", [&]() -> absl::StatusOr<SyntheticTrace> {
    if (profile.block_bytes == 0) return invalid_argument("block: must be at least 1 byte");
    if (profile.vms.size() > std::numeric_limits<VmId>::max()) {
      return invalid_argument("vms: {} are too many (at most {})", profile.vms.size(),
                              std::numeric_limits<VmId>::max());
    }
    for (const SyntheticVm& vm : profile.vms) {
      MCSIM_RETURN_IF_ERROR(within(fmt::format("vm '{}'", vm.name), validate(vm)));
    }
    MCSIM_RETURN_IF_ERROR(check_classes(profile));
    return SyntheticTrace(std::move(profile));
  });
}

SyntheticTrace::SyntheticTrace(SyntheticProfile profile)
    : profile_(std::make_unique<SyntheticProfile>(std::move(profile))) {
  const Random random(profile_->seed);
  for (const SyntheticVm& vm : profile_->vms) {
    const auto id = static_cast<VmId>(generators_.size());
    generators_.push_back(
        std::make_unique<VmGenerator>(vm, profile_->block_bytes, random.split("vm/" + vm.name)));
    if (generators_.back()->advance()) heads_.push_back({generators_.back()->time(), id});
  }
  std::ranges::make_heap(heads_, std::greater{});
}

SyntheticTrace::SyntheticTrace(SyntheticTrace&&) noexcept = default;
SyntheticTrace& SyntheticTrace::operator=(SyntheticTrace&&) noexcept = default;
SyntheticTrace::~SyntheticTrace() = default;

Count SyntheticTrace::request_count() const {
  Count requests = 0;
  for (const SyntheticVm& vm : profile_->vms) {
    for (const SyntheticPhase& phase : vm.phases) requests += phase.requests;
  }
  return requests;
}

absl::Status SyntheticTrace::next(std::size_t limit, Requests& chunk) {
  MCSIM_RETURN_IF_ERROR(exhausted_);
  absl::Status status = guarded("synthetic trace", [&] { return generate(limit, chunk); });
  if (absl::IsResourceExhausted(status)) exhausted_ = status;
  return status;
}

absl::Status SyntheticTrace::generate(std::size_t limit, Requests& chunk) {
  chunk = {};
  chunk.reserve(limit);
  while (!heads_.empty() && chunk.size() < limit) {
    std::ranges::pop_heap(heads_, std::greater{});
    Head& head = heads_.back();
    VmGenerator& vm = *generators_[head.vm];
    bool more = true;
    do {
      vm.push(head.vm, chunk);
      more = vm.advance();
      head.time = vm.time();
    } while (more && chunk.size() < limit && head <= heads_.front());
    if (vm.exhausted()) {
      return out_of_range("vm '{}': touches more than 2^32 blocks", profile_->vms[head.vm].name);
    }
    if (more) {
      std::ranges::push_heap(heads_, std::greater{});
    } else {
      generators_[head.vm].reset();
      heads_.pop_back();
    }
  }
  return absl::OkStatus();
}

}  // namespace mcsim
