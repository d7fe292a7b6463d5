#pragma once

#include "core/trace/formats/blkparse.hpp"
#include "core/trace/reading/record_reader.hpp"

namespace mcsim {

// Events of blktrace, version 7, in the byte order of the machine that wrote them. Fields:
//
//   uint32 magic 0x656174 and version, uint32 sequence, uint64 time (ns), uint64 sector (512 B),
//   uint32 bytes, uint32 event (16 bits) and categories (16 bits), uint32 process,
//   uint32 device (12 bits major, 20 bits minor), uint32 processor, uint16 error, uint16 length
//   of the data after it
//
// Reads one event for each request, as from the text of blkparse. Other events, messages,
// pass-through commands and requests without data are filtered. A flush is counted, alone or
// before the data of a request.
// The VM is the device, such as 8,0.
class BlktraceReader final : public RecordReader<BlktraceReader> {
 public:
  using Params = BlkparseReader::Params;
  static constexpr bool kHasVms = true;
  static constexpr ComponentInfo kInfo{
      "blktrace",
      "binary events of blktrace: device, time in ns, event, sector, bytes; with stacked devices, "
      "such as a partition and its disk, one I/O appears on each",
      "blktrace(8), struct blk_io_trace of version 7"};

  BlktraceReader(const Params& params, ReaderContext context)
      : RecordReader(std::move(context)), event_(number_of(params.event)) {}

  static Guess guess(const Head& head) {
    return guess_by_records<BlktraceReader>(head, Proof::kMagic);
  }

  TimeBase time_base() const override { return TimeBase::kClock; }

  static bool has_magic(std::string_view head) {
    return has_magic_in<ByteOrder::big>(head) || has_magic_in<ByteOrder::little>(head);
  }

  absl::StatusOr<RecordLayout> begin(std::string_view head) {
    is_big_ = has_magic_in<ByteOrder::big>(head);
    if (has_magic(head)) return RecordLayout{kRecordBytes};
    return refuse("record 1: expected the number 0x656174 in either byte order in bytes 1 to 4");
  }

  std::vector<std::string> notes() const override { return stacked_.notes(*this); }

  LineKind parse(const char* record, RecordRequest& request) {
    return is_big_ ? parse_in<ByteOrder::big>(record, request)
                   : parse_in<ByteOrder::little>(record, request);
  }

  // Records the devices of a remap: the device above and the one below, in big-endian order, behind
  // the id of a control group if there is one.
  void take_payload(std::string_view payload) {
    if (!remap_prefix_ || payload.size() < *remap_prefix_ + 8) return;
    const char* const at = payload.data() + *remap_prefix_;
    stacked_.add(name_of_device(number_at<std::uint32_t, ByteOrder::big>(at)),
                 name_of_device(number_at<std::uint32_t, ByteOrder::big>(at + 4)));
  }

 private:
  static constexpr std::size_t kRecordBytes = 48;
  static constexpr std::uint32_t kMagic = 0x656174;
  static constexpr std::uint32_t kVersion = 7;
  static constexpr std::uint64_t kSector = 512;

  // Bits of the upper half of an action.
  enum Category : std::uint32_t {
    kWrite = 1U << 1,
    kFlush = 1U << 2,
    kPassThrough = 1U << 9,
    kNotify = 1U << 10,
    kDiscard = 1U << 13
  };
  static constexpr std::uint32_t kHasCgroup = 1U << 8;  // of the event
  static constexpr std::size_t kCgroupBytes = 8;
  static constexpr std::uint32_t kRemap = 15;
  static constexpr std::uint32_t kLastEvent = 17;
  static constexpr std::uint32_t kLastMessage = 2;

  template <ByteOrder order>
  static bool has_magic_in(std::string_view head) {
    return head.size() >= 4 && number_at<std::uint32_t, order>(head.data()) >> 8 == kMagic;
  }

  static std::uint32_t number_of(BlockEvent event) {
    constexpr std::uint32_t kQueued = 1, kIssued = 7, kCompleted = 8;
    if (event == BlockEvent::kQueue) return kQueued;
    return event == BlockEvent::kIssue ? kIssued : kCompleted;
  }

