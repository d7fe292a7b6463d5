#pragma once

#include <utility>

#include "core/trace/text.hpp"

namespace mcsim {

// Lines that say which blocks were read and no more: there are neither clock nor operation nor
// VM, so every request is a read, and its time is the number of blocks referenced before it.
// `Reader` is a format as TextReader has them, which calls read() in its parse().
template <class Reader>
class BlockNumbersReader : public TextReader<Reader> {
 public:
  struct Params {
    Count unit_bytes = 4096;
    static constexpr auto fields() {
      return std::tuple{
          Field{"unit_bytes", &Params::unit_bytes, "bytes a block number stands for", 1, 1 << 30}};
    }
  };

  BlockNumbersReader(Params params, ReaderContext context)
      : TextReader<Reader>(std::move(context)),
        unit_(static_cast<std::uint64_t>(params.unit_bytes)) {
    this->name_the_only_vm();
  }

  static Guess guess(const Head& head) { return guess_by_lines<Reader>(Fit::kPossible, head); }

  TimeBase time_base() const override { return TimeBase::kIndex; }

 protected:
  std::uint64_t unit() const { return unit_; }
  // `count` blocks from `first` on, which fit in 64 bits.
  LineKind read(std::uint64_t first, std::uint64_t count, Requests& out) {
    out.push(references_, 0, Op::kRead, first * unit_, static_cast<std::uint32_t>(count * unit_));
    references_ += static_cast<Count>(count);
    return LineKind::kRequest;
  }

 private:
  std::uint64_t unit_;
  Count references_ = 0;
};

}  // namespace mcsim
