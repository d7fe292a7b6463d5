#include "tests/support/policy_cases.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace mcsim::testing {

std::vector<ParamMap> variants(std::string_view policy) {
  std::vector<ParamMap> all{{}};
  if (policy == "slru") all = {{}, {{"protected_share", 0.5}}, {{"protected_share", 1.0}}};
  if (policy == "2q") {
    const std::string golang = "golang-lru";
    all = {{},
           {{"kin", 0.6}, {"kout", 0.1}},
           {{"variant", golang}},
           {{"variant", golang}, {"kin", 0.5}, {"kout", 0.2}}};
  }
  if (policy == "two-pool-lru") all = {{}, {{"first", 0.4}}};
  if (policy == "tinylfu") {
    all = {{}, {{"start", 0.5}, {"counters", 4.0}}, {{"start", 1.0}, {"sample", 2.0}}};
  }
  if (policy == "clock-pair") {
    all = {{},
           {{"hot", 0.5}, {"ghosts", 2.0}, {"most", std::int64_t{1}}},
           {{"hot", 1.0}, {"ghosts", 0.0}, {"most", std::int64_t{0}}},
           {{"variant", std::string("cache2k")}, {"most", std::int64_t{0}}},
           {{"variant", std::string("cache2k")}, {"hot", 0.5}, {"ghosts", 0.2}}};
  }
  if (policy == "s3-fifo") {
    all = {
        {},
        {{"small", 0.5}, {"promote_at", std::int64_t{1}}},
        {{"small", 1.0}},
        {{"small", 0.3}, {"variant", std::string("libcachesim")}, {"promote_at", std::int64_t{3}}},
        {{"variant", std::string("foyer")}, {"promote_at", std::int64_t{1}}},
        {{"variant", std::string("foyer")}, {"small", 0.4}}};
  }
  if (policy == "clock2q-plus") {
    all = {{},
           {{"small", 0.5}, {"window", 0.0}, {"promote_at", std::int64_t{2}}},
           {{"small", 0.3}, {"window", 1.0}}};
  }
  if (policy == "s4-fifo") {
    all = {{},
           {{"small", 0.5}, {"skip", 0.5}, {"promote_at", std::int64_t{1}}, {"ghosts", 2.0}},
           {{"small", 0.3}, {"skip", 1.0}, {"ghost_threshold", std::int64_t{1}}}};
  }
  if (policy == "qd-lp-fifo") {
    all = {
        {}, {{"small", 0.5}, {"ghosts", 0.0}}, {{"ghosts", 2.0}, {"promote_at", std::int64_t{3}}}};
  }
  // Clocks that take a step at each access, at every few, or a few steps at each.
  if (policy == "sampled-lru") {
    all = {{{"resolution", std::int64_t{1}}},
           {{"rate", std::int64_t{7}}, {"samples", std::int64_t{1}}, {"pool", std::int64_t{3}}},
           {{"rate", std::int64_t{3}}, {"samples", std::int64_t{8}}, {"pool", std::int64_t{1}}}};
  }
  if (policy == "sampled-lfu") {
    all = {
        {{"rate", std::int64_t{1}}},
        {{"log_factor", std::int64_t{0}}, {"decay", std::int64_t{0}}},
        {{"rate", std::int64_t{3}}, {"log_factor", std::int64_t{1}}, {"decay", std::int64_t{2}}}};
  }
  if (policy == "lru2q") {
    all = {{{"rate", std::int64_t{1}}},
           {{"refresh", std::int64_t{0}}},
           {{"rate", std::int64_t{7}}, {"refresh", std::int64_t{2}}, {"hot", 0.1}, {"warm", 0.5}}};
  }
  if (policy == "midpoint") {
    const std::pair<std::string, ParamValue> slow{"rate", std::int64_t{30}};
    all = {
        {},
        {{"least", std::int64_t{1}}, {"tolerance", std::int64_t{0}}, slow},
        {{"least", std::int64_t{9}}, {"tolerance", std::int64_t{2}}, {"window", std::int64_t{0}}},
        {{"least", std::int64_t{4}}, {"old_percent", std::int64_t{95}}, slow}};
  }
  if (policy == "gclock") {
    all = {
        {}, {{"first", std::int64_t{0}}, {"most", std::int64_t{1}}}, {{"most", std::int64_t{2}}}};
  }
  if (policy == "opt") all = {{}, {{"refuse", true}}};
  if (policy == "arc") {
    const std::string golang = "golang-lru";
    all = {{},
           {{"step", std::string("integer")}},
           {{"ghosts", golang}},
           {{"step", std::string("integer")}, {"ghosts", golang}}};
  }
  if (policy == "lirs") all = {{}, {{"stack", 1.5}}, {{"stack", 1.0}, {"hirs", 0.3}}};
  if (policy == "lirs2") all = {{}, {{"stack", 2.5}}, {{"stack", 2.0}, {"hirs", 0.3}}};
  if (policy == "lru-k") {
    all = {{},
           {{"correlated", std::int64_t{20}}},
           {{"k", std::int64_t{3}}, {"correlated", std::int64_t{5}}, {"history", 0.3}}};
  }
  if (policy == "mq") {
    all = {{}, {{"queues", std::int64_t{3}}, {"lifetime", 0.7}, {"ghosts", 0.5}}};
  }
  if (policy == "lecar") {
    all = {{},
           {{"learning_rate", 3.0},
            {"discount", 0.5},
            {"history", 1.0},
            {"ties", std::string("number")}}};
  }
  if (policy == "cacheus") all = {{}, {{"variant", std::string("authors")}}};
  if (policy == "hyperbolic") all = {{}, {{"sample", std::int64_t{3}}, {"leeway", 0.1}}};
  // Ages are short, so that blocks reach the last one, and expectations are updated often.
  if (policy == "lhd") {
    all = {{{"ages", std::int64_t{32}}, {"period", std::int64_t{40}}},
           {{"ages", std::int64_t{200}},
            {"period", std::int64_t{25}},
            {"samples", std::int64_t{3}},
            {"admissions", std::int64_t{0}}},
           {{"ages", std::int64_t{5'000}}, {"period", std::int64_t{300}}},
           {{"ages", std::int64_t{16}}}};
  }
  if (policy == "s4lru") all = {{}, {{"segments", std::int64_t{3}}, {"fill", true}}};
  if (policy == "w-tinylfu") {
    all = {{},
           {{"window", 0.2}, {"doorkeeper", true}, {"jitter", true}},
           {{"conservative", true}, {"sample", 2.0}, {"climb", true}, {"counters", 4.0}},
           {{"sample", 2.0}, {"climb", true}, {"step", -0.2}, {"start", 0.5}},
           {{"sample", 1.0}, {"sketch_blocks", std::int64_t{300}}, {"admit_ties", true}}};
  }
  if (policy == "clock-pro") {
    all = {{}, {{"min_cold", 0.05}, {"max_cold", 0.05}}, {{"min_cold", 0.4}, {"max_cold", 0.6}}};
  }
  return all;
}

bool goes_by_name(std::string_view policy, const ParamMap& params) {
  return policy == "w-tinylfu" || policy == "tinylfu" ||
         (policy == "lecar" && params.contains("ties"));
}

const std::vector<PolicyTrace>& traces() {
  static const std::vector<PolicyTrace> made = policy_traces(3000);
  return made;
}

std::vector<Count> capacities(const PolicyTrace& trace) {
  const auto unique = static_cast<Count>(trace.unique);
  std::vector<Count> sizes{1, 2, 3, 10, unique / 10, unique / 2, unique - 1, unique, unique + 5};
  std::erase_if(sizes, [](Count size) { return size < 1; });
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace mcsim::testing
