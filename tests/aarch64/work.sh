# One rank's process: number 3 dies in the first round; in the second, all wait for /tmp/go.
if [ "$MS_RESTART_COUNT" = 0 ]; then
  [ "$RANK" = 3 ] && kill -9 $$
  sleep 600
fi
echo "rank $RANK is in its second round, of $WORLD_SIZE on $(uname -m)"
while [ ! -e /tmp/go ]; do sleep 1; done
echo "rank $RANK ends well"
