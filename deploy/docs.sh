#!/usr/bin/env bash
# Builds the documents as a site with a search: build-docs/site/index.html. A link that leads nowhere, and a page that has
# no place in the navigation (deploy/docs/mkdocs.yml), is an error.
#
#   deploy/docs.sh            builds it
#   deploy/docs.sh --serve    builds it, and serves it on 127.0.0.1:8000
#
# Installs MkDocs with its theme Material from PyPI into a virtual environment in the cache folder. Ends with 77 where they
# can't be installed (no network).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
serves=0
case ${1:-} in
  '') ;;
  --serve) serves=1 ;;
  *) echo "docs.sh: unknown option '$1'; known: --serve" >&2; exit 2 ;;
esac

theme=mkdocs-material==9.8.2 mkdocs=mkdocs==1.6.1
venv=${XDG_CACHE_HOME:-$HOME/.cache}/muster-docs/$theme
if ! "$venv/bin/python" -c 'import material' 2>/dev/null; then
  bash deploy/install-deps.sh --docs || exit 77
  rm -rf "$venv"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! { mkdir -p "$venv" && python3 -m venv "$venv" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$theme" "$mkdocs"; } >"$log" 2>&1; then
    tail -n 10 "$log" >&2
    echo "docs.sh: $theme could not be installed into $venv (above is what pip said)." >&2
    rm -rf "$venv"
    exit 77
  fi
fi

# MkDocs takes one folder: the tree's documents, and the files that they link to, at the same places.
pages=build-docs/pages
rm -rf build-docs
mapfile -t documents < <(git ls-files --cached --others --exclude-standard -- '*.md' 'docs/*')
mapfile -t linked < <(
  for document in "${documents[@]}"; do
    [[ $document == *.md ]] || continue
    { grep -oE '\]\([^)#:]+' "$document" || true; } | cut -c 3- |
      while IFS= read -r link; do realpath -m --relative-to=. "$(dirname "$document")/$link"; done
  done | sort -u
)
for file in "${documents[@]}" "${linked[@]}"; do
  [[ ! -f $file ]] || install -D -m 644 "$file" "$pages/$file"
done
# (With --quiet it would not count warnings.)
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --config-file deploy/docs/mkdocs.yml 2>&1 | { grep -v '^INFO' || true; }
echo "built: build-docs/site/index.html"
if ((serves)); then exec "$venv/bin/python" -m http.server --bind 127.0.0.1 --directory build-docs/site 8000; fi
