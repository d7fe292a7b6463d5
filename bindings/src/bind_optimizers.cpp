#include <algorithm>
#include <cmath>
#include <optional>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"
#include "optimizers/registry.hpp"

namespace mcsim::python {
namespace {

// A Python object that a thread without the GIL may release.
using Shared = std::shared_ptr<py::object>;

Shared share(py::object object) {
  return Shared(new py::object(std::move(object)), [](py::object* held) {
    py::gil_scoped_acquire gil;
    delete held;
  });
}

using Bounds = std::optional<Column<std::int64_t>>;

Choice bounds_from(const Bounds& given, const char* name) {
  Choice bounds;
  if (!given) return bounds;
  const Column<std::int64_t>& table = *given;
  if (table.ndim() != 1 && table.ndim() != 2) {
    raise_if_error(invalid_argument("{}: expected shape (vm,) or (vm, tier), got {} axes", name,
                                    table.ndim()));
  }
  const auto vms = static_cast<std::size_t>(table.shape(0));
  const auto cells = span_of(table);
  const std::size_t tiers = vms == 0 ? 0 : cells.size() / vms;
  for (std::size_t v = 0; v < vms; ++v) {
    auto& row = bounds.emplace_back();
    for (const std::int64_t index : cells.subspan(v * tiers, tiers)) {
      if (index < 0) raise_if_error(out_of_range("{}[{}]: index {} is negative", name, v, index));
      row.push_back(static_cast<std::size_t>(index));
    }
  }
  return bounds;
}

AllocationProblem make_problem(const Column<Count>& sizes, const Column<Count>& capacities,
                               const Column<double>& values, const Bounds& lowest,
                               const Bounds& highest) {
  if (sizes.ndim() != 1 || capacities.ndim() != 1) {
    raise_if_error(invalid_argument("sizes and capacities: expected one axis each"));
  }
  if (values.ndim() != 3 && (values.ndim() != 2 || capacities.size() != 1)) {
    raise_if_error(invalid_argument(
        "values: expected shape (vm, tier, size), or (vm, size) with one tier; got {} axes for {} "
        "tiers",
        values.ndim(), capacities.size()));
  }
  AllocationProblem problem;
  problem.sizes.assign(sizes.data(), sizes.data() + sizes.size());
  problem.capacities.assign(capacities.data(), capacities.data() + capacities.size());
  const auto vms = static_cast<std::size_t>(values.shape(0));
  const auto tiers = static_cast<std::size_t>(values.ndim() == 3 ? values.shape(1) : 1);
  const auto count = static_cast<std::size_t>(values.shape(values.ndim() - 1));
  const auto cells = span_of(values);
  for (std::size_t v = 0; v < vms; ++v) {
    auto& tables = problem.value.emplace_back();
    for (std::size_t k = 0; k < tiers; ++k) {
      const auto table = cells.subspan((v * tiers + k) * count, count);
      tables.emplace_back(table.begin(), table.end());
    }
  }
  problem.lowest = bounds_from(lowest, "lowest");
  problem.highest = bounds_from(highest, "highest");
  raise_if_error(problem.validate());
  return problem;
}

py::array_t<double> values_of(const AllocationProblem& problem) {
  const std::size_t tiers = problem.tiers();
  const std::size_t count = problem.sizes.size();
  return read_only(filled({problem.vms(), tiers, count}, [&](std::size_t i) {
    return problem.value[i / count / tiers][i / count % tiers][i % count];
  }));
}

template <class Bound>
py::array_t<std::int64_t> bound_of(const AllocationProblem& problem, Bound bound) {
  return read_only(filled({problem.vms(), problem.tiers()}, [&](std::size_t i) {
    return static_cast<std::int64_t>((problem.*bound)(i / problem.tiers(), i % problem.tiers()));
  }));
}

struct NamedSolution : Solution {
  Allocation blocks;

