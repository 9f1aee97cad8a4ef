#include <sys/stat.h>

#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/unit/ctl/convert_fixture.h"

namespace muster::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
      {"msrun --worker_num 4 net.py", "ms-worker --standalone --local_worker_num 4 -- python3 net.py"},
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
  EXPECT_EQ(elastic.line,
            "ms-worker --with_scheduler --sched_host a --worker_num 8 --local_worker_num 2 -- python3 train.py");
  EXPECT_THAT(elastic.notes,
              ElementsAre(HasSubstr("the size of a job is fixed, so the larger number is taken: 4 nodes")));
  EXPECT_THAT(Of("torchrun --nnodes=1:3 train.py").line, HasSubstr("--worker_num 3 --local_worker_num 1"));
  EXPECT_THAT(Of("torchrun --nnodes=1:1 train.py").notes, IsEmpty());

  const Converted launch = Of("python3 -m torch.distributed.launch --nproc_per_node 2 train.py --epochs 3");
  EXPECT_EQ(launch.line,
            "ms-worker --standalone --local_worker_num 2 -- python3 train.py --local_rank={local_rank} --epochs 3");
  EXPECT_THAT(launch.notes, ElementsAre(HasSubstr("leave it out for a script that reads LOCAL_RANK")));

  const Converted hosts = Of("horovodrun -np 8 -H a:4,b:4 python train.py");
  EXPECT_EQ(hosts.line,
            "ms-worker --with_scheduler --sched_host a --worker_num 8 --local_worker_num 4 -- python train.py");
  EXPECT_THAT(hosts.notes, ElementsAre(HasSubstr("start the line on each of these hosts")));

  EXPECT_THAT(Of("mpirun -np 4 -x PATH ./a.out").notes, ElementsAre(HasSubstr("-x PATH is not needed")));
  EXPECT_THAT(Of("mpirun -np 5 -N 2 ./a.out").notes,
              testing::Contains(HasSubstr("5 processes are not 3 nodes times 2")));
  EXPECT_THAT(Of("msrun --worker_log_name w net.py").notes, ElementsAre(HasSubstr("worker_RANK.log")));
  const Converted join = Of("msrun --worker_num=8 --local_worker_num=8 --join=False net.py");
  EXPECT_EQ(join.line, "ms-worker --standalone --local_worker_num 8 -- python3 net.py");
  EXPECT_THAT(join.notes, ElementsAre(HasSubstr("--join False has no counterpart")));
  EXPECT_THAT(Of("torchrun --duplicate-stdout-filters a,b --duplicate_stderr_filters=c train.py").notes,
              ElementsAre(HasSubstr("--duplicate-stdout-filters has"), HasSubstr("--duplicate_stderr_filters has")));
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
      {"horovodrun -np 12 -H a:8,b:8 python t.py", "unequal numbers"},
      {"mpirun -np 4 -H a:x ./a.out", "must be a number of processes"},
      {"mpirun -np 4 -H , ./a.out", "no host is named"},
      {"mpirun -np 16 --hostfile /nowhere/hosts ./a.out", "write -H HOST1:SLOTS,HOST2:SLOTS in its place"},
      {"mpirun -np 16 --hostfile /dev/zero ./a.out", "can't be read here"},
      {"torchrun --nnodes 2 --nproc_per_node auto --master_addr a train.py", "the number of all processes"},
      {"msrun --worker_num 4 --local_worker_num 8 net.py", "8 processes of a node, and for 4 in all"},
      {"torchrun --nnodes= train.py", "--nnodes is empty"},
      {"torchrun --n 2 train.py", "--n is no option of torchrun"},
      {"torchrun --master a train.py", "--master is no option of torchrun"},
      {"mpirun --hostf hosts ./a.out", "--hostf is no option of mpirun"},
      {"torchrun $ARGS train.py", "$ARGS may hold options of torchrun"},
      {"srun -n 8 python train.py", "--ntasks-per-node=1 ms-worker --from slurm"},
      {"uv run python train.py", "is no launcher that is known here"},
      {"bash /nowhere/launch.sh", "is no launcher that is known here"},
  };
  for (const auto& c : cases) {
    const Converted converted = Of(c.old);
    EXPECT_EQ(converted.line, "") << c.old;
    EXPECT_THAT(converted.error, HasSubstr(c.error)) << c.old;
  }
}

