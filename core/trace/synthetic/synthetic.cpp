#include "core/trace/synthetic/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/base/random.hpp"
#include "core/base/suggest.hpp"
#include "core/containers/alias_table.hpp"
#include "core/trace/synthetic/arrivals.hpp"
#include "core/trace/synthetic/extents.hpp"
#include "core/trace/synthetic/reference_client.hpp"

namespace mcsim {
namespace {

constexpr Count kMostBlocks = Count{1} << 32;
// The maximum number of blocks of a client, in its cache and in a phase.
constexpr Count kMostHeld = Count{1} << 31;
constexpr Count kMostRequests = Count{1} << 32;  // of a profile
constexpr Count kMostBursts = 1'000'000;         // of a phase
// Limits that prevent overflows of a time plus a wait.
constexpr Nanoseconds kLatest = Nanoseconds{1} << 62;
constexpr Nanoseconds kLongestWait = Nanoseconds{1} << 60;

bool is_share(double x) { return x >= 0 && x <= 1; }

// Checks weights for drawing: none negative, none infinite, not all zero.
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
  if (const Count windows = (phase.duration - 1) / bursts.period + 1; windows > kMostBursts) {
    return invalid_argument("bursts: period: {} ns are {} windows in {} ns: at most {} can be made",
                            bursts.period, windows, phase.duration, kMostBursts);
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

// Classes are a column: all components have one, or none has.
absl::Status check_classes(std::span<const SyntheticVm> vms) {
  const auto has_class = [](const SyntheticComponent& component) {
    return component.of_class.has_value();
  };
  const bool some = std::ranges::any_of(
      vms, [&](const SyntheticVm& vm) { return std::ranges::any_of(vm.components, has_class); });
  for (const SyntheticVm& vm : vms) {
    const auto without = std::ranges::find_if_not(vm.components, has_class);
    if (!some || without == vm.components.end()) continue;
    return invalid_argument("vm '{}': component '{}': others have a class: expected one of 0 to {}",
                            vm.name, without->name, kMostClasses - 1);
  }
  return absl::OkStatus();
}

// The maximum number of a client's requests in a phase, if all responses are the fastest.
Count most_requests(const SyntheticPhase& phase, const SyntheticClient& client) {
  return (phase.duration - 1) / (client.fastest() + *phase.think) + 1;
}

Count requests_of(const SyntheticPhase& phase, const SyntheticVm& vm) {
  return vm.client ? most_requests(phase, *vm.client) : phase.requests;
}

absl::Status check_wait(std::string_view what, Nanoseconds wait) {
  if (wait >= 0 && wait <= kLongestWait) return absl::OkStatus();
  return invalid_argument("{}: {} ns is outside [0, {}]", what, wait, kLongestWait);
}

// Checks that a phase states its number of requests in the way that the VM needs.
absl::Status check_amount(const SyntheticPhase& phase,
                          const std::optional<SyntheticClient>& client) {
  if (!phase.think) {
    if (!client) return absl::OkStatus();
    return invalid_argument("requests: a VM with a 'client' needs 'think' instead");
  }
  if (!client) {
    return invalid_argument("think: needs a VM with a 'client'");
  }
  MCSIM_RETURN_IF_ERROR(check_wait("think", *phase.think));
  if (phase.requests != 0 || phase.diurnal || phase.bursts) {
    return invalid_argument("think: cannot be combined with {}", phase.requests != 0 ? "requests"
                                                                 : phase.diurnal     ? "diurnal"
                                                                                     : "bursts");
  }
  if (client->fastest() + *phase.think == 0) {
    return invalid_argument("think: 0 ns and responses of 0 ns: one must be longer");
  }
  const Count most = most_requests(phase, *client);
  if (most <= kMostRequests) return absl::OkStatus();
  return invalid_argument(
      "think: {} ns after responses that take {} ns or more are {} requests: at most {} can be "
      "made",
      *phase.think, client->fastest(), most, kMostRequests);
}

// Draws the component of an access.
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
    if (shares.empty()) return {1};  // never drawn
    std::vector<double> weights;
    for (const ComponentShare& share : shares) weights.push_back(share.weight);
    return weights;
  }

