#!/usr/bin/env bash
# Makes a virtual environment for the end-to-end tests, and prints the path of its python. `venv.sh torch`: the PyTorch
# that they use in addition to Debian's. `venv.sh mindspore`: the real MindSpore (its CPU build; 2.10.0 has wheels for
# Python 3.10 to 3.12). `venv.sh tensorflow`: TensorFlow's CPU build. `venv.sh jax [VERSION]`: JAX. `venv.sh
# schemathesis`: the tool that tests the API. Does nothing if the environment exists. Fails with the reason if it can't
# be made (no network, no wheel).
set -euo pipefail
beside=(numpy scikit-learn)  # packages that the tests' programs use
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster-tests
case ${1:-} in
  torch) package=torch version=2.13.0 folder=${MUSTER_TEST_VENV:-$cache/venv} ;;
  mindspore) package=mindspore version=2.10.0 folder=${MUSTER_TEST_MINDSPORE_VENV:-$cache/venv-mindspore} ;;
  tensorflow) package=tensorflow wheel=tensorflow-cpu version=2.19.0 folder=${MUSTER_TEST_TENSORFLOW_VENV:-$cache/venv-tensorflow} ;;
  jax) package=jax version=${2:-0.10.2} folder=${MUSTER_TEST_JAX_VENV:-$cache/venv-jax}${2:+-$2} ;;
  schemathesis) package=schemathesis version=4.32.5 folder=${MUSTER_TEST_SCHEMATHESIS_VENV:-$cache/venv-schemathesis}; beside=() ;;
  *) echo "venv.sh: say torch, mindspore, tensorflow, jax or schemathesis" >&2; exit 2 ;;
esac

is_ready() {
  "$folder/bin/python" - "${beside[@]/scikit-learn/sklearn}" 2>/dev/null <<EOF
import importlib, sys
from importlib.metadata import version
for name in sys.argv[1:] + ["$package"]: importlib.import_module(name)
assert version("${wheel:-$package}").split("+")[0] == "$version"
EOF
}

if ! is_ready; then
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! { python3 -m venv "$folder" &&
    "$folder/bin/pip" install --quiet --disable-pip-version-check "${wheel:-$package}==$version" "${beside[@]}"; } \
    >"$log" 2>&1 || ! is_ready; then
    tail -n 10 "$log" >&2
    echo "venv.sh: $package $version could not be installed into $folder (above is what pip said)." >&2
    rm -rf "$folder"
    exit 1
  fi
fi
# kubernetes-validate checks the manifests of Kubernetes, and py-spy shows stacks. Tests that need them are skipped
# without them.
if [[ $1 == torch ]] && ! { "$folder/bin/python" -c 'import kubernetes_validate' && [[ -x $folder/bin/py-spy ]]; } 2>/dev/null; then
  "$folder/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0 py-spy==0.4.1 >/dev/null 2>&1 || true
fi
echo "$folder/bin/python"
