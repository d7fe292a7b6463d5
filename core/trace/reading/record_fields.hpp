#pragma once

#include <boost/endian/conversion.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"

namespace mcsim {

using ByteOrder = boost::endian::order;

// Loads a number stored in this byte order.
template <class T, ByteOrder order = ByteOrder::little>
T number_at(const char* at) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, at, sizeof(T));
  return boost::endian::endian_load<T, sizeof(T), order>(bytes);
}

// A number in a record: its position, and its type as in Python's struct module.
struct RecordField {
  std::size_t at = 0;
  char type = 0;  // 0: no such field
  bool is_big = false;

  bool is_given() const { return type != 0; }
  bool is_fraction() const { return type == 'f' || type == 'd'; }
  bool is_signed() const { return type >= 'a' && !is_fraction(); }

  // An integer; negative ones are in two's complement.
  std::uint64_t value(const char* record) const {
    return is_big ? value_in<ByteOrder::big>(record + at)
                  : value_in<ByteOrder::little>(record + at);
  }
  double fraction(const char* record) const;

 private:
  template <ByteOrder order>
  std::uint64_t value_in(const char* from) const {
    switch (type) {
      case 'I':
      case 'L':
        return number_at<std::uint32_t, order>(from);
      case 'Q':
      case 'q':
        return number_at<std::uint64_t, order>(from);
      case 'H':
        return number_at<std::uint16_t, order>(from);
      case 'B':
        return number_at<std::uint8_t, order>(from);
      case 'h':
        return static_cast<std::uint64_t>(number_at<std::int16_t, order>(from));
      case 'b':
      case 'c':
        return static_cast<std::uint64_t>(number_at<std::int8_t, order>(from));
      default:
        return static_cast<std::uint64_t>(number_at<std::int32_t, order>(from));
    }
  }
};

struct RecordStruct {
  std::vector<RecordField> fields;
  std::size_t bytes = 0;
};

// Parses the fields of a record from a format of Python's struct module, such as "<IQ2H4xq": the
// byte order, then types, each behind a count if there are several. Only x makes gaps between
// fields.
absl::StatusOr<RecordStruct> parse_record_struct(std::string_view format);

}  // namespace mcsim
