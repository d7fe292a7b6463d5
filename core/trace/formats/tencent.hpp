#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Block traces of Tencent Cloud, SNIA IOTTA trace set 27917. Five columns, no header:
//
//   time (s), offset (sectors), size (sectors), 0 (read) or 1 (write), volume
//
// The VM is the volume.
class TencentReader final : public LayoutReader<TencentReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "tencent", "Tencent block traces: time in s, offset, size in sectors, 0 or 1, volume",
      "Zhang et al.: OSCA (USENIX ATC 2020); SNIA IOTTA 27917"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.columns = 5,
            .mapping = {.time = "1",
                        .time_unit = TimeUnit::kSeconds,
                        .vm = "5",
                        .op = "4",
                        .read = "0",
                        .write = "1",
                        .discard = "",
                        .flush = "",
                        .offset = "2",
                        .offset_unit = LengthUnit::kSectors,
                        .length = "3",
                        .length_unit = LengthUnit::kSectors}};
  }
};

}  // namespace mcsim
