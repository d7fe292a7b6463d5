#pragma once

#include <charconv>

#include "core/trace/reading/text.hpp"

namespace mcsim {

// Memory accesses of a program, as printed by valgrind --tool=lackey --trace-mem=yes:
//
//   " L 04222c5c,4"    a load, a store (S), or a modification (M): hexadecimal address, bytes
//   "I  04222c44,3"    an instruction fetch
//
// Addresses are byte offsets, and M is a read and a write. Fetches are filtered unless the
// parameter makes them reads. Lines of valgrind itself (==1234==) and of superblocks (SB) are
// filtered.
class LackeyReader final : public TextReader<LackeyReader> {
 public:
  struct Params {
    bool instructions = false;
    static constexpr auto fields() {
      return std::tuple{Field{"instructions", &Params::instructions,
                              "fetches of instructions are reads, in place of filtered rows"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      "lackey", "valgrind lackey: I, L, S or M, hexadecimal address and bytes; M reads and writes",
      "valgrind(1), --tool=lackey --trace-mem=yes"};

  LackeyReader(Params params, ReaderContext context)
      : TextReader(std::move(context)), has_instructions_(params.instructions) {
    use_single_vm();
  }

  // Counts fetches, because a program may fetch many instructions before its first access.
  static Guess guess(const Head& head) {
    return guess_by_lines<LackeyReader>(Fit::kCertain, head, {.instructions = true});
  }

  TimeBase time_base() const override { return TimeBase::kIndex; }

  LineKind parse(std::string_view line, Requests& out) {
    if (line.starts_with("==") || line.starts_with("--")) return LineKind::kFiltered;
    FieldScanner scan(line, ' ');
    const std::string_view kind = scan.text("an access");
    const bool is_fetch = kind == "I";
    const bool reads = kind == "L" || kind == "M" || is_fetch;
    const bool writes = kind == "S" || kind == "M";
    const bool is_superblock = kind == "SB";
    if (!reads && !writes && !is_superblock) scan.complain_of("an access (L, S, M or I)", kind);
    const std::string_view range = scan.text("an address and a size");
    std::uint64_t address = 0;
    std::uint32_t size = 0;
    if (!is_superblock && !read_range(range, address, size)) {
      scan.complain_of("a hexadecimal address and a size in bytes (such as 1ffefff2f8,8)", range);
    }
    if (!scan.finish()) return bad(scan);
    if (is_superblock || (is_fetch && !has_instructions_)) return LineKind::kFiltered;
    if (reads) out.push(accesses_++, 0, Op::kRead, address, size);
    if (writes) out.push(accesses_++, 0, Op::kWrite, address, size);
    return LineKind::kRequest;
  }

 private:
  static bool read_range(std::string_view text, std::uint64_t& address, std::uint32_t& size) {
    const char* const end = text.data() + text.size();
    const auto [comma, bad_address] = std::from_chars(text.data(), end, address, 16);
    if (bad_address != std::errc() || comma == end || *comma != ',') return false;
    const auto [after, bad_size] = std::from_chars(comma + 1, end, size);
    return bad_size == std::errc() && after == end && size > 0 && address <= kMaxOffset - size;
  }

  bool has_instructions_;
  Count accesses_ = 0;
};

}  // namespace mcsim
