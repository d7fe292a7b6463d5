#include "core/trace/formats/all.hpp"

#include "core/trace/formats/arc.hpp"
#include "core/trace/formats/binary.hpp"
#include "core/trace/formats/biosnoop.hpp"
#include "core/trace/formats/blkparse.hpp"
#include "core/trace/formats/blktrace.hpp"
#include "core/trace/formats/csv.hpp"
#include "core/trace/formats/etw.hpp"
#include "core/trace/formats/fio.hpp"
#include "core/trace/formats/iotrace.hpp"
#include "core/trace/formats/jsonl.hpp"
#include "core/trace/formats/keys.hpp"
#include "core/trace/formats/lackey.hpp"
#include "core/trace/formats/lcs.hpp"
#include "core/trace/formats/mooncake.hpp"
#include "core/trace/formats/msr.hpp"
#include "core/trace/formats/oracle_general.hpp"
#include "core/trace/formats/perf.hpp"
#include "core/trace/formats/record_formats.hpp"
#include "core/trace/formats/strace.hpp"
#include "core/trace/formats/tectonic.hpp"
#include "core/trace/formats/tencent_photo.hpp"
#include "core/trace/formats/text_formats.hpp"
#include "core/trace/formats/vscsi.hpp"

namespace mcsim {
namespace {

namespace r = record_formats;
namespace t = text_formats;
template <const TextFormat& format>
using Text = TextFormatReader<format>;
template <const RecordFormat& format>
using Record = RecordFormatReader<format>;

// The list of all trace formats. A format has the members required by registry.hpp, derives from
// RequestReader, and has
//
//   static Guess guess(const Head&);   // whether a file is of this format
using AllFormats = TypeList<
    MsrReader, CsvReader, JsonlReader, ArcReader, KeysReader, OracleGeneralReader, VscsiReader,
    LcsReader, Record<r::kTwr>, Record<r::kValpin>, Record<r::kKeysU64Le>, Record<r::kKeysU64Be>,
    Record<r::kKeysU32Le>, Record<r::kKeysU32Be>, Text<t::kAlibaba>, Text<t::kTencent>,
    Text<t::kCloudPhysics>, Text<t::kSystor17>, Text<t::kSpc>, Text<t::kFiu>, Text<t::kK5cloud>,
    Text<t::kThesios>, Text<t::kDisksim>, Text<t::kMqsim>, Text<t::kCamelab>, BlkparseReader,
    BiosnoopReader, FioReader, Text<t::kTwitter>, Text<t::kMetaKv>, Text<t::kIbmObjectStore>,
    MooncakeReader, BlktraceReader, BinaryReader, Record<r::kTwrNs>, Record<r::kStandardIqi>,
    Record<r::kStandardIqq>, Record<r::kStandardIii>, Record<r::kStandardIqibh>, Record<r::kAkamai>,
    Record<r::kCf1>, Record<r::kWiki16u>, Record<r::kWiki19u>, Record<r::kOracleGeneralOpNs>,
    Record<r::kOracleSysTwrNs>, Record<r::kOracleAkamai>, Record<r::kOracleSimTwrNs>,
    Record<r::kOracleCf1>, Record<r::kOracleWiki16u>, Record<r::kOracleWiki19u>, LackeyReader,
    StraceReader, TectonicReader, EtwReader, IotraceReader, PerfReader, Text<t::kRocksdb>,
    Text<t::kWikimedia>, Text<t::kWikibench>, TencentPhotoReader>;

template <class... Formats>
std::vector<Guess> guess_of(const Head& head, TypeList<Formats...>) {
  return {Formats::guess(head)...};
}

// Whether the format is one of the table of records, with several fields.
template <class Format>
constexpr bool has_fields(bool is_strict) {
  if constexpr (requires { Format::kFormat; }) {
    return !Format::kFormat.is_key() && Format::kFormat.is_strict() == is_strict;
  }
  return false;
}

// Returns the first format with a fit of at least `fit`, or "".
template <class... Formats>
std::string format_with(Fit fit, const Head& head, bool is_strict, TypeList<Formats...>) {
  std::string found;
  const auto fits = [&]<class Format>() {
    const Guess guess = Format::guess(head);
    if (guess.fit >= fit) found = guess.format;
    return guess.fit >= fit;
  };
  const bool is_found =
      (is_strict &&
       (fits.template operator()<BlktraceReader>() || fits.template operator()<VscsiReader>() ||
        fits.template operator()<LcsReader>() ||
        fits.template operator()<OracleGeneralReader>())) ||
      ((has_fields<Formats>(is_strict) && fits.template operator()<Formats>()) || ...);
  return is_found ? found : "";
}

}  // namespace

const FormatRegistry& formats() {
  static const FormatRegistry registry("trace format", AllFormats{});
  return registry;
}

std::vector<Guess> guess_all(const Head& head) { return guess_of(head, AllFormats{}); }

std::string certain_record_format(const Head& head) {
  return format_with(Fit::kCertain, head, true, AllFormats{});
}

std::string likely_record_format(const Head& head) {
  std::string found = certain_record_format(head);
  if (found.empty()) found = format_with(Fit::kPossible, head, true, AllFormats{});
  return found.empty() ? format_with(Fit::kPossible, head, false, AllFormats{}) : found;
}

}  // namespace mcsim
