#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Block traces reconstructed by TraceTracker (Kwon et al., IISWC'17), trace.camelab.org. Five
// columns separated by blanks; the last one is not used:
//
//   time (s), R|W, sector (of 512 B), size (sectors), response time
//
// The VM is the file.
class CamelabReader final : public LayoutReader<CamelabReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "camelab", "CAMELab: time in s, R or W, sector, size in sectors, response time",
      "Kwon et al.: TraceTracker (IISWC 2017); CamelabTraceReader of Caffeine"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.delimiter = ' ',
            .columns = 5,
            .mapping = {.time = "1",
                        .time_unit = TimeUnit::kSeconds,
                        .op = "2",
                        .read = "R",
                        .write = "W",
                        .discard = "",
                        .flush = "",
                        .offset = "3",
                        .offset_unit = LengthUnit::kSectors,
                        .length = "4",
                        .length_unit = LengthUnit::kSectors}};
  }
};

}  // namespace mcsim
