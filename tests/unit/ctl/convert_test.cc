#include "ctl/convert/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"

namespace muster::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Converted Of(const std::string& line) { return Convert(absl::StrSplit(line, ' ')); }

TEST(Convert, LinesThatHaveACounterpart) {
  const struct {
    std::string old, line;
  } cases[] = {
      {"torchrun --standalone --nproc_per_node 8 train.py --lr 0.1",
       "ms-worker --standalone --local_worker_num 8 -- python3 train.py --lr 0.1"},
      {"torchrun train.py", "ms-worker --standalone --local_worker_num 1 -- python3 train.py"},
      {"torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=node1:29400 --rdzv_id=7 train.py",
       "ms-worker --with_scheduler --sched_host node1 --worker_num 16 --local_worker_num 8 --job_id 7 -- python3 "
       "train.py"},
      {"torchrun --nnodes 2 --node_rank 1 --nproc_per_node 4 --master_addr 10.0.0.1 --master_port 29500 -m pkg.train "
       "-x",
       "ms-worker --with_scheduler --sched_host 10.0.0.1 --worker_num 8 --local_worker_num 4 --node_rank 1 -- python3 "
       "-m pkg.train -x"},
      {"torchrun --nproc_per_node gpu --max_restarts 3 --log_dir logs --redirects 3 train.py",
       "ms-worker --standalone --local_worker_num auto --enable_recovery --max_restarts 3 --log_dir logs --redirects 3 "
       "-- python3 train.py"},
      {"torchrun --nproc_per_node 2 --no_python ./train.sh a",
       "ms-worker --standalone --local_worker_num 2 --no_python -- ./train.sh a"},
      {"OMP_NUM_THREADS=4 /opt/venv/bin/torchrun --nproc_per_node 2 train.py",
       "OMP_NUM_THREADS=4 ms-worker --standalone --local_worker_num 2 -- /opt/venv/bin/python3 train.py"},
      {"python3.11 -m torch.distributed.run --nproc_per_node 2 train.py",
       "ms-worker --standalone --local_worker_num 2 -- python3.11 train.py"},
      {"python -m torch.distributed.launch --use_env --nproc_per_node 2 train.py",
       "ms-worker --standalone --local_worker_num 2 -- python train.py"},
      {"mpirun -np 4 ./a.out x", "ms-worker --standalone --local_worker_num 4 -- ./a.out x"},
      {"mpirun --allow-run-as-root --oversubscribe -n 4 --bind-to none -x A=1 --mca btl tcp,self python train.py",
       "ms-worker --standalone --local_worker_num 4 --env A=1 --env OMPI_MCA_btl=tcp,self -- python train.py"},
      {"mpiexec -genv A 1 -ppn 2 -n 2 ./a.out", "ms-worker --standalone --local_worker_num 2 --env A=1 -- ./a.out"},
      {"mpirun -np 8 --map-by ppr:8:node --bind-to core ./a.out",
       "ms-worker --standalone --local_worker_num 8 --bind_core auto -- ./a.out"},
      {"horovodrun -np 4 --gloo --start-timeout 60 python train.py",
       "ms-worker --standalone --local_worker_num 4 --horovod gloo --topo_timeout 60 -- python train.py"},
      {"msrun --worker_num 8 --local_worker_num 8 --log_dir logs --join True net.py",
       "ms-worker --standalone --local_worker_num 8 --log_dir logs -- python3 net.py"},
      {"msrun --worker_num=16 --local_worker_num=8 --master_addr=node1 --master_port=8200 --node_rank=0 "
       "--cluster_time_out=300 net.py",
       "ms-worker --with_scheduler --sched_host node1 --sched_port 8200 --worker_num 16 --local_worker_num 8 "
       "--node_rank 0 --topo_timeout 300 -- python3 net.py"},
      {"msrun net.py", "ms-worker --standalone --local_worker_num 8 -- python3 net.py"},
  };
  for (const auto& c : cases) {
    const Converted converted = Of(c.old);
    EXPECT_EQ(converted.line, c.line) << c.old << ": " << converted.error;
    EXPECT_THAT(converted.notes, IsEmpty()) << c.old;
  }
}

