#pragma once

#include "core/trace/reading/iso_time.hpp"
#include "core/trace/reading/text.hpp"

namespace mcsim {

// Photo traces of Tencent (QQPhoto) in the SNIA IOTTA repository. Eight columns separated by
// blanks:
//
//   time (YYYYMMDDHHMMSS), photo, format, size category, size (bytes), hit, terminal, response (ms)
//
// A photo is stored once for each format and category, so the key consists of these three columns.
// All requests are reads.
class TencentPhotoReader final : public TextReader<TencentPhotoReader> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      "tencent-photo",
      "Tencent photos: time as YYYYMMDDHHMMSS, photo, format, category, size, hit, terminal, "
      "response in ms",
      "Zhou et al.: Demystifying Cache Policies for Photo Stores at Scale (ICS 2018); SNIA IOTTA "
      "27476"};

  TencentPhotoReader(NoParams, ReaderContext context) : TextReader(std::move(context)) {
    use_single_vm();
  }

  static Guess guess(const Head& head) {
    return guess_by_lines<TencentPhotoReader>(Fit::kCertain, head);
  }

  TimeBase time_base() const override { return TimeBase::kClock; }
  TraceKind kind() const override { return TraceKind::kObjects; }
  bool has_text_keys() const override { return true; }

  LineKind parse(std::string_view line, Requests& out) {
    FieldScanner scan(line, ' ');
    const Nanoseconds time = take_time(scan);
    const std::string_view photo = scan.text("a photo");
    scan.text("a format");
    const std::string_view category = scan.text("a size category");
    if (category.size() != 1 || !absl::ascii_isalpha(static_cast<unsigned char>(category[0]))) {
      scan.complain_of("a size category (a letter)", category);
    }
    const auto size = static_cast<std::uint32_t>(scan.number("a size", 0, kMaxLength));
    scan.number("a hit", 0, 1);
    scan.text("a terminal");
    const Nanoseconds response = response_time(scan, kSecond / 1'000);
    if (!scan.finish()) return bad(scan);
    const std::string_view key(photo.data(),
                               static_cast<std::size_t>(category.end() - photo.begin()));
    check_vm_name(scan, "a key", key);
    if (scan.failed()) return bad(scan);
    out.push(time, 0, Op::kRead, mention(key), size, response);
    return LineKind::kRequest;
  }

 private:
  static Nanoseconds take_time(FieldScanner& scan) {
    const std::string_view text = scan.text("a time");
    std::optional<Nanoseconds> time;
    if (text.size() == 14) {
      time = parse_iso_time(fmt::format("{}-{}-{} {}:{}:{}", text.substr(0, 4), text.substr(4, 2),
                                        text.substr(6, 2), text.substr(8, 2), text.substr(10, 2),
                                        text.substr(12)));
    }
    if (!time) scan.complain_of("a time (such as 20160201164559)", text);
    return time.value_or(0);
  }
};

}  // namespace mcsim
