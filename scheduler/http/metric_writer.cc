#include "scheduler/http/metric_writer.h"

#include <charconv>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/base/text.h"

namespace muster::http {
namespace {

std::string Number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[64];
  const auto [end, error] = std::abs(value) < 1e15 && value == std::floor(value)
                                ? std::to_chars(text, text + sizeof(text), static_cast<int64_t>(value))
                                : std::to_chars(text, text + sizeof(text), value);
  return {text, end};
}

// Escapes a label's value. Peers choose some values, so it first makes them printable: UTF-8, no control characters.
std::string LabelValue(const std::string& value) {
  return absl::StrReplaceAll(EscapeControl(value), {{"\\", "\\\\"}, {"\"", "\\\""}});
}

const char* TypeName(MetricWriter::Type type) {
  switch (type) {
    case MetricWriter::Type::kGauge:
      return "gauge";
    case MetricWriter::Type::kCounter:
      return "counter";
    case MetricWriter::Type::kHistogram:
      return "histogram";
  }
  return "";
}

}  // namespace

void MetricWriter::Begin(absl::string_view name, Type type, absl::string_view unit, absl::string_view help) {
  name_ = std::string(name);
  type_ = type;
  // In the older format a counter's family has the same name as its samples, with "_total".
  const std::string family =
      format_ == Format::kText && type == Type::kCounter ? absl::StrCat(name, "_total") : std::string(name);
  absl::StrAppend(&out_, "# HELP ", family, " ", help, "\n# TYPE ", family, " ", TypeName(type), "\n");
  if (format_ == Format::kOpenMetrics && !unit.empty()) absl::StrAppend(&out_, "# UNIT ", family, " ", unit, "\n");
}

void MetricWriter::Line(absl::string_view suffix, const Labels& labels, double value) {
  absl::StrAppend(&out_, name_, suffix);
  const char* separator = "{";
  for (const auto& [label, text] : labels) {
    absl::StrAppend(&out_, separator, label, "=\"", LabelValue(text), "\"");
    separator = ",";
  }
  absl::StrAppend(&out_, labels.empty() ? " " : "} ", Number(value), "\n");
}

void MetricWriter::Add(double value, const Labels& labels) {
  Line(type_ == Type::kCounter ? "_total" : "", labels, value);
}

void MetricWriter::Add(const Histogram& histogram, const Labels& labels) {
  uint64_t below = 0;
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    below += histogram.counts()[i];
    Labels with_bound = labels;
    with_bound.emplace_back("le", i < histogram.bounds().size() ? Number(histogram.bounds()[i]) : "+Inf");
    Line("_bucket", with_bound, static_cast<double>(below));
  }
  Line("_sum", labels, histogram.sum());
  Line("_count", labels, static_cast<double>(histogram.count()));
}

void MetricWriter::Gauge(absl::string_view name, absl::string_view unit, absl::string_view help, double value) {
  Begin(name, Type::kGauge, unit, help);
  Add(value);
}

void MetricWriter::Counter(absl::string_view name, absl::string_view unit, absl::string_view help, double value) {
  Begin(name, Type::kCounter, unit, help);
  Add(value);
}

std::string MetricWriter::Finish() {
  if (format_ == Format::kOpenMetrics) absl::StrAppend(&out_, "# EOF\n");
  return std::move(out_);
}

const char* MetricWriter::ContentType(Format format) {
  return format == Format::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                        : "text/plain; version=0.0.4; charset=utf-8";
}

MetricWriter::Format MetricWriter::FormatFor(absl::string_view accept) {
  return absl::StrContains(accept, "application/openmetrics-text") ? Format::kOpenMetrics : Format::kText;
}

}  // namespace muster::http
