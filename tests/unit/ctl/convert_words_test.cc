#include "absl/strings/str_replace.h"
#include "tests/unit/ctl/convert_fixture.h"

namespace muster::ctl {
namespace {

using testing::HasSubstr;

// Words in quotes or in a script stay as they are typed; "…" stands for ms-worker --standalone --local_worker_num.
TEST_F(ConvertFiles, WordsStayAsTheyAreTyped) {
  const struct {
    std::string old, line;
  } cases[] = {
      {"torchrun --log_dir $(dirname \"$0\")/logs t.py", "… 1 --log_dir $(dirname \"$0\")/logs -- python3 t.py"},
      {"torchrun --log_dir \"$(dirname \"$0\")/l\" t.py", "… 1 --log_dir \"$(dirname \"$0\")/l\" -- python3 t.py"},
      {"torchrun --log_dir=logs/`date +%F` t.py", "… 1 --log_dir logs/`date +%F` -- python3 t.py"},
      {"torchrun \"--log_dir=$D/l\" t.py", "… 1 --log_dir \"$D/l\" -- python3 t.py"},
      {"torchrun '--log_dir=a b' t.py", "… 1 --log_dir 'a b' -- python3 t.py"},
      {"torchrun --log_d'ir=a 'b t.py", "… 1 --log_dir 'a b' -- python3 t.py"},
      {"torchrun --log_dir '$X' t.py", "… 1 --log_dir '$X' -- python3 t.py"},
      {"torchrun --log_dir ~/l t.py --data ~/d/*.bin", "… 1 --log_dir ~/l -- python3 t.py --data ~/d/*.bin"},
      {"A='$B' torchrun t.py", "A='$B' … 1 -- python3 t.py"},
      {"DATA=~/d B= torchrun t.py", "DATA=~/d B= … 1 -- python3 t.py"},
      {"PET_LOG_DIR=\"$D/x\" torchrun t.py", "… 1 --log_dir \"$D/x\" -- python3 t.py"},
      {"torchrun --nproc_per_node `nproc` t.py", "… \"`nproc`\" -- python3 t.py"},
      {"torchrun --nproc_per_node \"${A:-x}\" t.py", "… \"${A:-x}\" -- python3 t.py"},
      {"mpirun -np 4 -x A=\"$B c\" --mca btl \"$X\" ./a \"$@\"",
       "… 4 --env A=\"$B c\" --env OMPI_MCA_btl=\"$X\" -- ./a \"$@\""},
      {"LR=1; torchrun t.py $LR \"x $LR\"", "LR=1; … 1 -- python3 t.py $LR \"x $LR\""},
      {"S='t.py --lr 1'; torchrun $S --x", "S='t.py --lr 1'; … 1 -- python3 $S --x"},
      {"E=; torchrun t.py $E --x", "E=; … 1 -- python3 t.py $E --x"},
      {"L='env A=1 torchrun --nproc 8 t.py'; $L $y",
       "L='env A=1 torchrun --nproc 8 t.py'; env A=1 … 8 -- python3 t.py $y"},
      {"torchrun --nproc_per_node \\\n  2\\\n  t.py \\\n  --x", "… 2 -- python3 t.py --x"},
      {"$VENV/bin/torchrun t.py", "… 1 -- $VENV/bin/python3 t.py"},
      {"\"$VENV/bin/torchrun\" t.py", "… 1 -- \"$VENV/bin/python3\" t.py"},
      {"~/torchrun/bin/torchrun -m t", "… 1 -- ~/torchrun/bin/python3 -m t"},
      {"$VENV/bin/python -m torch.distributed.run t.py", "… 1 -- $VENV/bin/python t.py"},
      {"$PYTHON -m torch.distributed.run t.py", "… 1 -- $PYTHON t.py"},
      {"torchrun 2>&1 --nproc 2 t.py > >(tee l) --x", "… 2 -- python3 t.py --x 2>&1 > >(tee l)"},
      {"A=1 eval \"torchrun t.py \\\"$X\\\"\"", "A=1 … 1 -- python3 t.py \"$X\""},
      {"L='torchrun t.py'\neval $L", "L='torchrun t.py'\n… 1 -- python3 t.py"},
      {"python -m torch.distributed.run $SCRIPT --x", "… 1 -- python $SCRIPT --x"},
      {"env -S \"A=1 torchrun --nproc_per_node 2\" t.py", "env A=1 … 2 -- python3 t.py"},
      {"A=(t.py --lr 1  # don't (\n)\ntorchrun \"${A[@]}\" --x",
       "A=(t.py --lr 1  # don't (\n)\n… 1 -- python3 \"${A[@]}\" --x"},
      {"A=(--nproc_per_node 3); A+=(--log_dir \"$D\")\ntorchrun \"${A[@]}\" t.py",
       "A=(--nproc_per_node 3); A+=(--log_dir \"$D\")\n… 3 --log_dir \"$D\" -- python3 t.py"},
  };
  for (const auto& c : cases) {
    const std::string line = absl::StrReplaceAll(c.line, {{"…", "ms-worker --standalone --local_worker_num"}});
    const Converted in_quotes = Of(std::vector<std::string>{c.old});
    EXPECT_EQ(in_quotes.line, line) << c.old << in_quotes.error;
    const Converted in_script = Of({"bash", Write("typed.sh", c.old), "argument"});
    ASSERT_FALSE(in_script.line.empty()) << c.old << in_script.error;
    EXPECT_EQ(in_script.line, line.substr(line.size() - in_script.line.size())) << c.old;
  }
  // A shell has already removed the quotes.
  EXPECT_EQ(Of({"$VENV/bin/torchrun", "--node_rank", "$R", "--log_dir", "$(x \"y\")", "t.py", "$x"}).line,
            "ms-worker --standalone --local_worker_num 1 --node_rank \"$R\" --log_dir \"$(x \"y\")\" -- "
            "\"$VENV/bin/python3\" t.py '$x'");
  for (const std::string host : {"${A:-b}", "`hostname -f`", "$(hostname | cut -d: -f1)"}) {
    EXPECT_THAT(Of(std::vector<std::string>{"torchrun --nnodes 2 --rdzv_endpoint " + host + ":${P:-1} t.py"}).line,
                HasSubstr("--sched_host \"" + host + "\" --worker_num 2 "));
  }
  EXPECT_THAT(Of(std::vector<std::string>{"torchrun --nnodes $A:${B:-2} --rdzv_endpoint h t.py"}).line,
              HasSubstr("--worker_num \"${B:-2}\""));
}

TEST(Convert, TheTextOfAShellKeepsWhatItsQuotesMean) {
  const auto of = [](const std::string& text) {
    const Converted converted = Of(std::vector<std::string>{text});
    return converted.line + converted.error;
  };
  EXPECT_EQ(of("bash -c 'N=2; torchrun --nproc $N t.py'"),
            "bash -c 'N=2; ms-worker --standalone --local_worker_num 2 -- python3 t.py'");
  EXPECT_EQ(of("bash -c \"N=2; torchrun --nproc \\$N t.py \\$(x \\\"y\\\")\""),
            "bash -c 'N=2; ms-worker --standalone --local_worker_num 2 -- python3 t.py $(x \"y\")'");
  EXPECT_EQ(of("bash -c \"N=2; torchrun --nproc $N t.py '$X' \\\"a b\\\"\""),
            "bash -c \"N=2; ms-worker --standalone --local_worker_num \\\"$N\\\" -- python3 t.py '$X' \\\"a b\\\"\"");
  EXPECT_THAT(of("bash -c \"torchrun --nproc $N t.py \\$X\""), HasSubstr("has both $NAME and \\$NAME"));
  EXPECT_THAT(of("bash -c \"echo $N \\$X\"; torchrun t.py"), HasSubstr("; ms-worker --standalone"));
}

TEST(Convert, AVariableThatMayHoldSeveralThingsIsAnError) {
  for (const std::string words : {"${ARGS[@]}", "\"${@:1}\"", "\"$@\"", "$*", "$ARGS t.py", "`x` t.py"}) {
    EXPECT_THAT(Convert({"torchrun --nproc_per_node 8 " + words}).error, HasSubstr("may hold options of torchrun"));
  }
  for (const std::string hosts : {"$HOSTS", "${HOSTS:-a}", "$(cat hosts)"}) {
    EXPECT_THAT(Convert({"mpirun -np 8 -H " + hosts + " ./a"}).error, HasSubstr("may hold several hosts"));
  }
}

TEST(Convert, AValueThatIsNotCertainStaysAVariable) {
  for (const std::string before :
       {"N=8; if [ \"$DEBUG\" = 1 ]; then N=1; fi; ", "for ((N=0;N<2;N++)); do ", "N=0; for N in 0 1; do ",
        "N=0; read N; ", "N=0; unset N; ", "N=8; [[ $X ]] && N=1; ", "case $1 in a) N=1;; esac\n",
        "N=0; while read N; do ", "f() { N=1; }; f; ", "export N=${N:-8}; ", "N=8; f() { N=1; }; N=2; f; "}) {
    const std::string line = Of(std::vector<std::string>{before + "torchrun --nproc_per_node $N t.py"}).line;
    EXPECT_EQ(line, before + "ms-worker --standalone --local_worker_num \"$N\" -- python3 t.py");
  }
  EXPECT_EQ(Of(std::vector<std::string>{"if x; then N=8; torchrun --nproc_per_node $N t.py; fi"}).line,
            "if x; then N=8; ms-worker --standalone --local_worker_num 8 -- python3 t.py; fi");
  EXPECT_THAT(Convert({"A='--nproc_per_node 8'; if x; then A=''; fi; torchrun $A t.py"}).error,
              HasSubstr("$A may hold options of torchrun"));
}

TEST_F(ConvertFiles, AScriptThatCallsItselfHasAnEnd) {
  const std::string path = Write("itself.sh", "");
  std::string text;
  for (int i = 0; i < 20; ++i) text += "[ -n \"$X\" ] || X=1 bash " + path + "\n";
  Write("itself.sh", text);
  EXPECT_THAT(Of({"bash", path}).error, HasSubstr("no launcher"));
  EXPECT_THAT(Of({"bash", Write("last.sh", text + "torchrun --nproc_per_node 2 t.py\n")}).line,
              HasSubstr("--local_worker_num 2"));
}

TEST_F(ConvertFiles, OddWordsOfRealLines) {
  EXPECT_THAT(
      Of("mpiexec -genv I_MPI_DEBUG=5 -n 2 python train.py").line,
      AllOf(HasSubstr("--env I_MPI_DEBUG=5 "), HasSubstr("--local_worker_num 2"), HasSubstr("-- python train.py")));
  EXPECT_THAT(Of("mpiexec -genv I_MPI_DEBUG 5 -n 2 python train.py").line, HasSubstr("--env I_MPI_DEBUG=5 "));
  EXPECT_THAT(Of("torchrun --nproc_per_node 2 t.py opt={lr:1,wd:2}").line, HasSubstr("t.py 'opt={lr:1,wd:2}'"));
  EXPECT_EQ(WithoutPort("${NODES[@]:0:1}:29500"), "${NODES[@]:0:1}");
  EXPECT_EQ(WithoutPort("ann@node1:22"), "node1");
  const std::string line = Of(std::vector<std::string>{"2>&1 >log torchrun --nproc_per_node 2 t.py"}).line;
  EXPECT_THAT(line, HasSubstr("2>&1 >log"));
  EXPECT_EQ(line.find(">log"), line.rfind(">log")) << line;
}

TEST_F(ConvertFiles, ArgumentsOfTheScriptStayThem) {
  const auto line = [&](const std::string& text, const std::vector<std::string>& arguments) {
    std::vector<std::string> old = {"bash", Write("arguments.sh", text)};
    old.insert(old.end(), arguments.begin(), arguments.end());
    const Converted converted = Of(old);
    return converted.line + converted.error;
  };
  EXPECT_THAT(line("torchrun --nproc_per_node 8 t.py \"$@\"", {"--lr", "1"}), HasSubstr("-- python3 t.py \"$@\""));
  EXPECT_THAT(line("torchrun --nproc_per_node 8 t.py --x $*", {}), HasSubstr("-- python3 t.py --x $*"));
  EXPECT_THAT(line("torchrun --nproc_per_node 8 \"$@\"", {"t.py"}), HasSubstr("-- python3 \"$@\""));
  EXPECT_THAT(line("torchrun --nproc_per_node 8 \"$@\"", {"--nnodes", "1"}), HasSubstr("$@ may hold options"));
  EXPECT_THAT(line("torchrun --nproc_per_node 8 \"$@\"", {}), HasSubstr("$@ may hold options"));
  EXPECT_THAT(line("f() { torchrun \"$@\"; }", {"t.py"}), HasSubstr("$@ may hold options"));
  EXPECT_THAT(Of({"bash", "-c", "torchrun \"$@\"", "x", "t.py"}).line, HasSubstr("-- python3 \"$@\"' x t.py"));
}

}  // namespace
}  // namespace muster::ctl
