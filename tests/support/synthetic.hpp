#pragma once

#include <gtest/gtest.h>

#include "core/trace/synthetic/synthetic.hpp"

// Generated requests.
namespace mcsim::testing {

inline void push(Requests& to, const Requests& from, std::size_t i, VmId vm) {
  to.push(from.time[i], vm, static_cast<Op>(from.op[i]), from.offset[i], from.length[i],
          from.response[i]);
}

// All requests, a number at a time.
inline Requests generate(const SyntheticProfile& profile, std::size_t limit = 1 << 20) {
  auto trace = SyntheticTrace::make(profile);
  EXPECT_TRUE(trace.ok()) << trace.status();
  const Count most = trace->request_count();
  Requests all;
  Requests chunk;
  do {
    EXPECT_TRUE(trace->next(limit, chunk).ok());
    EXPECT_LE(chunk.size(), limit);
    for (std::size_t i = 0; i < chunk.size(); ++i) push(all, chunk, i, chunk.vm[i]);
  } while (chunk.size() != 0);
  EXPECT_LE(static_cast<Count>(all.size()), most);
  return all;
}

// Those of one VM.
inline Requests of_vm(const Requests& all, VmId vm) {
  Requests own;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.vm[i] == vm) push(own, all, i, 0);
  }
  return own;
}

}  // namespace mcsim::testing
