#include "core/trace/formats/jsonl.hpp"

#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "core/trace/reading/flat_json.hpp"

namespace mcsim {
namespace {

namespace json = simdjson::ondemand;

}  // namespace

// Parses a line of JSON field by field.
class JsonlReader::Parser {
 public:
  explicit Parser(JsonlReader& reader) : reader_(reader) {}

  // Returns the names of the fields of a line.
  std::optional<std::vector<std::string>> names(std::string_view line) {
    std::vector<std::string> names;
    error_ = each_field(line, [&](std::string_view name, json::value) {
      names.emplace_back(name);
      return simdjson::SUCCESS;
    });
    if (error_ != simdjson::SUCCESS) return std::nullopt;
    return names;
  }

  // Takes all fields that the mapping uses.
  void take_fields(std::string_view line, FieldScanner& scan) {
    std::size_t next = 0;  // the next field in the order of the first line
    error_ = each_field(line, [&](std::string_view name, json::value value) {
      if (name == reader_.flush_field_) {
        bool is_true = false;
        if (value.get_bool().get(is_true) == simdjson::SUCCESS) reader_.is_flushed_ = is_true;
        return simdjson::SUCCESS;
      }
      const std::optional<std::size_t> column = column_of(name, next);
      if (!column) return simdjson::SUCCESS;
      next = *column + 1;
      if (!reader_.mapper_.uses(*column)) return simdjson::SUCCESS;
      return take(*column, value, scan);
    });
    if (error_ != simdjson::SUCCESS) scan.complain(complaint());
  }

  std::string complaint() const {
    return fmt::format("not a JSON object, in column {} of the text: {}", column_,
                       simdjson::error_message(error_));
  }

 private:
  // Calls `body` with the name and value of each field, also of nested objects; stops at an error.
  template <class Body>
  simdjson::error_code each_field(std::string_view line, Body&& body) {
    json::document document;
    simdjson::error_code error =
        parser_.iterate(line.data(), line.size(), line.size() + LineReader::kPadding).get(document);
    json::object object;
    if (error == simdjson::SUCCESS) error = document.get_object().get(object);
    column_ = 1;
    if (error != simdjson::SUCCESS) return error;
    prefix_.clear();
    error = each_member(object, body);
    if (error != simdjson::SUCCESS) {
      const char* at = nullptr;
      if (document.current_location().get(at) == simdjson::SUCCESS) column_ = at - line.data() + 1;
      return error;
    }
    const bool is_over = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return is_over ? simdjson::SUCCESS : simdjson::TAPE_ERROR;
  }

  template <class Body>
  simdjson::error_code each_member(json::object object, Body& body) {
    const std::size_t outer = prefix_.size();
    for (auto field : object) {
      std::string_view name;
      json::value value;
      json::json_type type{};
      if (const auto error = field.unescaped_key().get(name)) return error;
      if (const auto error = field.value().get(value)) return error;
      if (const auto error = value.type().get(type)) return error;
      const bool is_nested = type == json::json_type::object;
      if (outer > 0 || is_nested) name = prefix_.append(name);
      simdjson::error_code error = simdjson::SUCCESS;
      if (is_nested) {
        prefix_ += '.';
        json::object nested;
        error = value.get_object().get(nested);
        if (error == simdjson::SUCCESS) error = each_member(nested, body);
      } else {
        error = body(name, value);
      }
      if (error != simdjson::SUCCESS) return error;
      prefix_.resize(outer);
    }
    return simdjson::SUCCESS;
  }

  std::optional<std::size_t> column_of(std::string_view name, std::size_t next) const {
    const std::vector<std::string>& names = reader_.mapper_.names();
    if (next < names.size() && names[next] == name) return next;
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  }

  simdjson::error_code take(std::size_t column, json::value value, FieldScanner& scan) {
    json::json_type type{};
    if (const auto error = value.type().get(type)) return error;
    if (type == json::json_type::array && reader_.mapper_.is_key(column)) {
      reader_.taken_[column] = true;
      reader_.has_array_ = true;
      return take_array(column, value, scan);
    }
    return take_scalar(column, value, type, scan,
                       [&](std::string_view text) { reader_.take(column, text, scan); });
  }

  simdjson::error_code take_array(std::size_t column, json::value value, FieldScanner& scan) {
    json::array array;
    if (const auto error = value.get_array().get(array)) return error;
    for (auto each : array) {
      json::value element;
      json::json_type type{};
      if (const auto error = each.get(element)) return error;
      if (const auto error = element.type().get(type)) return error;
      const auto error = take_scalar(column, element, type, scan, [&](std::string_view text) {
        scan.next_field(text, column);
        reader_.keys_.push_back(take_key(scan, reader_));
      });
      if (error != simdjson::SUCCESS) return error;
    }
    return simdjson::SUCCESS;
  }

