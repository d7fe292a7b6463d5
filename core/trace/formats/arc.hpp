#pragma once

#include "core/trace/block_numbers.hpp"

namespace mcsim {

// The traces of the ARC paper (Megiddo and Modha, FAST'03), files `*.lis`. Four
// numbers a line, between blanks:
//
//   first block, number of blocks, (ignored), request number
class ArcReader final : public BlockNumbersReader<ArcReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "arc", "ARC .lis: first block, number of blocks, ignored, request number",
      "Megiddo, Modha: ARC, a Self-Tuning, Low Overhead Replacement Cache (FAST 2003)"};

  using BlockNumbersReader::BlockNumbersReader;

  LineKind parse(std::string_view line, Requests& out) {
    FieldScanner scan(line, ' ');
    const std::uint64_t first = scan.number("a first block", 0, kMaxOffset / unit());
    const std::uint64_t count = scan.number("a number of blocks", 0, kMaxLength / unit());
    scan.number("a number");
    scan.number("a request number");
    if (first > (kMaxOffset - count * unit()) / unit()) scan.complain("the range exceeds 64 bits");
    if (!scan.finish()) return bad(scan);
    return read(first, count, out);
  }
};

}  // namespace mcsim
