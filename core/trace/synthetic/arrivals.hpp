#pragma once

#include <cstddef>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/types.hpp"
#include "core/trace/synthetic/synthetic.hpp"

namespace mcsim {

struct RequestArrival {
  Nanoseconds time = 0;
  bool in_burst = false;
};

// Draws the arrival times of the requests of one phase. The phase is cut into segments of constant
// rate: bursts, and between them pieces of at most ten minutes that follow the time of day. Request
// i of n arrives when the expected number of requests reaches i + u, u uniform in [0, 1): times are
// in order, exactly n, and within one request of the declared number in every interval.
class Arrivals {
 public:
  Arrivals(const SyntheticPhase& phase, Random random);

  // To be called phase.requests times.
  RequestArrival next();

 private:
  struct Segment {
    Nanoseconds begin;
    Nanoseconds end;
    double before;    // requests expected before it
    double requests;  // requests expected in it
    bool in_burst;
  };

  void add_quiet(const SyntheticPhase& phase, Nanoseconds begin, Nanoseconds end);
  void add_burst(Nanoseconds begin, Nanoseconds end);
  void scale(const SyntheticPhase& phase);

  Random random_;
  std::vector<Segment> segments_;
  std::size_t segment_ = 0;
  Count arrived_ = 0;
};

}  // namespace mcsim