TEST(Convert, WhatStandsBeforeTheLauncherStays) {
  const struct {
    std::string old, line;
  } cases[] = {
      {"python -u -m torch.distributed.run --nproc_per_node=2 train.py", "ms-worker --standalone … python train.py"},
      {"python3 -um torch.distributed.run --nproc_per_node 2 train.py", "ms-worker --standalone … python3 train.py"},
      {"python3 -u -W ignore -m torch.distributed.launch --use_env --nproc_per_node 2 train.py",
       "ms-worker --standalone … python3 train.py"},
      {"python /usr/bin/torchrun --nproc_per_node 2 train.py", "ms-worker --standalone … python train.py"},
      {"env A=1 B=x torchrun --nproc_per_node 2 train.py", "env A=1 B=x ms-worker --standalone … python3 train.py"},
      {"uv run --with torch torchrun --nproc_per_node 2 train.py",
       "uv run --with torch ms-worker --standalone … python3 train.py"},
      {"uv run -m torch.distributed.run --nproc_per_node 2 train.py",
       "uv run ms-worker --standalone … python train.py"},
      {"conda run -n e --no-capture-output python -m torch.distributed.run --nproc_per_node 2 train.py",
       "conda run -n e --no-capture-output ms-worker --standalone … python train.py"},
      {"nohup numactl -N 0 torchrun --nproc_per_node 2 train.py",
       "nohup numactl -N 0 ms-worker --standalone … python3 train.py"},
      {"srun --nodes=1 --ntasks-per-node=1 torchrun --nproc_per_node 2 train.py",
       "srun --nodes=1 --ntasks-per-node=1 ms-worker --standalone … python3 train.py"},
      {"torchrun --nproc 2 train.py", "ms-worker --standalone … python3 train.py"},
      {"PET_NPROC_PER_NODE=2 A=1 torchrun train.py", "A=1 ms-worker --standalone … python3 train.py"},
  };
  for (const auto& c : cases) {
    const std::string line = absl::StrReplaceAll(c.line, {{"…", "--local_worker_num 2 --"}});
    const Converted converted = Of(c.old);
    EXPECT_EQ(converted.line, line) << c.old << ": " << converted.error;
    EXPECT_THAT(converted.notes, IsEmpty()) << c.old;
  }
  EXPECT_THAT(Of("srun torchrun --nproc_per_node 2 train.py").notes, ElementsAre(HasSubstr("--ntasks-per-node=1")));
}

TEST(Convert, ALineInQuotesAndTheTextOfAShell) {
  const struct {
    std::vector<std::string> old;
    std::string line;
  } cases[] = {
      {{"torchrun --nproc_per_node 2 train.py 'a b'"},
       "ms-worker --standalone --local_worker_num 2 -- python3 train.py 'a b'"},
      {{"cd x && A=$B torchrun --nproc_per_node 2 train.py > log 2>&1 &  # now"},
       "cd x && A=$B ms-worker --standalone --local_worker_num 2 -- python3 train.py > log 2>&1 &  # now"},
      {{"N=4; torchrun --nproc_per_node $N train.py $N"},
       "N=4; ms-worker --standalone --local_worker_num 4 -- python3 train.py $N"},
      {{"torchrun --nnodes=$NNODES --nproc_per_node=${NGPU:-8} --node_rank $RANK --rdzv_endpoint=$HEAD:29500 train.py"},
       "ms-worker --with_scheduler --sched_host \"$HEAD\" --worker_num \"$(($NNODES * ${NGPU:-8}))\" "
       "--local_worker_num \"${NGPU:-8}\" --node_rank $RANK -- python3 train.py"},
      {{"bash", "-c", "torchrun --nproc_per_node 2 'a b.py'; true"},
       "bash -c 'ms-worker --standalone --local_worker_num 2 -- python3 '\\''a b.py'\\''; true'"},
  };
  for (const auto& c : cases) EXPECT_EQ(Of(c.old).line, c.line) << c.old[0];
  EXPECT_THAT(Convert({"echo torchrun train.py"}).error, HasSubstr("echo is no launcher"));
  EXPECT_THAT(Convert({"true; torchrun --warp train.py"}).error, HasSubstr("--warp is no option"));
}

