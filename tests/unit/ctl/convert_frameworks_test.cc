#include "tests/unit/ctl/convert_fixture.h"

namespace muster::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Convert, LinesOfAccelerate) {
  const struct {
    std::string old, line;
  } cases[] = {
      {"accelerate launch --multi_gpu --num_processes 8 train.py --lr 1",
       "--standalone --local_worker_num 8 -- python3 train.py --lr 1"},
      {"accelerate launch --num-processes=16 --num-machines=2 --machine-rank=1 --main-process-ip=node1 "
       "--main_process_port 29500 --mixed_precision bf16 -m pkg.train",
       "--with_scheduler --sched_host node1 --worker_num 16 --local_worker_num 8 --node_rank 1 --env "
       "ACCELERATE_MIXED_PRECISION=bf16 -- python3 -m pkg.train"},
      {"python -m accelerate.commands.launch --cpu --num_processes 2 --num_cpu_threads_per_process 4 train.py",
       "--standalone --local_worker_num 2 --env ACCELERATE_USE_CPU=true --env OMP_NUM_THREADS=4 -- python train.py"},
      {"/opt/bin/accelerate-launch --num_processes 2 --max_restarts 3 --no_python ./run.sh",
       "--standalone --local_worker_num 2 --enable_recovery --max_restarts 3 --no_python -- ./run.sh"},
      {"/opt/bin/accelerate launch --num_processes 2 --tee 3 --log_dir l --debug --dynamo_backend inductor t.py",
       "--standalone --local_worker_num 2 --log_dir l --env ACCELERATE_DEBUG_MODE=true --env "
       "ACCELERATE_DYNAMO_BACKEND=inductor --tee 3 -- /opt/bin/python3 t.py"},
  };
  for (const auto& c : cases) {
    const Converted converted = Of(c.old);
    EXPECT_EQ(converted.line, "ms-worker " + c.line) << c.old << converted.error;
    EXPECT_THAT(converted.notes, ElementsAre(HasSubstr("accelerate's default configuration file"))) << c.old;
  }
  EXPECT_EQ(Of(std::vector<std::string>{"accelerate launch --num_processes $((N * 8)) --num_machines $N "
                                        "--machine_rank $R --main_process_ip \"$(head -1 h)\" t.py"})
                .line,
            "ms-worker --with_scheduler --sched_host \"$(head -1 h)\" --worker_num \"$((N * 8))\" --local_worker_num "
            "\"$(($((N * 8)) / $N))\" --node_rank $R -- python3 t.py");
  const struct {
    std::string old, error;
  } errors[] = {
      {"accelerate launch t.py", "no number of processes (accelerate launch --num_processes N)"},
      {"accelerate launch --num_machines 2 --main_process_ip a t.py", "(accelerate launch --num_processes N)"},
      {"accelerate launch --config_file c.yaml t.py", "--config_file: accelerate launch hands it to the script"},
      {"accelerate launch --use_fsdp --num_processes 8 t.py", "ms-worker --per_node --with_scheduler"},
      {"accelerate launch --num_processes 8 --fsdp-offload-params true t.py", "--fsdp-offload-params: accelerate"},
      {"accelerate launch --num_processes 8 --zero3_init_flag=true t.py", "--zero3_init_flag: accelerate"},
      {"accelerate launch --tpu t.py", "have no counterpart"},
      {"accelerate launch --mpirun_hostfile h t.py", "convert the line of mpirun"},
      {"accelerate launch --num_proc 8 t.py", "--num_proc is no option of accelerate launch"},
      {"accelerate config", "accelerate is no launcher that is known here; known are torchrun"},
  };
  for (const auto& c : errors) EXPECT_THAT(Of(c.old).error, HasSubstr(c.error)) << c.old;
}

TEST_F(ConvertFiles, LinesOfDeepspeed) {
  const std::string hosts = Write("hosts", "node1 slots=8\nnode2 slots=8\nnode3 slots=8\n");
  const struct {
    std::string old, line;
  } cases[] = {
      {"deepspeed --no_local_rank --num_gpus 8 t.py --deepspeed ds.json",
       "--standalone --local_worker_num 8 -- python3 t.py --deepspeed ds.json"},
      {"deepspeed --no_local_rank t.py", "--standalone --local_worker_num auto -- python3 t.py"},
      {"deepspeed --no_local_rank --hostfile " + hosts + " t.py",
       "--with_scheduler --sched_host node1 --worker_num 24 --local_worker_num 8 -- python3 t.py"},
      {"/v/bin/deepspeed --no_local_rank -H " + hosts +
           " --num_nodes=2 --num_gpus=4 --master_port 29500 --launcher pdsh t.py",
       "--with_scheduler --sched_host node1 --worker_num 8 --local_worker_num 4 -- /v/bin/python3 t.py"},
      {"python -m deepspeed.launcher.runner --no_local_rank --no_ssh --num_nodes 2 --num_gpus 4 --node_rank 1 "
       "--master_addr n1 --module t",
       "--with_scheduler --sched_host n1 --worker_num 8 --local_worker_num 4 --node_rank 1 -- python -m t"},
      {"deepspeed --no_local_rank --enable_each_rank_log l --bind_cores_to_rank --num_gpus 2 --no_python ./t.sh",
       "--standalone --local_worker_num 2 --log_dir l --bind_core auto --no_python -- ./t.sh"},
  };
  for (const auto& c : cases) {
    const Converted converted = Of(c.old);
    EXPECT_EQ(converted.line, "ms-worker " + c.line) << c.old << converted.error;
  }
  const Converted ranks = Of("deepspeed --num_gpus 2 t.py --x 1");
  EXPECT_EQ(ranks.line, "ms-worker --standalone --local_worker_num 2 -- python3 t.py --local_rank={local_rank} --x 1");
  EXPECT_THAT(ranks.notes, ElementsAre(HasSubstr("is the argument that deepspeed adds; leave it out")));
  const Converted some = Of("deepspeed --no_local_rank --include localhost:1,3 t.py");
  EXPECT_EQ(some.line, "ms-worker --standalone --local_worker_num 2 -- python3 t.py");
  EXPECT_THAT(some.notes, ElementsAre(HasSubstr("CUDA_VISIBLE_DEVICES=1,3 in front of the line")));
  const struct {
    std::string old, error;
  } errors[] = {
      {"deepspeed --include node1@node2:0,2 t.py", "--include node1@node2:0,2: start the line on the hosts"},
      {"deepspeed --include localhost t.py", "write --num_nodes and --num_gpus"},
      {"deepspeed --exclude node1 t.py", "--exclude: start the line on the hosts"},
      {"deepspeed --autotuning run t.py", "run it with deepspeed"},
      {"deepspeed --num_nodes 2 --master_addr a t.py", "write the number for each node, deepspeed --num_gpus N"},
      {"deepspeed --num_nodes $N --hostfile " + hosts + " t.py", "write the number of nodes"},
      {"deepspeed --hostfile /job/nowhere t.py", "--hostfile /job/nowhere can't be read here"},
      {"deepspeed --num_gpus 2", "no command"},
      {"deepspeed --num_gpus -1 t.py", "--num_gpus is -1"},
  };
  for (const auto& c : errors) EXPECT_THAT(Of(c.old).error, HasSubstr(c.error)) << c.old;
}

}  // namespace
}  // namespace muster::ctl
