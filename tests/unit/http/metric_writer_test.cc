#include "scheduler/http/metric_writer.h"

#include <gtest/gtest.h>

namespace muster::http {
namespace {

using Format = MetricWriter::Format;
using Type = MetricWriter::Type;

std::string Written(Format format) {
  MetricWriter out(format);
  out.Counter("a_seconds", "seconds", "Of a.", 1.5);
  out.Begin("b", Type::kGauge, "", "Of b.");
  out.Add(3, {{"x", "y\"\\\n\xff"}, {"z", ""}});
  Histogram histogram({0.1, 5});
  histogram.Observe(0.1);
  histogram.Observe(0.2);
  histogram.Observe(7);
  out.Begin("c_seconds", Type::kHistogram, "seconds", "Of c.");
  out.Add(histogram, {{"x", "1"}});
  return out.Finish();
}

TEST(MetricWriter, WritesOpenMetrics) {
  EXPECT_EQ(Written(Format::kOpenMetrics),
            "# HELP a_seconds Of a.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total 1.5\n"
            "# HELP b Of b.\n# TYPE b gauge\nb{x=\"y\\\"\\\\\\\\n\\\\xff\",z=\"\"} 3\n"
            "# HELP c_seconds Of c.\n# TYPE c_seconds histogram\n# UNIT c_seconds seconds\n"
            "c_seconds_bucket{x=\"1\",le=\"0.1\"} 1\nc_seconds_bucket{x=\"1\",le=\"5\"} 2\n"
            "c_seconds_bucket{x=\"1\",le=\"+Inf\"} 3\nc_seconds_sum{x=\"1\"} 7.3\nc_seconds_count{x=\"1\"} 3\n# EOF\n");
}

TEST(MetricWriter, WritesTheOlderFormatWithTheNamesOfSamples) {
  const std::string text = Written(Format::kText);
  EXPECT_EQ(text.find("# UNIT"), std::string::npos);
  EXPECT_EQ(text.find("# EOF"), std::string::npos);
  EXPECT_NE(text.find("# TYPE a_seconds_total counter\na_seconds_total 1.5\n"), std::string::npos) << text;
}

TEST(MetricWriter, AnswersInTheFormatThatIsAskedFor) {
  EXPECT_EQ(MetricWriter::FormatFor("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            Format::kOpenMetrics);
  EXPECT_EQ(MetricWriter::FormatFor("*/*"), Format::kText);
  EXPECT_EQ(MetricWriter::FormatFor(""), Format::kText);
}

}  // namespace
}  // namespace muster::http
