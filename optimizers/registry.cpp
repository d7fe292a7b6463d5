#include "optimizers/registry.hpp"

#include "core/base/guarded.hpp"
#include "optimizers/all.hpp"

namespace mcsim {
namespace {

// Report out-of-memory as a status.
class GuardedOptimizer final : public Optimizer {
 public:
  explicit GuardedOptimizer(std::unique_ptr<Optimizer> optimizer)
      : optimizer_(std::move(optimizer)) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override {
    return guarded("optimizer", [&] { return optimizer_->solve(problem); });
  }

 private:
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace

const Registry<Optimizer, OptimizerContext>& optimizer_registry() {
  static const auto registry = Registry<Optimizer, OptimizerContext>("optimizer", AllOptimizers{})
                                   .wrapped<GuardedOptimizer>();
  return registry;
}

}  // namespace mcsim
