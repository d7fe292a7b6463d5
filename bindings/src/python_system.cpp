#include "bindings/src/python_system.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/src/meter_fields.hpp"
#include "bindings/src/placed_extents.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/allocation/dss.hpp"
#include "policies/allocation/latency.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim::python {
namespace {

// An array [tiers, vms] of what `of` says of each.
template <class Of>
auto by_tier_and_vm(std::size_t tiers, std::size_t vms, Of&& of) {
  py::array_t<decltype(of(0, 0))> array({tiers, vms});
  auto* out = array.mutable_data();
  for (std::size_t k = 0; k < tiers; ++k) {
    for (std::size_t v = 0; v < vms; ++v) *out++ = of(k, v);
  }
  return array;
}

// An array of what `of` says of each VM.
template <class Of>
auto by_vm(std::size_t vms, Of&& of) {
  py::array_t<decltype(of(0))> array(static_cast<py::ssize_t>(vms));
  for (std::size_t v = 0; v < vms; ++v) array.mutable_at(static_cast<py::ssize_t>(v)) = of(v);
  return array;
}

Count all_requests(const VmCounters& of) {
  const auto sum = [](const Served& served) {
    return std::accumulate(served.requests.begin(), served.requests.end(), Count{0});
  };
  return sum(of.reads_served) + sum(of.writes_served);
}

// What a meter shows, in arrays by VM.
struct Shown {
  const Reading& reading;

  py::object operator()(const CurveMeter&) const {
    py::list curves;
    for (const RunningCurve& curve : reading.curves) curves.append(py::cast(curve.curve()));
    return curves;
  }
  py::object operator()(const LoadMeter& meter) const { return fields(meter, reading.loads); }
  py::object operator()(const DistinctMeter&) const {
    return column(reading.distinct, [](Count blocks) { return blocks; });
  }
  py::object operator()(const IntensityMeter&) const {
    return column(reading.intensities, &Intensity::value);
  }
  py::object operator()(const ClassMeter& meter) const { return fields(meter, reading.classes); }
  py::object operator()(const ResponseMeter& meter) const {
    return fields(meter, reading.responses);
  }

 private:
  static py::object column(auto rows, auto read) {
    return by_vm(rows.size(), [&](std::size_t v) { return std::invoke(read, rows[v]); });
  }
  static py::object fields(const auto& meter, auto rows) {
    py::dict all;
    visit_fields(meter, [&](const char* name, auto read) { all[name] = column(rows, read); });
    return all;
  }
};

// None if another timer fired.
py::object probe_readings(const Observation& seen) {
  using namespace py::literals;
  const std::span<const ProbeReading> all = seen.probe;
  if (all.empty()) return py::none();
  const auto column = [&](Count ProbeReading::* member) {
    return by_vm(all.size(), [&](std::size_t v) { return all[v].*member; });
  };
  return py::dict("distinct_hits"_a = column(&ProbeReading::distinct_hits),
                  "touched"_a = column(&ProbeReading::touched),
                  "peak"_a = column(&ProbeReading::peak));
}

// Meters of every allocator. Names in parentheses stay apart from those of its own meters.
constexpr const char* kCurves = "(curves)";
constexpr const char* kDistinct = "(distinct)";
constexpr const char* kIntensities = "(intensities)";

class PythonSystem final : public System {
 public:
  PythonSystem(py::object allocator, const SystemContext& context)
      : allocator_(std::move(allocator)), machine_(context.machine), seed_(context.seed) {
    name_ = py::str(py::type::of(allocator_).attr("__name__"));
    if (!py::hasattr(allocator_, "allocate")) {
      throw Error{invalid_argument("{}: an allocator needs a method allocate(seen)", name_)};
    }
    read_timers(context.interval);
    read_meters();
    read_host(context);
    const auto mode = py::getattr(allocator_, "resize_mode", py::str("lazy")).cast<std::string>();
    rules_.mode = checked("", choice_named<ResizeMode>("resize_mode", mode));
    const auto wanted = py::getattr(allocator_, "data_path", py::dict()).cast<ParamMap>();
    data_path_ = checked("data_path: ", parse_params<DataPathParams>(wanted));
    absl::Status possible = check(data_path_, context);
    if (possible.ok()) possible = check_hosts(machine_, data_path_, rules_.mode);
    if (!possible.ok()) {
      throw Error{invalid_argument("{}.data_path: {}", name_, message_of(possible))};
    }
    read_actions();
  }

