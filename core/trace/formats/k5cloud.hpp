#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Block traces of the Fujitsu K5 cloud service, SNIA IOTTA trace set 26930. Five columns, no
// header:
//
//   volume, time (s), R|W, offset (bytes), length (bytes)
//
// The VM is the volume.
class K5cloudReader final : public LayoutReader<K5cloudReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "k5cloud", "Fujitsu K5: volume, time in s, R or W, offset, length", "SNIA IOTTA 26930"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.columns = 5,
            .mapping = {.time = "2",
                        .time_unit = TimeUnit::kSeconds,
                        .vm = "1",
                        .op = "3",
                        .read = "R",
                        .write = "W",
                        .discard = "",
                        .flush = "",
                        .offset = "4",
                        .length = "5"}};
  }
};

}  // namespace mcsim