TEST(Convert, SaysWhatHasNoCounterpartOrIsToBeKnown) {
  const Converted elastic = Of("torchrun --nnodes 1:4 --nproc_per_node 2 --rdzv_endpoint a:1 train.py");
  EXPECT_EQ(elastic.line, "ms-worker --standalone --local_worker_num 2 -- python3 train.py");
  EXPECT_THAT(elastic.notes, ElementsAre(HasSubstr("the size of a job is fixed, here at 1 nodes")));

  const Converted launch = Of("python3 -m torch.distributed.launch --nproc_per_node 2 train.py --epochs 3");
  EXPECT_EQ(launch.line,
            "ms-worker --standalone --local_worker_num 2 -- python3 train.py --local_rank={local_rank} --epochs 3");
  EXPECT_THAT(launch.notes, ElementsAre(HasSubstr("leave it out for a script that reads LOCAL_RANK")));

  const Converted hosts = Of("horovodrun -np 8 -H a:4,b:4 python train.py");
  EXPECT_EQ(hosts.line,
            "ms-worker --with_scheduler --sched_host a --worker_num 8 --local_worker_num 4 -- python train.py");
  EXPECT_THAT(hosts.notes, ElementsAre(HasSubstr("start the line on each of these hosts")));

  const Converted files = Of("mpirun -np 8 --hostfile h -N 4 -x PATH ./a.out");
  EXPECT_EQ(files.line, "ms-worker --with_scheduler --sched_host HOST --worker_num 8 --local_worker_num 4 -- ./a.out");
  EXPECT_THAT(files.notes, ElementsAre(HasSubstr("--hostfile has no counterpart"), HasSubstr("-x PATH is not needed"),
                                       HasSubstr("in the place of HOST")));

  EXPECT_THAT(Of("mpirun -np 5 -N 2 ./a.out").notes,
              testing::Contains(HasSubstr("5 processes are not 3 nodes times 2")));
  EXPECT_THAT(Of("msrun --worker_log_name w net.py").notes, ElementsAre(HasSubstr("worker_RANK.log")));
  EXPECT_EQ(Of("torchrun --nnodes 2 --nproc_per_node auto --master_addr a train.py").line,
            "ms-worker --with_scheduler --sched_host a --worker_num N --local_worker_num auto -- python3 train.py");
}

TEST(Convert, WhatItCannotConvertIsAnError) {
  const struct {
    std::string old, error;
  } cases[] = {
      {"python3 train.py", "is no launcher that is known here"},
      {"A=1", "there is no launcher in the line"},
      {"torchrun --nproc_per_node 2", "no command"},
      {"torchrun --nproc_per_node", "needs a value"},
      {"torchrun --nproc_per_node many train.py", "--nproc_per_node is many"},
      {"torchrun --nproc_per_node cpu train.py", "cpu has no counterpart"},
      {"torchrun --teleport train.py", "--teleport is no option of torchrun"},
      {"mpirun -np 2 ./a : -np 2 ./b", "several programs at once"},
      {"mpirun ./a.out", "no number of processes"},
      {"horovodrun -np 6 -H a:4,b:2 python t.py", "unequal numbers"},
  };
  for (const auto& c : cases) {
    const Converted converted = Of(c.old);
    EXPECT_EQ(converted.line, "") << c.old;
    EXPECT_THAT(converted.error, HasSubstr(c.error)) << c.old;
  }
}

TEST(Convert, QuotesForTheShell) {
  EXPECT_EQ(Convert({"mpirun", "-np", "2", "sh", "-c", "echo \"it's $RANK\""}).line,
            "ms-worker --standalone --local_worker_num 2 -- sh -c 'echo \"it'\\''s $RANK\"'");
  EXPECT_EQ(Convert({"A=b c", "mpirun", "-np", "2", "x", ""}).line,
            "A='b c' ms-worker --standalone --local_worker_num 2 -- x ''");
}

}  // namespace
}  // namespace muster::ctl
