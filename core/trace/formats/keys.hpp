#pragma once

#include "core/trace/text.hpp"

namespace mcsim {

// One block number a line, as in the traces of the LIRS papers; lines that
// begin with '*' are marks between the phases of a program and mean nothing
// here. Every key is a read, and its time is the number of keys before it.
class KeysReader final : public TextReader<KeysReader> {
 public:
  struct Params {
    Count unit_bytes = 4096;
    static constexpr auto fields() {
      return std::tuple{
          Field{"unit_bytes", &Params::unit_bytes, "bytes a key stands for", 1, 1 << 30}};
    }
  };
  static constexpr ComponentInfo kInfo{
      "keys", "one block number a line (LIRS); lines that begin with * are skipped",
      "Jiang, Zhang: LIRS (SIGMETRICS 2002)"};

  KeysReader(Params params, ReaderContext context)
      : TextReader(std::move(context)), unit_(static_cast<std::uint64_t>(params.unit_bytes)) {
    name_the_only_vm();
  }

  static Guess guess(const Head& head) { return guess_by_lines<KeysReader>(Fit::kPossible, head); }

  TimeBase time_base() const override { return TimeBase::kIndex; }

  LineKind parse(std::string_view line, Requests& out) {
    if (line.front() == '*') return LineKind::kNothing;
    FieldScanner scan(line, ' ');
    const std::uint64_t key = scan.number("a block number", 0, kMaxOffset / unit_ - 1);
    if (!scan.finish()) return bad(scan);
    out.push(references_++, 0, Op::kRead, key * unit_, static_cast<std::uint32_t>(unit_));
    return LineKind::kRequest;
  }

 private:
  std::uint64_t unit_;
  Count references_ = 0;
};

}  // namespace mcsim
