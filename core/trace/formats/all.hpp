#pragma once

#include "core/base/registry.hpp"
#include "core/trace/formats/alibaba.hpp"
#include "core/trace/formats/arc.hpp"
#include "core/trace/formats/csv.hpp"
#include "core/trace/formats/jsonl.hpp"
#include "core/trace/formats/key_integers.hpp"
#include "core/trace/formats/keys.hpp"
#include "core/trace/formats/lcs.hpp"
#include "core/trace/formats/msr.hpp"
#include "core/trace/formats/oracle_general.hpp"
#include "core/trace/formats/twr.hpp"
#include "core/trace/formats/valpin.hpp"
#include "core/trace/formats/vscsi.hpp"

namespace mcsim {

// The one list of trace formats. A member derives from RequestReader (or, if it
// is made of lines, TextReader) and has beside what registry.hpp asks for
//
//   static Guess guess(const Head&);   // whether a file is of this format
using AllFormats = TypeList<MsrReader, CsvReader, JsonlReader, ArcReader, KeysReader, OracleGeneralReader,
                            VscsiReader, LcsReader, TwrReader, ValpinReader, KeysU64LeReader,
                            KeysU64BeReader, KeysU32LeReader, KeysU32BeReader,
                            AlibabaReader>;

}  // namespace mcsim
