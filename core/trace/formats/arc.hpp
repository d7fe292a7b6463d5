#pragma once

#include "core/trace/reading/text.hpp"

namespace mcsim {

// The traces of the ARC paper (Megiddo and Modha, FAST'03), files `*.lis`. Four numbers a line,
// separated by blanks:
//
//   first block, number of blocks, (ignored), request number
//
// Every request is a read. Its time is the number of blocks referenced before it.
class ArcReader final : public TextReader<ArcReader> {
 public:
  struct Params {
    Count unit_bytes = 4096;
    static constexpr auto fields() {
      return std::tuple{
          Field{"unit_bytes", &Params::unit_bytes, "bytes a block number stands for", 1, 1 << 30}};
    }
  };
  static constexpr ComponentInfo kInfo{
      "arc", "ARC .lis: first block, number of blocks, ignored, request number",
      "Megiddo, Modha: ARC, a Self-Tuning, Low Overhead Replacement Cache (FAST 2003)"};

  ArcReader(Params params, ReaderContext context)
      : TextReader(std::move(context)), unit_(static_cast<std::uint64_t>(params.unit_bytes)) {
    use_single_vm();
  }

  static Guess guess(const Head& head) { return guess_by_lines<ArcReader>(Fit::kPossible, head); }

  TimeBase time_base() const override { return TimeBase::kIndex; }

  LineKind parse(std::string_view line, Requests& out) {
    FieldScanner scan(line, ' ');
    const std::uint64_t first = scan.number("a first block", 0, kMaxOffset / unit_);
    const std::uint64_t count = scan.number("a number of blocks", 0, kMaxLength / unit_);
    scan.number("a number");
    scan.number("a request number");
    if (first > (kMaxOffset - count * unit_) / unit_) scan.complain("the range exceeds 64 bits");
    if (!scan.finish()) return bad(scan);
    out.push(references_, 0, Op::kRead, first * unit_, static_cast<std::uint32_t>(count * unit_));
    references_ += static_cast<Count>(count);
    return LineKind::kRequest;
  }

 private:
  std::uint64_t unit_;
  Count references_ = 0;
};

}  // namespace mcsim