TEST_F(ConvertFiles, HostsAndTheirSlots) {
  const std::string open_mpi = Write("open_mpi", "# all\nnode1 slots=8 max_slots=8\n\nnode2 slots = 8\n");
  const std::string hydra = Write("hydra", "node1:8 # first\nnode2:8\n");
  const std::string bare = Write("bare", "me@node1\nnode2\n");
  const std::string local = Write("local", "localhost slots=8\nnode2 slots=8\n");
  const std::string twice = Write("twice", "node1\nnode1\nnode2\nnode2\n");
  const std::string one = Write("one", "node1 slots=8\n");
  const std::string both = "--with_scheduler --sched_host node1 --worker_num 16 --local_worker_num 8 -- ";
  const struct {
    std::string old, line;
  } cases[] = {
      {"mpirun -np 16 --hostfile " + open_mpi + " x", both},
      {"mpirun --machinefile=" + open_mpi + " x", both},
      {"horovodrun -np 16 --hostfile " + open_mpi + " x", both},
      {"mpiexec -n 16 -f " + hydra + " x", both},
      {"mpirun -np 16 --hostfile " + bare + " x", both},
      {"mpirun -np 32 --oversubscribe --hostfile " + open_mpi + " x",
       "--with_scheduler --sched_host node1 --worker_num 32 --local_worker_num 16 -- "},
      {"mpirun -np 8 --map-by node --hostfile " + open_mpi + " x",
       "--with_scheduler --sched_host node1 --worker_num 8 --local_worker_num 4 -- "},
      {"mpirun -np 8 --hostfile " + open_mpi + " x",
       "--with_scheduler --sched_host node1 --worker_num 8 --local_worker_num 8 -- "},
      {"mpirun -N 4 --hostfile " + open_mpi + " x",
       "--with_scheduler --sched_host node1 --worker_num 8 --local_worker_num 4 -- "},
      {"mpirun -np 16 --hostfile " + local + " x",
       "--with_scheduler --sched_host HOST --worker_num 16 --local_worker_num 8 -- "},
      {"mpirun --hostfile " + twice + " x",
       "--with_scheduler --sched_host node1 --worker_num 4 --local_worker_num 2 -- "},
      {"mpirun --hostfile " + one + " x", "--standalone --local_worker_num 8 -- "},
      {"mpirun -H a,b x", "--with_scheduler --sched_host a --worker_num 2 --local_worker_num 1 -- "},
      {"mpiexec -hosts a,b -n 4 x", "--with_scheduler --sched_host a --worker_num 4 --local_worker_num 2 -- "},
      {"mpirun -H [fd00::1]:4,[fd00::2]:4 x",
       "--with_scheduler --sched_host fd00::1 --worker_num 8 --local_worker_num 4 -- "},
      {"mpirun -H localhost:4 x", "--standalone --local_worker_num 4 -- "},
  };
  for (const auto& c : cases) EXPECT_EQ(Of(c.old).line, "ms-worker " + c.line + "x") << c.old;
  EXPECT_THAT(Of("mpirun -np 8 --hostfile " + open_mpi + " x").notes,
              ElementsAre(HasSubstr("all processes have room on node1: start the line there only")));
  EXPECT_THAT(Convert({"mpirun", "--hostfile", Write("empty", "# none\n"), "x"}).error, HasSubstr("no host is named"));
  const std::string pipe = testing::TempDir() + "/convert_pipe";
  ::unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Convert({"mpirun", "--hostfile", pipe, "x"}).error, HasSubstr("can't be read here"));
}

