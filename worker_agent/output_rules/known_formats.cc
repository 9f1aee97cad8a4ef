// Each row names the line in the trainer's source that writes the format.
//
// | Megatron  | megatron/training/training.py, training_log: ' iteration {:8d}/{:8d} |'
// | DeepSpeed | deepspeed/runtime/engine.py, _report_progress: f"step={step}, skipped={…}, lr={…}, mom={…}"
// | DeepSpeed | deepspeed/runtime/pipe/engine.py, train_batch (the pipeline):
// |           |   f'steps: {…} loss: {…:0.4f} … iter time (s): {…}'
// | MindSpore | mindspore/train/callback/_loss_monitor.py: "epoch: %s step: %s, loss is %s"
// | Lightning | lightning/pytorch/callbacks/progress/tqdm_progress.py: set_description(f"Epoch {…}"), a tqdm bar
// | Trainer   | transformers/trainer_callback.py, PrinterCallback and ProgressCallback: str(logs), with 'epoch'
// | tqdm      | tqdm/std.py, format_meter: '| {0}/{1} [{2}<{3}, {4}{5}]', and '{0}{1} [{3}, {4}{5}]' without a total
#include "worker_agent/output_rules/known_formats.h"

#include <algorithm>
#include <array>

namespace muster::agent {
namespace {

constexpr std::array kFormats = {
    KnownFormat{"Megatron", R"(\biteration +(\d+)/ *\d+ \|)"},
    KnownFormat{"DeepSpeed", R"(\bstep=(\d+), skipped=\d+, lr=)"},
    KnownFormat{"DeepSpeed's pipeline", R"(\bsteps: (\d+) loss: .*iter time \(s\): )"},
    KnownFormat{"MindSpore", R"(\bepoch: (\d+,? step: \d+), loss is )"},
    KnownFormat{"Lightning", R"(\bEpoch \d+: .*\| *(\d+)/\d+ \[\d+:\d\d)"},
    KnownFormat{"Hugging Face Trainer", R"(\{'(?:loss|grad_norm|eval_loss|learning_rate)': .*'epoch': )"},
    KnownFormat{"tqdm", R"(\| *([\d.]+[kMG]?)/[\d.]+[kMG]? \[\d+:\d\d)"},
    KnownFormat{"tqdm", R"(\b([\d.]+[kMG]?)[A-Za-z]+ \[\d+:\d\d(?::\d\d)?, +[\d.?]+[kMG]?[A-Za-z]+/)"},
};

}  // namespace

absl::Span<const KnownFormat> KnownFormats() { return kFormats; }

bool IsLoadBar(std::string_view line) {
  // transformers ("Loading checkpoint shards", "Fetching 30 files"), huggingface_hub ("Downloading …"), datasets
  // ("Map", "Filter", "Generating train split", "Casting", "Saving the dataset", "Tokenizing …"), vllm and torch
  // ("Loading …").
  constexpr std::array<std::string_view, 9> kBegins = {"Loading",    "Downloading", "Fetching", "Map",       "Filter",
                                                       "Generating", "Casting",     "Saving",   "Tokenizing"};
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view word) { return line.starts_with(word); });
}

}  // namespace muster::agent
