#!/bin/bash
# A training process for the measurements: it notes when it began and then only waits. BENCH_NOTES names the file.
echo "$EPOCHREALTIME $$ ${RANK:--}" >>"$BENCH_NOTES"
exec sleep 100000
