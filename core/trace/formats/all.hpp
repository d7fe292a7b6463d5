#pragma once

#include "core/base/registry.hpp"
#include "core/trace/formats/alibaba.hpp"
#include "core/trace/formats/arc.hpp"
#include "core/trace/formats/csv.hpp"
#include "core/trace/formats/jsonl.hpp"
#include "core/trace/formats/keys.hpp"
#include "core/trace/formats/msr.hpp"
#include "core/trace/formats/oracle_general.hpp"

namespace mcsim {

// The one list of trace formats. A member derives from RequestReader (or, if it
// is made of lines, TextReader) and has beside what registry.hpp asks for
//
//   static Guess guess(const Head&);   // whether a file is of this format
using AllFormats = TypeList<MsrReader, CsvReader, JsonlReader, ArcReader, KeysReader, OracleGeneralReader,
                            AlibabaReader>;

}  // namespace mcsim