  AliasTable table_;
  std::vector<std::size_t> component_;
};

// The state of a component, with its own random numbers.
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

absl::Status validate(const SyntheticClient& client) {
  if (client.cache_blocks < 1 || client.cache_blocks > kMostHeld) {
    return invalid_argument("cache_blocks: {} is outside [1, {}]", client.cache_blocks, kMostHeld);
  }
  MCSIM_RETURN_IF_ERROR(check_wait("hit", client.hit));
  MCSIM_RETURN_IF_ERROR(check_wait("miss", client.miss));
  return check_wait("write", client.write);
}

absl::Status validate(const SyntheticPhase& phase, std::span<const std::string_view> components,
                      const std::optional<SyntheticClient>& client) {
  if (phase.duration < 1) return invalid_argument("duration: must be at least 1 ns");
  if (phase.start > kLatest - phase.duration) {
    return invalid_argument("duration: {} ns from {} ns on ends after {} ns", phase.duration,
                            phase.start, kLatest);
  }
  if (phase.requests < 0 || phase.requests > kMostRequests) {
    return invalid_argument("requests: {} is outside [0, {}]", phase.requests, kMostRequests);
  }
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
  MCSIM_RETURN_IF_ERROR(check_amount(phase, client));
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
  if (vm.client) MCSIM_RETURN_IF_ERROR(within("client", validate(*vm.client)));
  Nanoseconds free_from = 0;
  for (std::size_t i = 0; i < vm.phases.size(); ++i) {
    const SyntheticPhase& phase = vm.phases[i];
    const std::string where = fmt::format("phases[{}]", i);
    MCSIM_RETURN_IF_ERROR(within(where, validate(phase, names, vm.client)));
    if (phase.start < free_from) {
      return invalid_argument("{}: starts at {} ns, before the phase before it ends ({} ns)", where,
                              phase.start, free_from);
    }
    free_from = phase.start + phase.duration;
  }
  return absl::OkStatus();
}

double bytes_needed(const SyntheticComponent& component, std::uint32_t block_bytes) {
  const double blocks = SizeMix(component.sizes).mean_blocks(BlockSpace(block_bytes));
  if (const auto* zipf = std::get_if<ZipfModel>(&component.model)) {
    return 24 * static_cast<double>(zipf->blocks) / blocks;
  }
  if (const auto* loop = std::get_if<LoopModel>(&component.model)) {
    return 8 * static_cast<double>(loop->blocks) / blocks;
  }
  return 0;
}

absl::Status validate(std::span<const SyntheticVm> vms) {
  if (vms.size() > kMostVms) {
    return invalid_argument("{} VMs are too many (at most {})", vms.size(), kMostVms);
  }
  Count requests = 0;  // checked in each step, so that it cannot overflow
  for (const SyntheticVm& vm : vms) {
    MCSIM_RETURN_IF_ERROR(within(fmt::format("vm '{}'", vm.name), validate(vm)));
    for (const SyntheticPhase& phase : vm.phases) {
      requests += requests_of(phase, vm);
      if (requests > kMostRequests) {
        return invalid_argument("more than {} requests in all phases of all VMs", kMostRequests);
      }
    }
  }
  return check_classes(vms);
}

// Generates the requests of one VM.
class SyntheticTrace::VmGenerator {
 public:
  VmGenerator(const SyntheticVm& vm, std::uint32_t block_bytes, const Random& random)
      : vm_(vm),
        random_(random),
        space_(block_bytes),
        arrival_random_(random.split("arrivals")),
        choice_random_(random.split("choices")) {
    if (vm.client) client_.emplace(*vm.client);
    components_.reserve(vm.components.size());
    for (const SyntheticComponent& component : vm.components) {
      Random own = random.split("component/" + component.name);
      ExtentStream stream = make_stream(component, space_, own);
      components_.push_back({std::move(stream), own});
    }
  }

