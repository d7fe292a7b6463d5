#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/archive.hpp"

namespace mcsim::testing {

// The bytes of a cache or of a part of a host.
std::vector<std::byte> saved(auto& of) {
  ArchiveWriter to;
  const absl::Status status = of.save(to);
  EXPECT_TRUE(status.ok()) << status.message();
  return {to.bytes().begin(), to.bytes().end()};
}

absl::Status load(auto& into, std::span<const std::byte> bytes) {
  ArchiveReader from(bytes);
  const absl::Status status = into.load(from);
  if (status.ok()) {
    EXPECT_EQ(from.remaining(), 0U);
  }
  return status;
}

// Load the state of one into another, which is then saved as the same bytes.
void expect_loads(auto& of, auto& into) {
  const std::vector<std::byte> state = saved(of);
  const absl::Status status = load(into, state);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(saved(into), state);
}

}  // namespace mcsim::testing