TEST(Convert, WhatIsRefusedOrIsEachMachineItselfIsLeftOut) {
  const struct {
    std::string old, line, note;
  } cases[] = {
      {"torchrun -r 1 -t 1 --log_dir l --nproc_per_node 2 t.py",
       "--standalone --local_worker_num 2 --log_dir l --redirects 3 --tee 3 -- python3 t.py",
       "redirects 1 is taken for 3"},
      {"torchrun -r 0:1,1:2 t.py", "--standalone --local_worker_num 1 -- python3 t.py", "0:1,1:2 is taken for 3"},
      {"torchrun --redirects 3 t.py", "--standalone --local_worker_num 1 -- python3 t.py", "add --log_dir FOLDER"},
      {"torchrun --shutdown-timeout 60 --rdzv_id a/b t.py",
       "--standalone --local_worker_num 1 --stop_timeout 60 -- python3 t.py", "--rdzv_id a/b is left out: --job_id"},
      {"torchrun --nnodes 2 --rdzv_endpoint localhost:29400 t.py",
       "--with_scheduler --sched_host HOST --worker_num 2 --local_worker_num 1 -- python3 t.py",
       "in the place of HOST"},
      {"torchrun --nnodes 2 --master_addr 127.0.0.1 t.py",
       "--with_scheduler --sched_host HOST --worker_num 2 --local_worker_num 1 -- python3 t.py",
       "in the place of HOST"},
      {"torchrun --nnodes 2 --rdzv_endpoint [::1]:29400 t.py",
       "--with_scheduler --sched_host HOST --worker_num 2 --local_worker_num 1 -- python3 t.py",
       "in the place of HOST"},
      {"mpirun -np 2 -H localhost:1,b:1 t",
       "--with_scheduler --sched_host HOST --worker_num 2 --local_worker_num 1 -- t", "in the place of HOST"},
      {"msrun --worker_num 16 --master_port 80 --master_addr n1 t.py",
       "--with_scheduler --sched_host n1 --worker_num 16 --local_worker_num 8 -- python3 t.py",
       "the port 80 is left out"},
      {"mpirun -np 2 -x MUSTER_START=1 t", "--standalone --local_worker_num 2 -- t", "-x MUSTER_START=1 is left out"},
  };
  for (const auto& c : cases) {
    const Converted converted = Of(c.old);
    EXPECT_EQ(converted.line, "ms-worker " + c.line) << c.old << converted.error;
    EXPECT_THAT(converted.notes, testing::Contains(HasSubstr(c.note))) << c.old;
  }
  EXPECT_EQ(Of("torchrun --nnodes 2 --rdzv_endpoint [fd00::1]:29400 t.py").line,
            "ms-worker --with_scheduler --sched_host fd00::1 --worker_num 2 --local_worker_num 1 -- python3 t.py");
  EXPECT_THAT(
      Of("mpirun -np 2 -mca plm_rsh_args x -mca oob_tcp_if_include eth0 -mca pml ob1 t").line,
      testing::AllOf(HasSubstr("OMPI_MCA_pml=ob1"), testing::Not(HasSubstr("plm")), testing::Not(HasSubstr("oob"))));
}