  // Generates the next request; returns false after the last one.
  bool advance() {
    while (!(client_ ? next_send_ < phase_end_ : requests_left_ > 0)) {
      if (phase_ == vm_.phases.size()) return false;
      begin(vm_.phases[phase_++]);
    }
    const RequestArrival arrival = client_ ? RequestArrival{.time = next_send_} : arrivals_->next();
    const bool is_read = draw_read();
    const Mixture& mixture = mixtures_[(arrival.in_burst ? 2U : 0U) + (is_read ? 0U : 1U)];
    const std::size_t drawn = mixture.draw(choice_random_);
    Component& component = components_[drawn];
    of_class_ = vm_.components[drawn].of_class;
    extent_ = std::visit([&](auto& stream) { return stream.next(space_, component.random); },
                         component.stream);
    time_ = arrival.time;
    op_ = is_read ? Op::kRead : Op::kWrite;
    if (client_) wait();
    return true;
  }

  Nanoseconds time() const { return time_; }

  void push(VmId vm, Requests& chunk) const {
    chunk.push(time_, vm, op_, std::uint64_t{extent_.first_block} * space_.block_bytes(),
               extent_.bytes, response_, of_class_);
  }

  bool exhausted() const { return space_.exhausted(); }

 private:
  void begin(const SyntheticPhase& phase) {
    read_share_ = phase.read_share;
    if (client_) {
      phase_end_ = phase.start + phase.duration;
      next_send_ = std::max(phase.start, last_response_);
      think_ = *phase.think;
    } else {
      requests_left_ = phase.requests;
      const double reads = phase.read_share * static_cast<double>(phase.requests);
      reads_left_ = static_cast<Count>(std::floor(reads + 0.5));
      arrivals_.emplace(phase, arrival_random_);
      arrival_random_ = arrival_random_.split("phase");
    }
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

  // Draws the operation: with a fixed number of reads without a client, independently with one.
  bool draw_read() {
    if (client_) return choice_random_.uniform() < read_share_;
    const auto left = static_cast<std::uint64_t>(requests_left_--);
    const bool is_read = static_cast<Count>(choice_random_.below(left)) < reads_left_;
    if (is_read) --reads_left_;
    return is_read;
  }

  // Waits for the response to the last request, then thinks.
  void wait() {
    response_ = client_->respond(op_, extent_.first_block, space_.blocks_of(extent_.bytes));
    last_response_ = time_ + response_;
    next_send_ = last_response_ + think_;
  }

  const SyntheticVm& vm_;
  Random random_;
  BlockSpace space_;
  Random arrival_random_;
  Random choice_random_;  // for operations and components
  std::vector<Component> components_;

  std::size_t phase_ = 0;  // the next one to begin
  Count requests_left_ = 0;
  Count reads_left_ = 0;
  double read_share_ = 1;
  std::optional<Arrivals> arrivals_;
  std::optional<ReferenceClient> client_;  // replaces these arrivals and counts
  Nanoseconds phase_end_ = 0;
  Nanoseconds think_ = 0;
  Nanoseconds last_response_ = 0;  // when the client's last response arrived
  Nanoseconds next_send_ = 0;      // when it sends the next request
  std::vector<Mixture> mixtures_;  // reads, writes; reads and writes in bursts

  Nanoseconds time_ = 0;
  Nanoseconds response_ = -1;
  Op op_ = Op::kRead;
  Extent extent_;
  std::optional<std::uint8_t> of_class_;
};

absl::StatusOr<SyntheticTrace> SyntheticTrace::make(SyntheticProfile profile) {
  return guarded("synthetic trace", [&]() -> absl::StatusOr<SyntheticTrace> {
    if (profile.block_bytes == 0) return invalid_argument("block: must be at least 1 byte");
    MCSIM_RETURN_IF_ERROR(validate(profile.vms));
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
    for (const SyntheticPhase& phase : vm.phases) requests += requests_of(phase, vm);
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
