#pragma once

#include "core/trace/integer_layout.hpp"
#include "core/trace/key_units.hpp"

namespace mcsim {

// Files of integers only, each the key of a read: an object, or a block if `unit_bytes` is set. The
// time of a request is the number of requests before it. Negative integers are keys in two's
// complement.
struct KeyIntegers {
  // Returns the contradiction to a layout of integers, or "".
  static std::string objection(const Head& head, IntegerLayout layout);
  static Guess guess(const char* format, const Head& head, IntegerLayout layout);
};

template <class Format, class Integer, ByteOrder order>
class KeyIntegersReader : public RecordReader<Format> {
 public:
  using Params = KeyParams;
  static constexpr IntegerLayout kLayout{sizeof(Integer), order};

  KeyIntegersReader(const Params& params, ReaderContext context)
      : RecordReader<Format>(std::move(context)), units_(params) {}

  static Guess guess(const Head& head) {
    return KeyIntegers::guess(Format::kInfo.name, head, kLayout);
  }

  TimeBase time_base() const override { return TimeBase::kIndex; }
  TraceKind kind() const override { return units_.kind(); }
  bool has_lengths() const override { return false; }

  absl::StatusOr<RecordLayout> begin(std::string_view head) const {
    const std::string wrong =
        KeyIntegers::objection({.bytes = std::string(head), .whole = this->is_whole()}, kLayout);
    if (!wrong.empty()) return this->refuse(fmt::format("record 1: {}", wrong));
    return RecordLayout{.record_bytes = sizeof(Integer)};
  }

  LineKind parse(const char* record, RecordRequest& request) {
    const std::uint64_t key = number_at<Integer, order>(record);
    if (!units_.fits(key, units_.unit())) [[unlikely]] {
      return this->bad(fmt::format("block number {} exceeds 64 bits", key));
    }
    request.time = references_++;
    request.offset = units_.offset_of(key);
    request.length = static_cast<std::uint32_t>(units_.unit());
    return LineKind::kRequest;
  }

 private:
  KeyUnits units_;
  Count references_ = 0;
};

class KeysU64LeReader final
    : public KeyIntegersReader<KeysU64LeReader, std::uint64_t, ByteOrder::little> {
 public:
  static constexpr ComponentInfo kInfo{"keys-u64-le", "64-bit little-endian integers, each a key",
                                       "integers without any structure"};
  using KeyIntegersReader::KeyIntegersReader;
};

class KeysU64BeReader final
    : public KeyIntegersReader<KeysU64BeReader, std::uint64_t, ByteOrder::big> {
 public:
  static constexpr ComponentInfo kInfo{"keys-u64-be", "64-bit big-endian integers, each a key",
                                       "integers without any structure"};
  using KeyIntegersReader::KeyIntegersReader;
};

class KeysU32LeReader final
    : public KeyIntegersReader<KeysU32LeReader, std::uint32_t, ByteOrder::little> {
 public:
  static constexpr ComponentInfo kInfo{"keys-u32-le", "32-bit little-endian integers, each a key",
                                       "integers without any structure"};
  using KeyIntegersReader::KeyIntegersReader;
};

class KeysU32BeReader final
    : public KeyIntegersReader<KeysU32BeReader, std::uint32_t, ByteOrder::big> {
 public:
  static constexpr ComponentInfo kInfo{"keys-u32-be", "32-bit big-endian integers, each a key",
                                       "integers without any structure"};
  using KeyIntegersReader::KeyIntegersReader;
};

}  // namespace mcsim
