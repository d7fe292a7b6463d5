#pragma once

#include "core/trace/reading/text.hpp"

namespace mcsim {

// The block traces of MSR Cambridge (Narayanan et al., FAST'08), SNIA IOTTA
// trace set 388. Seven columns; a header may name them:
//
//   filetime (100 ns since 1601), host, disk, Read|Write, offset (bytes),
//   size (bytes), response time (100 ns)
//
// The VM of a request is host_disk. A response time of -1 means unknown.
class MsrReader final : public TextReader<MsrReader> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      "msr", "MSR Cambridge CSV: filetime, host, disk, Read or Write, offset, size, response",
      "Narayanan, Donnelly, Rowstron: Write Off-Loading (FAST 2008); SNIA IOTTA 388"};

  MsrReader(Params, ReaderContext context) : TextReader(std::move(context)) {}

  static Guess guess(const Head& head) { return guess_by_lines<MsrReader>(Fit::kCertain, head); }

  TimeBase time_base() const override { return TimeBase::kClock; }

  LineKind parse(std::string_view line, Requests& out) {
    if (is_first_) [[unlikely]] {
      is_first_ = false;
      if (line.starts_with("Timestamp,Hostname,DiskNumber,")) return LineKind::kNothing;
    }
    FieldScanner scan(line, ',');
    const Nanoseconds time = filetime(scan);
    if (!scan.take_if(volume_, 2) && !new_volume(scan)) return bad(scan);
    const std::string_view type = scan.text("Read or Write");
    const Op op = type == "Write" ? Op::kWrite : Op::kRead;
    if (op == Op::kRead && type != "Read") scan.complain_of("Read or Write", type);
    const std::uint64_t offset = scan.number("an offset");
    const std::uint64_t size = scan.number("a size", 0, kMaxLength);
    const Nanoseconds response = response_time(scan, kFiletimeTick);
    if (offset + size < offset) scan.complain("offset + size exceeds 64 bits");
    if (!scan.finish()) return bad(scan);
    out.push(time, vm_, op, offset, static_cast<std::uint32_t>(size), response);
    return LineKind::kRequest;
  }

 private:
  // Rows of a host often follow each other, so the last "host,disk," is kept as in the file.
  bool new_volume(FieldScanner& scan) {
    const std::string_view host = vm_name(scan, "a host name");
    const std::string_view disk = vm_name(scan, "a disk number");
    if (scan.failed()) return false;
    name_ = host;
    append_vm_part(name_, disk);
    const auto vm = vm_of(name_);
    if (!vm.ok()) {
      scan.complain(message_of(vm.status()));
      return false;
    }
    vm_ = *vm;
    volume_.assign(host).append(1, ',').append(disk).append(1, ',');
    return true;
  }

  bool is_first_ = true;
  std::string volume_;
  std::string name_;
  VmId vm_ = 0;
};

}  // namespace mcsim