  // The relative distance of the objective from the proven upper bound.
  double gap() const {
    const double missing = upper_bound - objective;
    return missing == 0 ? 0 : missing / std::abs(upper_bound);
  }
};

NamedSolution solve(Optimizer& optimizer, const AllocationProblem& problem) {
  py::gil_scoped_release release;
  Solution solution = value_or_raise(optimizer.solve(problem));
  Allocation allocation = solution.allocation(problem);
  return {std::move(solution), std::move(allocation)};
}

py::array_t<std::int64_t> choice_of(const NamedSolution& named) {
  const std::size_t tiers = named.blocks.tiers();
  return read_only(filled({named.choice.size(), tiers}, [&](std::size_t i) {
    return static_cast<std::int64_t>(named.choice[i / tiers][i % tiers]);
  }));
}

py::array_t<Count> allocation_of(const NamedSolution& named) {
  const Allocation& blocks = named.blocks;
  return read_only(filled({blocks.tiers(), blocks.vms()}, [&](std::size_t i) {
    return blocks.at(i / blocks.vms(), i % blocks.vms());
  }));
}

py::tuple solution_state(const NamedSolution& named) {
  return py::make_tuple(choice_of(named), allocation_of(named), named.objective, named.upper_bound,
                        named.evaluations, named.seconds);
}

NamedSolution solution_of(const py::tuple& state) {
  const auto choice = state[0].cast<std::vector<std::vector<std::size_t>>>();
  const auto blocks = state[1].cast<std::vector<std::vector<Count>>>();
  NamedSolution named{{.choice = choice,
                       .objective = state[2].cast<double>(),
                       .upper_bound = state[3].cast<double>(),
                       .evaluations = state[4].cast<Count>(),
                       .seconds = state[5].cast<double>()},
                      Allocation(blocks.size(), choice.size())};
  for (std::size_t tier = 0; tier < blocks.size(); ++tier) {
    for (std::size_t vm = 0; vm < choice.size(); ++vm) {
      named.blocks.at(tier, vm) = blocks[tier].at(vm);
    }
  }
  return named;
}

class PythonOptimizer final : public Optimizer {
 public:
  explicit PythonOptimizer(py::object object)
      : name_(py::str(py::type::of(object).attr("__name__"))), object_(share(std::move(object))) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override {
    const Stopwatch watch;
    MCSIM_RETURN_IF_ERROR(problem.validate());
    absl::StatusOr<Choice> choice = ask(problem);
    if (choice.ok()) {
      if (absl::Status status = check_feasible(problem, *choice); !status.ok()) choice = status;
    }
    if (!choice.ok()) {
      return absl::Status(choice.status().code(),
                          fmt::format("{}.optimize: {}", name_, message_of(choice.status())));
    }
    return make_solution(problem, *std::move(choice), relaxed_bound(problem), 0, watch);
  }

 private:
  absl::StatusOr<Choice> ask(const AllocationProblem& problem) const {
    py::gil_scoped_acquire gil;
    const auto given = py::array::ensure(object_->attr("optimize")(problem));
    const bool whole = given && (given.dtype().kind() == 'i' || given.dtype().kind() == 'u');
    if (!whole) return invalid_argument("expected an array of whole numbers of blocks");
    const Converted<Count> blocks(given);
    const auto vms = static_cast<py::ssize_t>(problem.vms());
    const auto tiers = static_cast<py::ssize_t>(problem.tiers());
    const bool per_vm = tiers == 1 && blocks.ndim() == 1 && blocks.shape(0) == vms;
    const bool per_tier = blocks.ndim() == 2 && blocks.shape(0) == tiers && blocks.shape(1) == vms;
    if (!per_vm && !per_tier) {
      return invalid_argument("expected blocks shaped ({}, {}), got {}", tiers, vms,
                              std::string(py::str(given.attr("shape"))));
    }
    return choice_from({blocks.data(), static_cast<std::size_t>(blocks.size())}, problem);
  }

  // Rounds cumulative sizes down to sizes of the problem.
  static absl::StatusOr<Choice> choice_from(std::span<const Count> blocks,
                                            const AllocationProblem& problem) {
    Choice choice(problem.vms());
    for (std::size_t v = 0; v < problem.vms(); ++v) {
      Count size = 0;
      for (std::size_t k = 0; k < problem.tiers(); ++k) {
        const Count taken = blocks[k * problem.vms() + v];
        if (taken < 0) return out_of_range("VM {}, tier {}: {} blocks are negative", v, k, taken);
        size += taken;
        const auto above = std::ranges::upper_bound(problem.sizes, size);
        choice[v].push_back(static_cast<std::size_t>(above - problem.sizes.begin()) - 1);
      }
    }
    return choice;
  }

