#include "tests/support/naive_twins.hpp"

#include "tests/support/naive_policies.hpp"
#include "tests/support/naive_policies_adaptive.hpp"
#include "tests/support/naive_policies_clocks.hpp"
#include "tests/support/naive_policies_density.hpp"
#include "tests/support/naive_policies_frequency.hpp"
#include "tests/support/naive_policies_irr.hpp"
#include "tests/support/naive_policies_libraries.hpp"
#include "tests/support/naive_policies_servers.hpp"

namespace mcsim::naive {

std::unique_ptr<Policy> twin(std::string_view name, const ParamMap& params, Count capacity,
                             std::size_t blocks) {
  const auto given = [&](const char* key, auto otherwise) { return param(params, key, otherwise); };
  if (name == "lru") return std::make_unique<Lru>(capacity);
  if (name == "fifo") return std::make_unique<Fifo>(capacity);
  if (name == "clock") return std::make_unique<Clock>(capacity);
  if (name == "sieve") return std::make_unique<Sieve>(capacity);
  if (name == "random") return std::make_unique<RandomEviction>(capacity);
  if (name == "mru") return std::make_unique<Mru>(capacity);
  if (name == "lfu") return std::make_unique<Lfu>(capacity, true);
  if (name == "perfect-lfu") return std::make_unique<Lfu>(capacity, false);
  if (name == "slru") return std::make_unique<Slru>(capacity, given("protected_share", 0.8));
  if (name == "2q") {
    const double kin = given("kin", 0.25), kout = given("kout", 0.5);
    if (given("variant", std::string("paper")) == "golang-lru") {
      return std::make_unique<GolangTwoQ>(capacity, kin, kout);
    }
    return std::make_unique<TwoQ>(capacity, kin, kout);
  }
  if (name == "s3-fifo") {
    if (given("variant", std::string("paper")) == "foyer") {
      return std::make_unique<FoyerS3Fifo>(capacity, given("small", 0.1),
                                           given("promote_at", std::int64_t{2}));
    }
    return std::make_unique<S3Fifo>(capacity, given("small", 0.1),
                                    given("promote_at", std::int64_t{2}),
                                    given("variant", std::string("paper")) == "paper");
  }
  if (name == "clock2q-plus") {
    return std::make_unique<Clock2QPlus>(capacity, given("small", 0.1), given("window", 0.5),
                                         given("promote_at", std::int64_t{1}));
  }
  if (name == "s4-fifo") return std::make_unique<S4Fifo>(capacity, params);
  if (name == "qd-lp-fifo") {
    return std::make_unique<QdLpFifo>(capacity, given("small", 0.1), given("ghosts", 0.9),
                                      given("promote_at", std::int64_t{1}));
  }
  if (name == "sampled-lru") return std::make_unique<SampledLru>(capacity, params);
  if (name == "sampled-lfu") return std::make_unique<SampledLfu>(capacity, params);
  if (name == "lru2q") return std::make_unique<Lru2Q>(capacity, params);
  if (name == "midpoint") return std::make_unique<Midpoint>(capacity, params);
  if (name == "gclock") {
    return std::make_unique<GClock>(capacity, given("first", std::int64_t{1}),
                                    given("most", std::int64_t{5}));
  }
  if (name == "arc") {
    const bool integer = given("step", std::string("real")) == "integer";
    if (given("ghosts", std::string("paper")) == "golang-lru") {
      return std::make_unique<GolangArc>(capacity, integer);
    }
    return std::make_unique<Arc>(capacity, integer);
  }
  if (name == "opt") return std::make_unique<Opt>(capacity, given("refuse", false));
  if (name == "larc") return std::make_unique<Larc>(capacity);
  if (name == "generations") return std::make_unique<Generations>(capacity);
  if (name == "two-pool-lru") return std::make_unique<TwoPoolLru>(capacity, given("first", 0.9));
  if (name == "tinylfu") return std::make_unique<TinyLfu>(capacity, params, blocks);
  if (name == "clock-pair") {
    if (given("variant", std::string("quick-cache")) == "cache2k") {
      return std::make_unique<Cache2k>(capacity, given("hot", 0.97), given("ghosts", 0.5),
                                       given("most", std::int64_t{2}));
    }
    return std::make_unique<ClockPair>(capacity, given("hot", 0.97), given("ghosts", 0.5),
                                       given("most", std::int64_t{2}));
  }
  if (name == "car") return std::make_unique<Car>(capacity);
  if (name == "lecar") {
    return std::make_unique<LeCar>(capacity, given("learning_rate", 0.45), given("discount", 0.005),
                                   given("history", 0.5), given("ties", std::string("recency")));
  }
  if (name == "cacheus") {
    return std::make_unique<Cacheus>(capacity, given("variant", std::string("paper")) == "authors");
  }
  if (name == "lirs") {
    return std::make_unique<Lirs>(capacity, given("hirs", 0.01), given("stack", 5.0));
  }
  if (name == "lirs2") {
    return std::make_unique<Lirs2>(capacity, given("hirs", 0.01), given("stack", 8.0));
  }
  if (name == "clock-pro") {
    return std::make_unique<ClockPro>(capacity, given("min_cold", 0.01), given("max_cold", 0.99));
  }
  if (name == "w-tinylfu") return std::make_unique<WTinyLfu>(capacity, params, blocks);
  if (name == "lfu-da" || name == "gdsf") return std::make_unique<LfuDa>(capacity);
  if (name == "lru-k") {
    return std::make_unique<LruK>(capacity, given("k", std::int64_t{2}),
                                  given("correlated", std::int64_t{0}), given("history", 1.0));
  }
  if (name == "mq") {
    return std::make_unique<Mq>(capacity, given("queues", std::int64_t{8}), given("lifetime", 10.0),
                                given("ghosts", 4.0));
  }
  if (name == "lhd") return std::make_unique<Lhd>(capacity, params);
  if (name == "hyperbolic") {
    return std::make_unique<Hyperbolic>(capacity, given("sample", std::int64_t{64}),
                                        given("leeway", 1.0));
  }
  if (name == "s4lru") {
    return std::make_unique<S4Lru>(capacity, given("segments", std::int64_t{4}),
                                   given("fill", false));
  }
  return nullptr;
}

}  // namespace mcsim::naive
