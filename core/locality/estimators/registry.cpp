#include "core/locality/estimators/registry.hpp"

#include "core/base/guarded.hpp"
#include "core/locality/estimators/all.hpp"

namespace mcsim {
namespace {

// Turns lack of memory into a status. As memory may run out in the middle of an update, the
// estimator cannot be used afterwards.
class GuardedEstimator final : public Estimator {
 public:
  explicit GuardedEstimator(std::unique_ptr<Estimator> estimator)
      : estimator_(std::move(estimator)) {}

  absl::Status process(const References& next) override {
    MCSIM_RETURN_IF_ERROR(exhausted_);
    return settled(guarded("estimator", [&] { return estimator_->process(next); }));
  }
  absl::StatusOr<CurveEstimate> curve() override {
    MCSIM_RETURN_IF_ERROR(exhausted_);
    auto curve = guarded("estimator", [&] { return estimator_->curve(); });
    MCSIM_RETURN_IF_ERROR(settled(curve.status()));
    return curve;
  }
  double distinct() const override { return exhausted_.ok() ? estimator_->distinct() : 0; }
  bool removes_discards() const override { return estimator_->removes_discards(); }
  std::size_t bytes() const override { return sizeof *this + estimator_->bytes(); }

 private:
  absl::Status settled(absl::Status status) {
    if (absl::IsResourceExhausted(status)) exhausted_ = status;
    return status;
  }

  std::unique_ptr<Estimator> estimator_;
  absl::Status exhausted_;
};

}  // namespace

const Registry<Estimator, EstimatorContext>& estimator_registry() {
  static const auto registry = Registry<Estimator, EstimatorContext>("estimator", AllEstimators{})
                                   .wrapped<GuardedEstimator>();
  return registry;
}

}  // namespace mcsim
