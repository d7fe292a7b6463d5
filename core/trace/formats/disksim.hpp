#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// ASCII traces of DiskSim 4.0. Five columns separated by blanks:
//
//   time (ms), device, block (of 512 B), size (blocks), flags: bit 0 is set for reads
//
// The VM is the device. Integer times more likely come from MQSim.
class DisksimReader final : public LayoutReader<DisksimReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "disksim", "DiskSim ASCII: time in ms, device, block, size in blocks, flags",
      "Bucy et al.: The DiskSim Simulation Environment Version 4.0 Reference Manual (2008)"};

  using LayoutReader::LayoutReader;

  static Guess guess(const Head& head) {
    const std::string_view line = std::string_view(head.bytes).substr(0, head.bytes.find('\n'));
    const bool has_point = line.find('.') != std::string_view::npos;
    return guess_by_lines<DisksimReader>(has_point ? Fit::kCertain : Fit::kPossible, head);
  }

  static TextLayout layout() {
    return {.delimiter = ' ',
            .columns = 5,
            .mapping = {.time = "1",
                        .time_unit = TimeUnit::kMilliseconds,
                        .vm = "2",
                        .op = "5",
                        .read = "1,3,5,7",
                        .write = "0,2,4,6",
                        .discard = "",
                        .flush = "",
                        .offset = "3",
                        .offset_unit = LengthUnit::kSectors,
                        .length = "4",
                        .length_unit = LengthUnit::kSectors}};
  }
};

}  // namespace mcsim
