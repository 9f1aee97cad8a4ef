// Writes metrics for Prometheus: OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/), or the older
// text format (version 0.0.4) for clients that don't ask for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "scheduler/core/state/histogram.h"

namespace muster::http {

using Labels = std::vector<std::pair<absl::string_view, std::string>>;

class MetricWriter {
 public:
  enum class Format { kText, kOpenMetrics };
  enum class Type { kGauge, kCounter, kHistogram };

  explicit MetricWriter(Format format) : format_(format) {}

  // Begins a family of metrics; the calls of Add that follow write its samples. `unit` is the last word of `name` if
  // that is a unit ("seconds"), or else empty. Leave "_total" out of a counter's name: it is added here.
  void Begin(absl::string_view name, Type type, absl::string_view unit, absl::string_view help);
  void Add(double value, const Labels& labels = {});
  void Add(const Histogram& histogram, const Labels& labels = {});
  // Write a family that has one sample.
  void Gauge(absl::string_view name, absl::string_view unit, absl::string_view help, double value);
  void Counter(absl::string_view name, absl::string_view unit, absl::string_view help, double value);

  // Returns the whole document. Call it once.
  std::string Finish();

  static const char* ContentType(Format format);
  // Chooses by the client's Accept field.
  static Format FormatFor(absl::string_view accept);

 private:
  void Line(absl::string_view suffix, const Labels& labels, double value);

  const Format format_;
  std::string out_;
  std::string name_;
  Type type_ = Type::kGauge;
};

}  // namespace muster::http
