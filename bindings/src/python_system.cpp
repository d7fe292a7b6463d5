#include "bindings/src/python_system.hpp"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/dividing.hpp"
#include "policies/allocation/dss.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim::python {
namespace {

class PythonSystem final : public System {
 public:
  PythonSystem(py::object allocator, const SystemContext& context)
      : allocator_(std::move(allocator)),
        name_(py::str(py::type::of(allocator_).attr("__name__"))),
        seed_(context.seed),
        run_{.machine = context.machine} {
    if (!py::hasattr(allocator_, "allocate")) {
      throw Error{invalid_argument("{}: an allocator needs a method allocate(seen)", name_)};
    }
    read_timers(context.interval);
    read_meters();
    read_host(context);
    rules_.mode = choice<ResizeMode>("resize_mode", "lazy");
    data_path_ =
        checked("data_path: ", parse_params<DataPathParams>(attribute("data_path", ParamMap())));
    raise_at("data_path: ", check(data_path_, context));
    if (reads_addresses(data_path_, context.machine.tiers.size())) keep_addresses();
    raise_at("data_path: ", check_hosts(run_.machine, data_path_, rules_.mode));
    read_actions();
    raise_if_error(check_delayed_hits(name_, *this, run_.machine));
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
  std::vector<Timer> timers() const override { return run_.timers; }
  std::vector<Meter> meters() const override { return run_.meters; }
  Actions actions() const override { return actions_; }
  Actions host_supports() const override {
    if (classed_) return {};
    if (placed_) return {Action::kPlacements};
    Actions actions = divided_host_supports(data_path_);
    if (run_.machine.fleet.several()) actions.add(Action::kMigrations);
    return actions;
  }
  std::optional<ProbeSpec> probe() const override { return probe_; }
  bool can_delay_hits() const override { return !classed_ && !placed_; }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    run_.vm_names.clear();
    for (const VmInfo& vm : trace.vms) run_.vm_names.push_back(vm.name);
    run_.block_bytes = trace.block_bytes;
    if (classed_) return classed_->make_host(trace);
    if (placed_) return placed_->make_host(trace);
    const Machine& machine = run_.machine;
    Allocation targets(machine.tiers.size(), trace.vms.size());
    for (const std::vector<std::size_t>& vms : by_host(machine, hosts_of(machine, trace))) {
      const Allocation equal = proportional(machine, std::vector(vms.size(), 1.0));
      for (std::size_t k = 0; k < targets.tiers(); ++k) {
        for (std::size_t i = 0; i < vms.size(); ++i) targets.at(k, vms[i]) = equal.at(k, i);
      }
    }
    return make_data_path(data_path_, machine, trace, one_part_each(targets, rules_), seed_);
  }

  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    py::gil_scoped_acquire gil;
    PlacedExtents* const placed = placed_ ? &*placed_ : nullptr;
    const py::object answer = allocator_.attr("allocate")(observation_of(run_, seen, placed));
    return decision_from(answer, name_, run_.machine, seen, placed);
  }

 private:
  void raise_at(const std::string& where, const absl::Status& status) const {
    if (!status.ok()) throw Error{invalid_argument("{}.{}{}", name_, where, message_of(status))};
  }
  template <class T>
  T checked(const std::string& where, absl::StatusOr<T> given) const {
    raise_at(where, given.status());
    return *std::move(given);
  }

  template <class T>
  T attribute(const char* name, const T& otherwise) const {
    return py::hasattr(allocator_, name) ? allocator_.attr(name).cast<T>() : otherwise;
  }
  template <class E>
  E choice(const char* name, const std::string& otherwise) const {
    return checked("", choice_named<E>(name, attribute(name, otherwise)));
  }

  void read_timers(Nanoseconds interval) {
    using Named = std::tuple<std::string, Nanoseconds, bool>;
    for (const auto& [name, period, at_start] : attribute("timers", std::vector<Named>())) {
      run_.timers.push_back({.name = name, .clock = {.period = period}, .at_start = at_start});
    }
    if (!run_.timers.empty()) return;
    run_.timers.push_back(
        {.name = "interval", .clock = {.period = attribute("interval", interval)}});
  }

  // Parentheses keep the names of the usual meters apart from those of the allocator.
  void add_meter(const std::string& name, Meter meter) {
    meter.name = run_.meters.size() < kUsualMeters ? fmt::format("({})", name) : name;
    run_.meter_names.push_back(name);
    run_.meters.push_back(std::move(meter));
  }

  void read_meters() {
    const auto scope = choice<DistanceScope>("distance_scope", "interval");
    const Duration window{attribute("ri_window", IntensityMeter{}.window.ns)};
    add_meter("_curves", {.what = CurveMeter{.scope = scope}});
    add_meter("unique_blocks", {.what = DistinctMeter{}});
    add_meter("reuse_intensity", {.what = IntensityMeter{.window = window}});
    using Named = std::tuple<std::string, std::string, ParamMap, std::size_t>;
    for (const auto& [name, kind, params, timer] : attribute("meters", std::vector<Named>())) {
      const std::string where = fmt::format("meters['{}']: ", name);
      if (kind == ProbeSpec::kInfo.name) {
        run_.probe_name = name;
        probe_ = checked(where, parse_params<ProbeSpec>(params));
        probe_->timer = timer;
      } else {
        add_meter(name, {.what = checked(where, meter_named(kind, params)), .timer = timer});
      }
    }
  }

  // Reads the allocator's host; without one it divides the default host.
  void read_host(const SystemContext& context) {
    using Own = std::tuple<std::string, ParamMap, std::vector<Count>>;
    const auto own = attribute("host", std::optional<Own>());
    if (!own) return;
    const auto& [kind, params, sizes] = *own;
    if (run_.machine.fleet.several()) {
      throw Error{
          invalid_argument("{}.host: several hosts are divided, and this is {}", name_, kind)};
    }
    if (kind == "classed") {
      classed_.emplace(checked("host: ", parse_params<Dss::Params>(params)), context);
    } else {
      placed_.emplace(checked("host: ", parse_params<PlacedExtents::Params>(params)), run_.machine,
                      sizes, run_.timers.size());
    }
  }

  // Reads the allocator's actions; the default is all that its host supports.
  void read_actions() {
    actions_ = host_supports();
    const auto own = attribute("actions", std::optional<std::vector<std::string>>());
    if (!own) return;
    actions_ = {};
    for (const std::string& name : *own) {
      actions_.add(checked("", choice_named<Action>("actions", name)));
    }
    raise_at("actions: ", check_actions(*this));
  }

  py::object allocator_;
  std::string name_;
  std::uint64_t seed_;
  ObservedRun run_;
  Actions actions_;
  std::optional<ProbeSpec> probe_;
  DivisionRules rules_;
  DataPathParams data_path_;
  // The allocator's own host.
  std::optional<Dss> classed_;
  std::optional<PlacedExtents> placed_;
};

}  // namespace

std::shared_ptr<System> make_python_system(py::object allocator, const SystemContext& context) {
  return std::make_shared<PythonSystem>(std::move(allocator), context);
}

}  // namespace mcsim::python
