#pragma once

#include <optional>
#include <string_view>

#include "core/trace/formats/key_units.hpp"
#include "core/trace/reading/text.hpp"

namespace mcsim {

// One key a line, as in the traces of the LIRS papers. Keys are objects or block numbers. Lines
// that begin with '*' mark phases of a program and are not requests.
//
// Keys of objects are 64-bit numbers if all keys of the first chunk are: signed or unsigned, as
// programs print them. Otherwise they are text.
class KeysReader final : public TextReader<KeysReader> {
 public:
  struct Params : KeyParams {
    bool text_keys = false;
    static constexpr auto fields() {
      return std::tuple_cat(
          KeyParams::fields(),
          std::tuple{Field{"text_keys", &Params::text_keys,
                           "keys are text, even if they are numbers or contain delimiters"}});
    }
  };
  static constexpr ComponentInfo kInfo{
      "keys", "one key a line, text or a number (LIRS); lines that begin with * are filtered",
      "Jiang, Zhang: LIRS (SIGMETRICS 2002)"};

  KeysReader(Params params, ReaderContext context)
      : TextReader(std::move(context)),
        units_(params),
        is_any_text_(params.text_keys),
        has_text_keys_(params.text_keys && params.unit_bytes == 0) {
    use_single_vm();
  }

  static Guess guess(const Head& head);

  TimeBase time_base() const override { return TimeBase::kIndex; }
  TraceKind kind() const override { return units_.kind(); }
  bool has_lengths() const override { return false; }
  bool has_text_keys() const override { return has_text_keys_; }

  LineKind parse(std::string_view line, Requests& out) {
    if (line.front() == '*') return LineKind::kFiltered;
    if (kind() == TraceKind::kBlocks) return parse_block(line, out);
    if (has_text_keys_) return parse_text(line, out);
    const std::optional<std::uint64_t> key = number_of(line);
    if (!key) [[unlikely]]
      return parse_first_text(line, out);
    return push(*key, 0, out);
  }

 private:
  LineKind push(std::uint64_t offset, std::uint32_t length, Requests& out) {
    out.push(references_++, 0, Op::kRead, offset, length);
    return LineKind::kRequest;
  }

  LineKind parse_block(std::string_view line, Requests& out);
  LineKind parse_text(std::string_view line, Requests& out);
  // Returns the key in the line; otherwise sets the complaint.
  std::optional<std::string_view> text_of(std::string_view line);
  // Makes all keys text, unless some were returned as numbers.
  LineKind parse_first_text(std::string_view line, Requests& out);
  // Returns the number in a line if no other text of the file has the same number.
  std::optional<std::uint64_t> number_of(std::string_view line);

  KeyUnits units_;
  bool is_any_text_;
  bool has_text_keys_;
  bool has_negative_ = false;
  bool has_large_ = false;  // above the largest signed number
  Count references_ = 0;
  FieldScanner complaint_;
};

}  // namespace mcsim
