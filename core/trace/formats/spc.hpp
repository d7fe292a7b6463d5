#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Traces in the format of the Storage Performance Council, such as the OLTP and search-engine
// traces of the UMass Trace Repository. Five columns, no header; further columns are optional and
// ignored:
//
//   application storage unit, block (of 512 B), size (bytes), R|W in either case, time (s)
//
// The VM is the application storage unit.
class SpcReader final : public LayoutReader<SpcReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "spc", "SPC-1 (UMass): ASU, LBA, size, R or W, time in s",
      "Storage Performance Council: SPC Trace File Format Specification, revision 1.0.1"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.columns = 5,
            .allows_more = true,
            .mapping = {.time = "5",
                        .time_unit = TimeUnit::kSeconds,
                        .vm = "1",
                        .op = "4",
                        .read = "R",
                        .write = "W",
                        .discard = "",
                        .flush = "",
                        .offset = "2",
                        .offset_unit = LengthUnit::kSectors,
                        .length = "3"}};
  }
};

}  // namespace mcsim
