#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Block traces of Alibaba Cloud, io_traces.csv. Five columns, no header:
//
//   device, R|W, offset (bytes), length (bytes), time (us)
//
// The VM is the device.
class AlibabaReader final : public LayoutReader<AlibabaReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "alibaba", "Alibaba block traces: device, R or W, offset, length, time in us",
      "Li et al.: An In-Depth Analysis of Cloud Block Storage Workloads (IISWC 2020)"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.columns = 5,
            .mapping = {.time = "5",
                        .time_unit = TimeUnit::kMicroseconds,
                        .vm = "1",
                        .op = "2",
                        .read = "R",
                        .write = "W",
                        .discard = "",
                        .flush = "",
                        .offset = "3",
                        .length = "4",
                        .has_whole_times = true}};
  }
};

}  // namespace mcsim