// Lines from public documents about multi-node training.
TEST_F(ConvertFiles, LinesOfDocuments) {
  const struct {
    std::vector<std::string> old;
    std::string line;
  } cases[] = {
      {{"horovodrun", "--mpi-args", "-mca btl_tcp_if_exclude docker0 -mca plm_rsh_args '-p 1'", "-p", "12345", "--mpi",
        "-H", "10.0.0.1:8,10.0.0.2:8", "python", "main.py"},
       "ms-worker --with_scheduler --sched_host 10.0.0.1 --worker_num 16 --local_worker_num 8 --env "
       "OMPI_MCA_btl_tcp_if_exclude=docker0 --horovod mpi -- python main.py"},
      {{"horovodrun --mpi-args \"${mpi_args}\" --mpi -H localhost:${local_rank_size} python main.py"},
       "ms-worker --standalone --local_worker_num \"${local_rank_size}\" --horovod mpi -- python main.py"},
      {{"horovodrun --mpi-args \"${mpi_args}\" -p 12345 --mpi -H {host_1_ip}:8,{host_2_ip}:8 python main.py"},
       "ms-worker --with_scheduler --sched_host HOST --worker_num 16 --local_worker_num 8 --horovod mpi -- "
       "python "
       "main.py"},
      {{"python -m torch.distributed.launch --nproc_per_node 8 main.py"},
       "ms-worker --standalone --local_worker_num 8 -- python main.py --local_rank={local_rank}"},
      {{"python3.7 -m torch.distributed.launch --nnodes=2 --node_rank=1 --nproc_per_node 8 --master_addr 10.0.0.1 "
        "--master_port 29501 main.py --addr 10.0.0.1"},
       "ms-worker --with_scheduler --sched_host 10.0.0.1 --worker_num 16 --local_worker_num 8 --node_rank 1 -- "
       "python3.7 "
       "main.py --local_rank={local_rank} --addr 10.0.0.1"},
      {{"python3 -m torch.distributed.launch --nnodes=${nnodes}  --node_rank=i --nproc_per_node 8 --master_addr "
        "10.0.0.1 "
        "main.py"},
       "ms-worker --with_scheduler --sched_host 10.0.0.1 --worker_num \"$((${nnodes} * 8))\" --local_worker_num 8 -- "
       "python3 main.py --local_rank={local_rank}"},
      {{"mpirun -H 10.0.0.1:1,10.0.0.2:1 \\\n  --bind-to none -map-by slot \\\n  --mca btl_tcp_if_exclude "
        "lo,docker0\\\n "
        "  --allow-run-as-root \\\n  --prefix /usr/local/mpi/ \\\n  ./train.sh"},
       "ms-worker --with_scheduler --sched_host 10.0.0.1 --worker_num 2 --local_worker_num 1 --env "
       "OMPI_MCA_btl_tcp_if_exclude=lo,docker0 -- ./train.sh"},
      {{"bash", Write("args.sh",
                      "ADDR=node1\nN=2\nG=8\nARGS=\"--nproc_per_node $G \\\n --nnodes $N --node_rank $R \\\n "
                      "--master_addr $ADDR --master_port 6004 \"\ntorchrun $ARGS train.py \\\n  --lr 1\n")},
       "ms-worker --with_scheduler --sched_host node1 --worker_num 16 --local_worker_num 8 --node_rank \"$R\" -- "
       "python3 "
       "train.py --lr 1"},
      {{"bash", Write("cluster.sh",
                      "for((i=0;i<8;i++));\ndo\nexport MS_WORKER_NUM=8  # all\nexport MS_ROLE=MS_WORKER\n"
                      "python ./net.py > device/worker_$i.log 2>&1 &\ndone\nexport MS_ROLE=MS_SCHED\n"
                      "python ./net.py > device/scheduler.log 2>&1 &\n")},
       "ms-worker -- python ./net.py\nms-worker -- python ./net.py"},
      {{"MS_WORKER_NUM=8", "MS_SCHED_HOST=127.0.0.1", "MS_ROLE=MS_WORKER", "python", "./net.py"},
       "MS_WORKER_NUM=8 MS_SCHED_HOST=127.0.0.1 MS_ROLE=MS_WORKER ms-worker -- python ./net.py"},
  };
  for (const auto& c : cases) {
    const Converted converted = Of(c.old);
    EXPECT_EQ(converted.line, c.line) << c.old[0] << converted.error;
  }
  EXPECT_THAT(Of(cases[7].old).notes, ElementsAre(HasSubstr("this is for line 7 of")));
}

TEST(Convert, ManyHostsTakeTimeInProportion) {
  const auto seconds = [](uint32_t hosts) {
    std::string list;
    for (uint32_t i = 0; i < hosts; ++i) absl::StrAppend(&list, "a", i, ",");
    const std::clock_t begin = std::clock();
    EXPECT_EQ(ParseHosts(list)->size(), hosts);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double small = seconds(4096);
  EXPECT_LT(seconds(65536), 80 * small + 0.005);
}

TEST(Convert, SizesThatNoJobHas) {
  for (const std::string nodes : {"65536", "100000", "1000000"}) {
    const Converted converted = Of("torchrun --master_addr h --nnodes " + nodes + " --nproc_per_node 65536 t.py");
    EXPECT_THAT(converted.error, HasSubstr("more than 1000000 processes")) << nodes;
    EXPECT_THAT(converted.notes, IsEmpty()) << nodes;
  }
  EXPECT_THAT(Of("torchrun --master_addr h --nnodes 1000 --nproc_per_node 1000 t.py").line,
              HasSubstr("--worker_num 1000000 "));
  std::string twice = "mpirun -H ";
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&twice, "a:1000000,");
  EXPECT_THAT(Of(twice + " t").error, HasSubstr("a job has at most 1000000"));
}

TEST(Convert, QuotesForTheShell) {
  EXPECT_EQ(Convert({"mpirun", "-np", "2", "sh", "-c", "echo \"it's $RANK\""}).line,
            "ms-worker --standalone --local_worker_num 2 -- sh -c 'echo \"it'\\''s $RANK\"'");
  EXPECT_EQ(Convert({"A=b c", "mpirun", "-np", "2", "x", ""}).line,
            "A='b c' ms-worker --standalone --local_worker_num 2 -- x ''");
}

}  // namespace
}  // namespace muster::ctl
