#include "bindings/src/python_system.hpp"

#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim::python {
namespace {

// An array [tiers, vms] of what `of` says of each.
template <class Of>
py::array_t<Count> by_tier_and_vm(std::size_t tiers, std::size_t vms, Of&& of) {
  py::array_t<Count> array({tiers, vms});
  auto out = array.template mutable_unchecked<2>();
  for (std::size_t k = 0; k < tiers; ++k) {
    for (std::size_t v = 0; v < vms; ++v) {
      out(static_cast<py::ssize_t>(k), static_cast<py::ssize_t>(v)) = of(k, v);
    }
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

// What `allocate` is given: the fields of mcsim.Observation, in arrays that outlive it. Counts
// are those since the last time.
py::object observation(const Observation& seen, const std::vector<VmCounters>& counted,
                       const std::vector<std::string>& names, const Machine& machine) {
  const std::size_t vms = seen.vms.size();
  const std::size_t tiers = machine.tiers.size();
  py::list curves;
  for (const auto& of : seen.curves) curves.append(py::cast(of.curve()));
  std::vector<Count> capacities;
  std::vector<double> read_ns;
  for (const TierSpec& tier : machine.tiers) {
    capacities.push_back(tier.capacity_blocks);
    read_ns.push_back(tier.device.read_ns);
  }
  using namespace py::literals;
  return py::module_::import("types").attr("SimpleNamespace")(
      "interval"_a = seen.interval, "vms"_a = py::tuple(py::cast(names)),
      "accesses"_a = by_vm(vms, [&](std::size_t v) { return seen.vms[v].accesses; }),
      "reads"_a = by_vm(vms, [&](std::size_t v) { return seen.vms[v].reads; }),
      "requests"_a = by_vm(vms, [&](std::size_t v) { return all_requests(counted[v]); }),
      "unique_blocks"_a = by_vm(vms, [&](std::size_t v) { return seen.vms[v].unique_blocks; }),
      "reuse_intensity"_a = by_vm(vms, [&](std::size_t v) { return seen.vms[v].reuse_intensity; }),
      "hits"_a = by_tier_and_vm(
          tiers, vms, [&](std::size_t k, std::size_t v) { return counted[v].tiers[k].hits; }),
      "misses"_a = by_vm(vms, [&](std::size_t v) { return counted[v].misses; }),
      "occupancy"_a = by_tier_and_vm(
          tiers, vms, [&](std::size_t k, std::size_t v) { return counted[v].tiers[k].occupancy; }),
      "current"_a = by_tier_and_vm(
          tiers, vms, [&](std::size_t k, std::size_t v) { return seen.current.at(k, v); }),
      "departed"_a = by_vm(vms, [&](std::size_t v) -> bool { return seen.departed[v]; }),
      "capacities"_a = to_array(std::move(capacities)),
      "tier_read_ns"_a = to_array(std::move(read_ns)),
      "backend_read_ns"_a = machine.backend.read_ns, "_curves"_a = curves);
}

class PythonSystem final : public System {
 public:
  PythonSystem(py::object allocator, const SystemContext& context)
      : allocator_(std::move(allocator)), machine_(context.machine), seed_(context.seed) {
    name_ = py::str(py::type::of(allocator_).attr("__name__"));
    if (!py::hasattr(allocator_, "allocate")) {
      throw Error{invalid_argument("{}: an allocator needs a method allocate(seen)", name_)};
    }
    spec_.interval =
        py::getattr(allocator_, "interval", py::int_(context.interval)).cast<Nanoseconds>();
    spec_.ri_window =
        py::getattr(allocator_, "ri_window", py::int_(spec_.ri_window)).cast<Nanoseconds>();
    const auto scope = py::getattr(allocator_, "distance_scope", py::str("interval"));
    const auto known_scope =
        choice_named<DistanceScope>("distance_scope", scope.cast<std::string>());
    if (!known_scope.ok())
      throw Error{invalid_argument("{}.{}", name_, message_of(known_scope.status()))};
    spec_.scope = *known_scope;
    const auto mode = py::getattr(allocator_, "resize_mode", py::str("lazy")).cast<std::string>();
    const absl::StatusOr<ResizeMode> known = choice_named<ResizeMode>("resize_mode", mode);
    if (!known.ok()) throw Error{invalid_argument("{}.{}", name_, message_of(known.status()))};
    rules_.mode = *known;
    const auto wanted = py::getattr(allocator_, "data_path", py::dict()).cast<ParamMap>();
    absl::StatusOr<DataPathParams> data_path = parse_params<DataPathParams>(wanted);
    if (!data_path.ok()) {
      throw Error{invalid_argument("{}.data_path: {}", name_, message_of(data_path.status()))};
    }
    const absl::Status checked = check(*data_path, context);
    if (!checked.ok()) {
      throw Error{invalid_argument("{}.data_path: {}", name_, message_of(checked))};
    }
    data_path_ = *std::move(data_path);
  }

  // The last owner may be a C++ thread without the GIL.
  ~PythonSystem() override {
    py::gil_scoped_acquire gil;
    allocator_ = py::object();
  }

  std::optional<ProfileSpec> profile() const override { return spec_; }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    for (const VmInfo& vm : trace.vms) vm_names_.push_back(vm.name);
    before_.clear();
    const std::vector<double> equal(trace.vms.size(), 1.0);
    const Division division = one_part_each(proportional(machine_, equal), rules_);
    return make_data_path(data_path_, machine_, trace, division, seed_);
  }

  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    py::gil_scoped_acquire gil;
    std::vector<VmCounters> counted(seen.counters.begin(), seen.counters.end());
    for (std::size_t v = 0; v < before_.size(); ++v) counted[v] = counted[v].since(before_[v]);
    before_.assign(seen.counters.begin(), seen.counters.end());
    py::object answer =
        allocator_.attr("allocate")(observation(seen, counted, vm_names_, machine_));
    if (answer.is_none()) return std::nullopt;
    std::vector<WriteMode> write_modes;
    if (py::isinstance<py::tuple>(answer) && py::len(answer) == 2) {
      const auto names = py::object(answer[py::int_(1)]).cast<std::vector<std::string>>();
      MCSIM_ASSIGN_OR_RETURN(write_modes, modes_named(names, seen.vms.size()));
      answer = answer[py::int_(0)];
    }
    const auto array = py::array_t < double, py::array::c_style | py::array::forcecast > (answer);
    const std::size_t tiers = machine_.tiers.size();
    const std::size_t vms = seen.vms.size();
    if (array.ndim() != 2 || static_cast<std::size_t>(array.shape(0)) != tiers ||
        static_cast<std::size_t>(array.shape(1)) != vms) {
      return invalid_argument("{}: allocate() must return an array of {} tiers x {} VMs", name_,
                              tiers, vms);
    }
    Decision decision{.targets = Allocation(tiers, vms), .write_modes = std::move(write_modes)};
    const auto blocks = array.unchecked<2>();
    for (std::size_t k = 0; k < tiers; ++k) {
      for (std::size_t v = 0; v < vms; ++v) {
        const double given = blocks(static_cast<py::ssize_t>(k), static_cast<py::ssize_t>(v));
        // Not all that is whole fits; what is not a number is not at least 0.
        if (!(given >= 0 && given < 0x1p63) || std::trunc(given) != given) {
          return invalid_argument("{}: allocate() gave {} blocks; whole numbers from 0 on only",
                                  name_, given);
        }
        decision.targets.at(k, v) = static_cast<Count>(given);
      }
      const std::span<const Count> given = decision.targets.tier(k);
      const double sum = std::accumulate(given.begin(), given.end(), 0.0);
      const Count capacity = machine_.tiers[k].capacity_blocks;
      if (sum > static_cast<double>(capacity)) {
        return invalid_argument("{}: allocate() gave {} blocks of tier {}, which has {}", name_,
                                sum, k, capacity);
      }
    }
    return decision;
  }

 private:
  absl::StatusOr<std::vector<WriteMode>> modes_named(const std::vector<std::string>& names,
                                                     std::size_t vms) const {
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
  std::vector<VmCounters> before_;  // at the last decision; none before the first
  ProfileSpec spec_;
  DivisionRules rules_;
  DataPathParams data_path_;
  std::uint64_t seed_;
};

}  // namespace

std::shared_ptr<System> make_python_system(py::object allocator, const SystemContext& context) {
  return std::make_shared<PythonSystem>(std::move(allocator), context);
}

}  // namespace mcsim::python