  template <ByteOrder order>
  LineKind parse_in(const char* record, RecordRequest& request) {
    const auto magic = number_at<std::uint32_t, order>(record);
    if (magic != (kMagic << 8 | kVersion)) [[unlikely]]
      return refuse_magic(magic);
    request.payload = number_at<std::uint16_t, order>(record + 46);
    const auto action = number_at<std::uint32_t, order>(record + 28);
    const std::uint32_t event = action & 0xffff & ~kHasCgroup;
    const std::uint32_t categories = action >> 16;
    const bool is_message = (categories & kNotify) != 0;
    remap_prefix_ = !is_message && event == kRemap
                        ? std::optional((action & kHasCgroup) != 0 ? kCgroupBytes : 0)
                        : std::nullopt;
    if (is_message ? event > kLastMessage : event == 0 || event > kLastEvent) [[unlikely]] {
      return bad(fmt::format("action: there is no {} {}", is_message ? "message" : "event", event));
    }
    if (is_message || event != event_ || (categories & kPassThrough) != 0) {
      if (!is_message && event != event_) note_other(event);
      return LineKind::kFiltered;
    }
    request.length = number_at<std::uint32_t, order>(record + 24);
    if (request.length == 0 && (categories & kDiscard) == 0) {
      if ((categories & kFlush) == 0) return LineKind::kFiltered;
      return count_flush(), LineKind::kNothing;
    }
    request.op = (categories & kDiscard) != 0 ? Op::kDiscard
                 : (categories & kWrite) != 0 ? Op::kWrite
                                              : Op::kRead;
    const LineKind kind = place_request(number_at<std::uint64_t, order>(record + 8),
                                        number_at<std::uint64_t, order>(record + 16),
                                        number_at<std::uint32_t, order>(record + 36), request);
    if ((categories & kFlush) != 0 && kind == LineKind::kRequest) count_flush();
    return kind;
  }

  void note_other(std::uint32_t event) {
    for (const auto& [name, of] : Choices<BlockEvent>::names) {
      if (event == number_of(of)) note_other_event(name[0]);
    }
  }

  LineKind place_request(std::uint64_t time, std::uint64_t sector, std::uint32_t device,
                         RecordRequest& request) {
    constexpr std::uint64_t kLatest = std::numeric_limits<Nanoseconds>::max();
    if (time > kLatest) [[unlikely]]
      return bad(fmt::format("time: {} ns exceeds 63 bits", time));
    if (request.length % kSector != 0) [[unlikely]] {
      return bad(fmt::format("bytes: expected whole sectors of 512 B, got {}", request.length));
    }
    if (sector > (kMaxOffset - request.length) / kSector) [[unlikely]] {
      return bad(fmt::format("sector: {} exceeds 64 bits", sector));
    }
    if (vm_device_ != device) {
      const auto vm = vm_of(name_of_device(device));
      if (!vm.ok()) return refuse(vm.status());
      vm_ = *vm;
      vm_device_ = device;
    }
    request.time = static_cast<Nanoseconds>(time);
    request.offset = sector * kSector;
    request.vm = vm_;
    return LineKind::kRequest;
  }

  static std::string name_of_device(std::uint32_t device) {
    return fmt::format("{},{}", device >> 20, device & 0xfffff);
  }

  LineKind refuse_magic(std::uint32_t magic) {
    if (magic >> 8 == kMagic) {
      return refuse(data_loss("version: expected {}, got {}", kVersion, magic & 0xff));
    }
    return refuse(data_loss("magic: expected {:#x}, got {:#x}", kMagic, magic >> 8));
  }

  std::uint32_t event_;
  bool is_big_ = false;
  StackedDevices stacked_;
  std::optional<std::size_t> remap_prefix_;  // bytes before the devices in the payload of a remap
  std::optional<std::uint32_t> vm_device_;
  VmId vm_ = 0;
};

}  // namespace mcsim
