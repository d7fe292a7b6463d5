// Trusts: exact curves of public traces. The bounds are a little above the mean
// absolute errors that independent implementations of the same algorithms have
// on these traces, and above what the papers promise where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/locality/estimators/registry.hpp"
#include "tests/support/exact_histogram.hpp"
#include "tests/support/real_traces.hpp"

namespace mcsim {
namespace {

struct Bound {
  const char* estimator;
  ParamMap params;
  double error;
};

struct Known {
  const char* file;
  std::vector<Bound> bounds;
};

ParamMap buckets(std::int64_t n) { return {{"buckets", n}}; }
ParamMap batches(std::int64_t n) { return {{"batch", n}}; }

std::vector<Known> known() {
  const ParamMap stacker{{"ageing", std::string("stacker")}};
  return {{"arc/OLTP.lis.zst",
           {{"mimir", buckets(8), 0.0105},
            {"mimir", buckets(32), 0.0035},
            {"mimir", {}, 0.0034},
            {"mimir", stacker, 0.003},
            {"aet", {}, 0.003},
            {"statstack", {}, 0.003},
            {"counter-stacks", batches(1000), 0.01}}},
          {"arc/P3.lis.zst",
           {{"mimir", buckets(8), 0.007},
            {"mimir", buckets(32), 0.0048},
            {"mimir", {}, 0.0044},
            {"mimir", stacker, 0.0044},
            {"aet", {}, 0.0095},
            {"statstack", {}, 0.0095},
            {"aet", {{"rate", 0.01}}, 0.015},
            {"counter-stacks", batches(10'000), 0.01}}},
          {"lirs/sprite.txt.zst",
           {{"mimir", {}, 0.006},
            {"mimir", stacker, 0.003},
            {"aet", {}, 0.0045},
            {"statstack", {}, 0.0045},
            {"counter-stacks", batches(100), 0.01}}}};
}

// Mean over a hundred capacities up to all blocks.
double mean_error(const HitCurve& exact, const CurveEstimate& curve) {
  double sum = 0;
  for (Count i = 1; i <= 100; ++i) {
    const Count capacity = exact.histogram().cold * i / 100;
    sum += std::abs(exact.ratio(capacity) -
                    curve.hits_at(static_cast<double>(capacity)) / curve.accesses);
  }
  return sum / 100;
}

class Accuracy : public testing::TestWithParam<Known> {};

TEST_P(Accuracy, IsAsGoodAsPublished) {
  const std::string file = GetParam().file;
  const RealTrace trace = real_trace(file);
  if (!trace.missing.empty()) GTEST_SKIP() << trace.missing;
  const auto keys = file.starts_with("arc/") ? lis_keys(trace.text) : line_keys(trace.text);
  const HitCurve exact(exact_histogram(keys));
  for (const Bound& bound : GetParam().bounds) {
    const auto estimator = estimator_registry().make(bound.estimator, bound.params, {}).value();
    ASSERT_TRUE(estimator->process({.keys = keys}).ok());
    EXPECT_LT(mean_error(exact, estimator->curve().value()), bound.error) << bound.estimator;
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, Accuracy, testing::ValuesIn(known()), [](const auto& known) {
  std::string name = known.param.file;
  name = name.substr(name.find('/') + 1);
  return "t_" + name.substr(0, name.find('.'));
});

}  // namespace
}  // namespace mcsim
