#pragma once

#include <cstdint>
#include <tuple>

#include "core/base/params.hpp"
#include "core/trace/reading/reader.hpp"

namespace mcsim {

// The meaning of the numbers in a trace: keys of objects, or blocks of `unit_bytes`.
struct KeyParams {
  Count unit_bytes = 0;
  static constexpr auto fields() {
    return std::tuple{Field{"unit_bytes", &KeyParams::unit_bytes,
                            "bytes of a block, if keys are block numbers; 0: they are objects", 0,
                            1 << 30}};
  }
};

class KeyUnits {
 public:
  explicit KeyUnits(const KeyParams& params)
      : unit_(static_cast<std::uint64_t>(params.unit_bytes)) {}

  TraceKind kind() const { return unit_ == 0 ? TraceKind::kObjects : TraceKind::kBlocks; }
  std::uint64_t unit() const { return unit_; }

  // Whether the block with this key ends below 2^64.
  bool fits(std::uint64_t key, std::uint64_t length) const {
    return unit_ == 0 || key <= (kMaxOffset - length) / unit_;
  }
  std::uint64_t offset_of(std::uint64_t key) const { return unit_ == 0 ? key : key * unit_; }

 private:
  std::uint64_t unit_;
};

}  // namespace mcsim
