// Lines as the trainers write them, and what --expect auto makes of each.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "worker_agent/output_rules/output_rules.h"

namespace muster::agent {
namespace {

struct Line {
  const char* name;
  std::string text;
  const char* format;  // null: none
  const char* number;
};

class KnownFormat : public ::testing::TestWithParam<Line> {};

TEST_P(KnownFormat, IsRecognised) {
  const auto rules = OutputRules::Compile({{kExpectAuto}, {}});
  ASSERT_TRUE(rules.ok()) << rules.status();
  const LineFinding finding = (*rules)->Look(GetParam().text);
  ASSERT_EQ(finding.is_expected, GetParam().format != nullptr);
  if (!finding.is_expected) return;
  EXPECT_STREQ(finding.format, GetParam().format);
  EXPECT_EQ(finding.number,
            GetParam().number == nullptr ? std::nullopt : std::optional<std::string>(GetParam().number));
}

INSTANTIATE_TEST_SUITE_P(
    All, KnownFormat,
    ::testing::Values(
        Line{"Bar", " 45%|\xe2\x96\x88\xe2\x96\x88     | 45/100 [00:10<00:12,  4.41it/s]", "tqdm", "45"},
        Line{"NamedBar", "train:   3%|3         | 3/100 [00:00<00:09, 10.02it/s, loss=0.5]", "tqdm", "3"},
        Line{"ScaledBar", " 10%|#         | 1.2k/12.0k [1:02:03<00:12, 4.4kB/s]", "tqdm", "1.2k"},
        Line{"BarWithoutTotal", "17it [00:03,  5.01it/s]", "tqdm", "17"},
        Line{"LightningBar", "Epoch 0:  45%|\xe2\x96\x88\xe2\x96\x88  | 45/100 [00:10<00:12,  4.41it/s, v_num=0]",
             "Lightning", "45"},
        Line{"Trainer", "{'loss': 0.4551, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.53}",
             "Hugging Face Trainer", nullptr},
        Line{"NewerTrainer", "{'loss': '0.4551', 'grad_norm': '1.2', 'learning_rate': '5e-05', 'epoch': '0.53'}",
             "Hugging Face Trainer", nullptr},
        Line{"Megatron",
             " [2026-08-01 10:00:00] iteration      120/  500000 | consumed samples:        30720 | elapsed time per "
             "iteration (ms): 812.5 | learning rate: 1.5E-04 |",
             "Megatron", "120"},
        Line{"DeepSpeed",
             "[2026-08-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, "
             "lr=[0.0001], mom=[(0.9, 0.999)]",
             "DeepSpeed", "10"},
        Line{"Pipeline", "steps: 30 loss: 2.3026 iter time (s): 0.052 samples/sec: 76.923", "DeepSpeed's pipeline",
             "30"},
        Line{"MindSpore", "epoch: 1 step: 100, loss is 2.3015916", "MindSpore", "1 step: 100"},
        Line{"MindSporeScript", "epoch: 3, step: 40, loss is 0.12", "MindSpore", "3, step: 40"},
        Line{"LoadBar", "Loading checkpoint shards:  45%|####  | 9/20 [00:10<00:12,  1.1s/it]", nullptr, nullptr},
        Line{"MapBar", "Map:  45%|####  | 9000/20000 [00:10<00:12, 900.1 examples/s]", nullptr, nullptr},
        Line{"Words", "loading checkpoint shard 3 of 8", nullptr, nullptr}, Line{"Loss", "loss 0.25", nullptr, nullptr},
        Line{"Address", "listening on [::1]:29500", nullptr, nullptr}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace muster::agent