  std::string name_;
  Shared object_;
};

// Python views the program's columns without copies, only during the call.
BinaryProgramSolver solver_from(py::object solver) {
  if (solver.is_none()) return nullptr;
  return [held = share(std::move(solver))](
             const BinaryProgram& program) -> absl::StatusOr<BinaryProgramSolution> {
    py::gil_scoped_acquire gil;
    const py::object result = (*held)(py::cast(&program, py::return_value_policy::reference));
    const auto x = result.attr("x").cast<Column<double>>();
    return BinaryProgramSolution{.x = {x.data(), x.data() + x.size()},
                                 .objective = result.attr("objective").cast<double>(),
                                 .upper_bound = result.attr("upper_bound").cast<double>(),
                                 .nodes = result.attr("nodes").cast<Count>()};
  };
}

std::shared_ptr<Optimizer> make_optimizer(const std::string& name, const ParamMap& params,
                                          std::uint64_t seed, py::object solver) {
  OptimizerContext context{.seed = seed, .binary_program_solver = solver_from(std::move(solver))};
  return value_or_raise(optimizer_registry().make(name, params, std::move(context)));
}

void bind_problem(py::module_& m) {
  using P = AllocationProblem;
  const auto bound =
      def_fields(py::class_<P>(m, "AllocationProblem", "A division to be found." MCSIM_CONSTANT),
                 std::tuple{MCSIM_FIELDS(P, vms, tiers)});
  def_views(bound, std::tuple{MCSIM_FIELDS(P, sizes, capacities)})
      .def(py::init(&make_problem), py::arg("sizes"), py::arg("capacities"), py::arg("values"),
           py::arg("lowest") = py::none(), py::arg("highest") = py::none())
      .def_property_readonly("values", &values_of)
      .def_property_readonly("lowest", [](const P& p) { return bound_of(p, &P::low); })
      .def_property_readonly("highest", [](const P& p) { return bound_of(p, &P::high); });
}

void bind_solution(py::module_& m) {
  using S = NamedSolution;
  def_fields(py::class_<S>(m, "Solution", "A division that was found." MCSIM_CONSTANT),
             std::tuple{MCSIM_FIELDS(S, objective, upper_bound, evaluations, seconds, gap)})
      .def_property_readonly("choice", &choice_of)
      .def_property_readonly("allocation", &allocation_of)
      .def(py::pickle(&solution_state, &solution_of))
      .def("__repr__", [](const S& named) {
        return fmt::format("<Solution objective={:g} upper_bound={:g} gap={:.3g}>", named.objective,
                           named.upper_bound, named.gap());
      });
}

}  // namespace

void bind_optimizers(py::module_& parent) {
  py::module_ m = parent.def_submodule("optimizers", "Dividing cache space among VMs.");
  bind_problem(m);
  bind_solution(m);
  def_views(py::class_<BinaryProgram>(m, "BinaryProgram",
                                      "Valid only during the call of the solver." MCSIM_CONSTANT),
            std::tuple{MCSIM_FIELDS(BinaryProgram, cost, row_start, column, coefficient, row_low,
                                    row_high)});
  py::class_<Optimizer, std::shared_ptr<Optimizer>>(
      m, "Optimizer", "Divides caches; keeps nothing between calls." MCSIM_CONSTANT)
      .def("solve", &solve, py::arg("problem"));
  m.def("describe", [] { return describe_registry(optimizer_registry()); });
  m.def("make", &make_optimizer, py::arg("name"), py::arg("params") = ParamMap{},
        py::arg("seed") = 1, py::arg("solver") = py::none());
  m.def(
      "from_python",
      [](py::object object) -> std::shared_ptr<Optimizer> {
        return std::make_shared<PythonOptimizer>(std::move(object));
      },
      py::arg("object"));
  m.def(
      "solve",
      [](const AllocationProblem& problem, const std::string& name, const ParamMap& params,
         std::uint64_t seed, py::object solver) {
        return solve(*make_optimizer(name, params, seed, std::move(solver)), problem);
      },
      py::arg("problem"), py::arg("name"), py::arg("params") = ParamMap{}, py::arg("seed") = 1,
      py::arg("solver") = py::none());
}

}  // namespace mcsim::python