  // The last owner may be a C++ thread without the GIL.
  ~PythonSystem() override {
    py::gil_scoped_acquire gil;
    allocator_ = py::object();
  }

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    if (classed_) return classed_->trace_view(experiment);
    if (placed_) experiment.line_blocks = placed_->line_blocks();
    return experiment;
  }
  std::vector<Timer> timers() const override { return timers_; }
  std::vector<Meter> meters() const override { return meters_; }
  Actions actions() const override { return actions_; }
  Actions host_supports() const override {
    if (classed_) return {};
    if (placed_) return {Action::kPlacements};
    return with_migrations(divided_host_supports(data_path_));
  }
  std::optional<ProbeSpec> probe() const override { return probe_; }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    vm_names_.clear();
    for (const VmInfo& vm : trace.vms) vm_names_.push_back(vm.name);
    block_bytes_ = trace.block_bytes;
    if (classed_) return classed_->make_host(trace);
    if (placed_) return placed_->make_host(trace);
    Allocation targets(machine_.tiers.size(), trace.vms.size());
    for (const std::vector<std::size_t>& vms : by_host(machine_, hosts_of(machine_, trace))) {
      const Allocation equal = proportional(machine_, std::vector(vms.size(), 1.0));
      for (std::size_t k = 0; k < targets.tiers(); ++k) {
        for (std::size_t i = 0; i < vms.size(); ++i) targets.at(k, vms[i]) = equal.at(k, i);
      }
    }
    return make_data_path(data_path_, machine_, trace, one_part_each(targets, rules_), seed_);
  }

  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    py::gil_scoped_acquire gil;
    const py::object answer = allocator_.attr("allocate")(observation(seen));
    if (answer.is_none()) return std::nullopt;
    Decision decision;
    std::vector<std::size_t> host_of;
    for (const VmCounters& vm : seen.counters) host_of.push_back(static_cast<std::size_t>(vm.host));
    if (!py::hasattr(answer, "targets")) {
      MCSIM_ASSIGN_OR_RETURN(decision.targets, targets_given(answer, host_of));
      return decision;
    }
    if (const py::object moves = answer.attr("migrations"); !moves.is_none()) {
      MCSIM_ASSIGN_OR_RETURN(decision.migrations, migrations_given(moves, seen.vms()));
    }
    for (const Migration& migration : decision.migrations) host_of[migration.vm] = migration.host;
    decision.infeasible = answer.attr("infeasible").cast<std::string>();
    if (const py::list modes = words(answer.attr("write_modes")); !modes.empty()) {
      if (py::isinstance<py::str>(modes[0])) {
        MCSIM_ASSIGN_OR_RETURN(decision.write_modes, modes_named(modes, seen.vms()));
      } else {
        MCSIM_ASSIGN_OR_RETURN(decision.write_modes_by_tier, modes_by_tier(modes, seen.vms()));
      }
    }
    if (const py::object admits = answer.attr("admits"); !admits.is_none()) {
      decision.admits = admits.cast<std::vector<bool>>();
      if (decision.admits.size() != seen.vms()) {
        return invalid_argument("{}: allocate() gave {} truth values of admission for {} VMs",
                                name_, decision.admits.size(), seen.vms());
      }
    }
    if (const py::object targets = answer.attr("targets"); !targets.is_none()) {
      MCSIM_ASSIGN_OR_RETURN(decision.targets, targets_given(targets, host_of));
    }
    if (const py::object tiers = answer.attr("placements"); placed_ && !tiers.is_none()) {
      MCSIM_ASSIGN_OR_RETURN(decision.placements, placed_->moves_to(tiers));
    }
    return decision;
  }

 private:
  template <class T>
  T checked(const char* where, absl::StatusOr<T> given) const {
    if (given.ok()) return *std::move(given);
    throw Error{invalid_argument("{}.{}{}", name_, where, message_of(given.status()))};
  }

  void read_timers(Nanoseconds interval) {
    const py::list own = py::getattr(allocator_, "timers", py::list());
    for (const py::handle& timer : own) {
      const auto [name, period, at_start] =
          timer.cast<std::tuple<std::string, Nanoseconds, bool>>();
      timers_.push_back({.name = name, .clock = {.period = period}, .at_start = at_start});
    }
    if (!timers_.empty()) return;
    const auto period = py::getattr(allocator_, "interval", py::int_(interval));
    timers_.push_back({.name = "interval", .clock = {.period = period.cast<Nanoseconds>()}});
  }

  // The usual host is divided; what is said of another is in a tuple.
  void read_host(const SystemContext& context) {
    const py::object own = py::getattr(allocator_, "host", py::none());
    if (own.is_none()) return;
    const auto [kind, params, sizes] =
        own.cast<std::tuple<std::string, ParamMap, std::vector<Count>>>();
    if (machine_.fleet.several()) {
      throw Error{
          invalid_argument("{}.host: several hosts are divided, and this is {}", name_, kind)};
    }
    if (kind == "classed") {
      classed_.emplace(checked("host: ", parse_params<Dss::Params>(params)), context);
      return;
    }
    placed_.emplace(checked("host: ", parse_params<PlacedExtents::Params>(params)), machine_, sizes,
                    timers_.size());
  }

  Actions with_migrations(Actions actions) const {
    if (machine_.fleet.several()) actions.add(Action::kMigrations);
    return actions;
  }

  // All that its host can, unless it says what.
  void read_actions() {
    actions_ = host_supports();
    const py::object own = py::getattr(allocator_, "actions", py::none());
    if (own.is_none()) return;
    actions_ = {};
    for (const std::string& name : own.cast<std::vector<std::string>>()) {
      actions_.add(checked("", choice_named<Action>("actions", name)));
    }
    const absl::Status possible = check_actions(*this);
    if (!possible.ok())
      throw Error{invalid_argument("{}.actions: {}", name_, message_of(possible))};
  }

  void read_meters() {
    const auto scope = py::getattr(allocator_, "distance_scope", py::str("interval"));
    const auto window = py::getattr(allocator_, "ri_window", py::int_(IntensityMeter{}.window.ns));
    meters_ = {
        {.what = CurveMeter{.scope = checked("", choice_named<DistanceScope>(
                                                     "distance_scope", scope.cast<std::string>()))},
         .name = kCurves},
        {.what = DistinctMeter{}, .name = kDistinct},
        {.what = IntensityMeter{.window = {window.cast<Nanoseconds>()}}, .name = kIntensities}};
    const py::list own = py::getattr(allocator_, "meters", py::list());
    for (const py::handle& meter : own) {
      const auto [name, kind, params, timer] =
          meter.cast<std::tuple<std::string, std::string, ParamMap, std::size_t>>();
      const std::string where = fmt::format("meters['{}']: ", name);
      if (kind == ProbeSpec::kInfo.name) {
        probe_ = checked(where.c_str(), parse_params<ProbeSpec>(params));
        probe_->timer = timer;
        probe_name_ = name;
        continue;
      }
      meters_.push_back({.what = checked(where.c_str(), meter_named(kind, params)),
                         .timer = timer,
                         .name = name});
      own_meters_.push_back(name);
    }
  }

  py::object shown_meter(const Observation& seen, std::string_view name) const {
    const auto meter = std::ranges::find(meters_, name, &Meter::name);
    return std::visit(Shown{seen.meter(name)}, meter->what);
  }

  // The fields of mcsim.Observation, in arrays that outlive what they are of. Counts are those
  // since this timer rang last; of VMs that are gone there are none.
  py::object observation(const Observation& seen) {
    const std::size_t vms = seen.vms();
    const std::size_t tiers = machine_.tiers.size();
    std::vector<Count> capacities;
    std::vector<double> read_ns;
    py::list devices;
    for (const TierSpec& tier : machine_.tiers) {
      devices.append(py::cast(tier.device));
      capacities.push_back(tier.capacity_blocks);
      read_ns.push_back(tier.device.read_ns);
    }
    devices.append(py::cast(machine_.backend));
    py::dict meters;
    for (const std::string& name : own_meters_) meters[py::str(name)] = shown_meter(seen, name);
    if (probe_) meters[py::str(probe_name_)] = probe_readings(seen);
    const auto of_vm = [&](auto of) {
      return by_vm(vms, [&](std::size_t v) {
        return seen.departed[v] ? 0 : std::invoke(of, seen.since[v]);
      });
    };
    const auto of_tier = [&](Count TierCounters::* member) {
      return by_tier_and_vm(tiers, vms, [&](std::size_t k, std::size_t v) {
        return seen.departed[v] ? 0 : seen.since[v].tiers[k].*member;
      });
    };
    using namespace py::literals;
    // One list: with it the function is over a screen.
    return py::module_::import("types").attr("SimpleNamespace")(
        "timer"_a = timers_[seen.timer].name, "interval"_a = seen.interval, "now"_a = seen.now,
        "vms"_a = py::tuple(py::cast(vm_names_)), "accesses"_a = of_vm(&VmCounters::accesses),
        "reads"_a = of_vm([](const VmCounters& of) { return of.accesses - of.writes; }),
        "requests"_a = of_vm(&all_requests), "unique_blocks"_a = shown_meter(seen, kDistinct),
        "reuse_intensity"_a = shown_meter(seen, kIntensities),
        "hits"_a = of_tier(&TierCounters::hits),
        "write_hits"_a = of_tier(&TierCounters::write_hits),
        "misses"_a = of_vm(&VmCounters::misses), "writes"_a = of_vm(&VmCounters::writes),
        "dirty"_a = of_vm(&VmCounters::dirty), "occupancy"_a = of_tier(&TierCounters::occupancy),
        "current"_a = by_tier_and_vm(
            tiers, vms, [&](std::size_t k, std::size_t v) { return seen.current.at(k, v); }),
        "departed"_a = by_vm(vms, [&](std::size_t v) -> bool { return seen.departed[v]; }),
        "arrived"_a = by_vm(vms, [&](std::size_t v) -> bool { return seen.arrived[v]; }),
        "hosts"_a = py::tuple(py::cast(machine_.fleet.hosts)),
        "host"_a = by_vm(vms, [&](std::size_t v) { return seen.counters[v].host; }),
        "on_the_way"_a = by_vm(vms, [&](std::size_t v) { return seen.counters[v].on_the_way; }),
        "capacities"_a = to_array(std::move(capacities)), "devices"_a = py::tuple(devices),
        "block_bytes"_a = block_bytes_, "tier_read_ns"_a = to_array(std::move(read_ns)),
        "backend_read_ns"_a = machine_.backend.read_ns,
        "vm_backend_ns"_a =
            by_vm(vms, [&](std::size_t v) { return machine_.backend_read_ns(vm_names_[v]); }),
        "latency_ns"_a =
            by_vm(vms,
                  [&](std::size_t v) {
                    return seen.departed[v] ? 0.0 : mean_ns(seen.since[v], machine_, vm_names_[v]);
                  }),
        "tier_latency_ns"_a = by_tier_and_vm(
            tiers, vms,
            [&](std::size_t k, std::size_t v) {
              return seen.departed[v] ? 0.0 : tier_mean_ns(seen.since[v], machine_, k);
            }),
        "meters"_a = meters, "_curves"_a = shown_meter(seen, kCurves),
        "extents"_a = placed_ ? placed_->shown(seen) : py::none());
  }

  // Names were looked up before.
  absl::StatusOr<std::vector<Migration>> migrations_given(const py::list& answer,
                                                          std::size_t vms) const {
    std::vector<Migration> migrations;
    for (const py::handle& given : answer) {
      const auto [vm, host, keep, rate, rule] =
          given.cast<std::tuple<std::size_t, std::size_t, bool, double, std::string>>();
      if (vm >= vms) return out_of_range("{}: allocate() moves VM {} of {}", name_, vm, vms);
      MCSIM_ASSIGN_OR_RETURN(const OnDemand on_demand,
                             choice_named<OnDemand>(name_ + ": allocate(): on_demand", rule));
      migrations.push_back({.vm = VmId(vm),
                            .host = host,
                            .keep = keep,
                            .blocks_per_second = rate,
                            .on_demand = on_demand});
    }
    return migrations;
  }

  // `host_of` says where VMs are that get them.
  absl::StatusOr<Allocation> targets_given(const py::object& answer,
                                           const std::vector<std::size_t>& host_of) const {
    const std::size_t vms = host_of.size();
    const Converted<double> array(answer);
    const std::size_t tiers = machine_.tiers.size();
    if (array.ndim() != 2 || static_cast<std::size_t>(array.shape(0)) != tiers ||
        static_cast<std::size_t>(array.shape(1)) != vms) {
      return invalid_argument("{}: allocate() must return an array of {} tiers x {} VMs", name_,
                              tiers, vms);
    }
    Allocation targets(tiers, vms);
    const auto blocks = array.unchecked<2>();
    for (std::size_t k = 0; k < tiers; ++k) {
      for (std::size_t v = 0; v < vms; ++v) {
        const double given = blocks(static_cast<py::ssize_t>(k), static_cast<py::ssize_t>(v));
        // Not all that is whole fits; what is not a number is not at least 0.
        if (!(given >= 0 && given < 0x1p63) || std::trunc(given) != given) {
          return invalid_argument("{}: allocate() gave {} blocks; whole numbers from 0 on only",
                                  name_, given);
        }
        targets.at(k, v) = static_cast<Count>(given);
      }
      std::map<std::size_t, double> sums;  // by host
      for (std::size_t v = 0; v < vms; ++v) {
        sums[host_of[v]] += static_cast<double>(targets.at(k, v));
      }
      const Count capacity = machine_.tiers[k].capacity_blocks;
      for (const auto& [host, sum] : sums) {
        if (sum <= static_cast<double>(capacity)) continue;
        const std::string where =
            host < machine_.fleet.hosts.size() ? " on " + machine_.fleet.hosts[host] : "";
        return invalid_argument("{}: allocate() gave {} blocks of tier {}{}, which has {}", name_,
                                sum, k, where, capacity);
      }
    }
    return targets;
  }

  // None are as they are.
  static py::list words(const py::object& modes) { return modes.is_none() ? py::list() : modes; }

  absl::StatusOr<ModesByTier> modes_by_tier(const py::list& rows, std::size_t vms) const {
    if (rows.size() != machine_.tiers.size()) {
      return invalid_argument("{}: allocate() gave write modes of {} tiers, and there are {}",
                              name_, rows.size(), machine_.tiers.size());
    }
    ModesByTier modes;
    for (const py::handle& row : rows) {
      MCSIM_ASSIGN_OR_RETURN(modes.emplace_back(), modes_named(row, vms));
    }
    return modes;
  }

  absl::StatusOr<std::vector<WriteMode>> modes_named(const py::handle& given,
                                                     std::size_t vms) const {
    const auto names = given.cast<std::vector<std::string>>();
    if (names.size() != vms) {
      return invalid_argument("{}: allocate() gave {} write modes for {} VMs", name_, names.size(),
                              vms);
    }
    std::vector<WriteMode> modes;
    for (const std::string& name : names) {
      const std::string parameter = name_ + ": allocate(): write mode";
      MCSIM_ASSIGN_OR_RETURN(const WriteMode mode, choice_named<WriteMode>(parameter, name));
      modes.push_back(mode);
    }
    return modes;
  }

  py::object allocator_;
  Machine machine_;
  std::string name_;
  std::vector<std::string> vm_names_;
  Count block_bytes_ = 0;
  std::vector<Timer> timers_;
  Actions actions_;
  std::vector<Meter> meters_;
  std::vector<std::string> own_meters_;  // names of those that the allocator declares
  std::optional<ProbeSpec> probe_;
  std::string probe_name_;
  DivisionRules rules_;
  DataPathParams data_path_;
  std::optional<Dss> classed_;           // whose host it has,
  std::optional<PlacedExtents> placed_;  // or that of these
  std::uint64_t seed_;
};

}  // namespace

std::shared_ptr<System> make_python_system(py::object allocator, const SystemContext& context) {
  return std::make_shared<PythonSystem>(std::move(allocator), context);
}

}  // namespace mcsim::python