  template <class Take>
  simdjson::error_code take_scalar(std::size_t column, json::value value, json::json_type type,
                                   FieldScanner& scan, Take&& take_text) {
    switch (type) {
      case json::json_type::null:
        return value.is_null() ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
      case json::json_type::string: {
        std::string_view text;
        if (const auto error = value.get_string().get(text)) return error;
        reader_.padded_.assign(text).append(LineReader::kPadding, '\0');
        take_text(std::string_view(reader_.padded_).substr(0, text.size()));
        return simdjson::SUCCESS;
      }
      case json::json_type::number:
      case json::json_type::boolean: {
        std::string_view text = value.raw_json_token();
        while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
        take_text(text);
        // Checks that the text is a valid value.
        double number = 0;
        bool flag = false;
        return type == json::json_type::number ? value.get_double().get(number)
                                               : value.get_bool().get(flag);
      }
      default:
        scan.next_field("", column);
        scan.text("a value");
        scan.complain_of("a number or text", "an array or object");
        return simdjson::SUCCESS;
    }
  }

  JsonlReader& reader_;
  json::parser parser_;
  std::string prefix_;  // the names of the objects around a field
  simdjson::error_code error_ = simdjson::SUCCESS;
  std::ptrdiff_t column_ = 1;  // of the error, in bytes
};

JsonlReader::JsonlReader(Params params, ReaderContext context)
    : MappedReader(std::move(params), std::move(context)),
      parser_(std::make_unique<Parser>(*this)) {}
JsonlReader::~JsonlReader() = default;

void JsonlReader::take(std::size_t column, std::string_view value, FieldScanner& scan) {
  taken_[column] = true;
  scan.next_field(value, column);
  mapper_.take(column, scan);
}

bool JsonlReader::check_missing(FieldScanner& scan) {
  const auto is_nested = [&](std::size_t column) {
    return mapper_.names()[column].find('.') != std::string::npos;
  };
  for (std::size_t column = 0; column < taken_.size(); ++column) {
    if (!taken_[column] && mapper_.is_length(column) && is_nested(column)) return false;
  }
  for (std::size_t column = 0; column < taken_.size(); ++column) {
    if (taken_[column] || !mapper_.uses(column)) continue;
    mapper_.take_missing(column);
    if (mapper_.is_optional(column) || mapper_.is_flush()) continue;
    const bool has_default = mapper_.is_operation(column) || mapper_.is_offset(column);
    if (has_default && is_nested(column)) continue;
    scan.complain(
        fmt::format("the field '{}' has no value", quoted_for_message(mapper_.names()[column])));
  }
  return true;
}

bool JsonlReader::take_flat(std::string_view line, FieldScanner& scan) {
  FlatJson json(line);
  std::string_view value;
  for (std::size_t column = 0; column < mapper_.column_count(); ++column) {
    if (!json.take(column == 0 ? '{' : ',')) return false;
    if (!json.take_name(mapper_.names()[column]) || !json.take(':')) return false;
    const bool is_used = mapper_.uses(column);
    if (json.take('[')) {
      if (is_used && !mapper_.is_key(column)) return false;
      has_array_ |= is_used;
      if (json.take(']')) continue;
      do {
        if (!json.take_scalar(value)) return false;
        if (!is_used) continue;
        scan.next_field(value, column);
        keys_.push_back(take_key(scan, *this));
      } while (json.take(','));
      if (!json.take(']')) return false;
      continue;
    }
    if (!json.take_scalar(value)) return false;
    if (!is_used) continue;
    scan.next_field(value, column);
    mapper_.take(column, scan);
  }
  return json.take('}') && json.is_over();
}

LineKind JsonlReader::parse(std::string_view line, Requests& out) {
  FieldScanner scan;
  if (!mapper_.is_bound()) {
    std::optional<std::vector<std::string>> names = parser_->names(line);
    if (!names) return refuse(absl::DataLossError(parser_->complaint()));
    prepare(*names);
    if (const absl::Status bound = mapper_.bind(*std::move(names), true); !bound.ok()) {
      return refuse(bound);
    }
  }
  const auto begin = [&] {
    scan = FieldScanner();
    scan.set_names(&mapper_.names());
    mapper_.begin_row();
    has_array_ = false;
    keys_.clear();
    is_flushed_ = false;
  };
  begin();
  if (!take_flat(line, scan)) {
    begin();
    taken_.assign(mapper_.column_count(), false);
    parser_->take_fields(line, scan);
    if (!check_missing(scan) && !scan.failed()) {
      if (!is_flushed_) return LineKind::kFiltered;
      return count_flush(), LineKind::kNothing;
    }
  }
  const LineKind kind = finish_line(scan, out);
  if (is_flushed_ && kind == LineKind::kRequest) count_flush();
  return kind;
}

LineKind JsonlReader::finish_line(FieldScanner& scan, Requests& out) {
  if (!has_array_) return finish_row(scan, out);
  if (keys_.empty()) return scan.failed() ? bad(scan) : LineKind::kFiltered;
  LineKind kind = LineKind::kNothing;
  for (const std::uint64_t key : keys_) {
    mapper_.set_key(key);
    kind = finish_row(scan, out);
    if (kind != LineKind::kRequest) break;
  }
  return kind;
}

}  // namespace mcsim
