#pragma once

#include "core/trace/block_numbers.hpp"

namespace mcsim {

// One block number a line, as in the traces of the LIRS papers; lines that
// begin with '*' are marks between the phases of a program and mean nothing
// here.
class KeysReader final : public BlockNumbersReader<KeysReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "keys", "one block number a line (LIRS); lines that begin with * are skipped",
      "Jiang, Zhang: LIRS (SIGMETRICS 2002)"};

  using BlockNumbersReader::BlockNumbersReader;

  bool has_lengths() const override { return false; }

  LineKind parse(std::string_view line, Requests& out) {
    if (line.front() == '*') return LineKind::kNothing;
    FieldScanner scan(line, ' ');
    const std::uint64_t key = scan.number("a block number", 0, kMaxOffset / unit() - 1);
    if (!scan.finish()) return bad(scan);
    return read(key, 1, out);
  }
};

}  // namespace mcsim
