# Runs a program for as long as another process lives, and removes its folder after it. A test that is killed cannot
# clean up after itself, so this does.
#
# usage: sh -c "$(this)" supervise FOLDER HOLDER PROGRAM [ARGUMENT...]
#
# HOLDER is the process that the program must not outlive; `-` is the process that has the other end of standard input.
# To stop the program before HOLDER ends, create the file FOLDER/stop.
# The working directory is FOLDER. The program's output goes to FOLDER/log; when it ends by itself, its exit code is
# written to FOLDER/exit.
folder=$1 holder=$2
shift 2
cd "$folder" || exit 1
# Programs in the background get an empty standard input: keep the one that tells of the holder.
exec 3<&0
# Where Linux can, the program does not outlive this shell either, if it is killed.
if setpriv --pdeathsig KILL true 2>/dev/null; then
  set -- setpriv --pdeathsig KILL "$@"
fi
"$@" 3<&- </dev/null >log 2>&1 &
program=$!
{
  if [ "$holder" = - ]; then
    read -r _ <&3
  else
    while kill -0 "$holder" && [ ! -e stop ]; do sleep 0.1; done
  fi
  # Once `exit` is there, the number may be another process's.
  [ -e exit ] || kill -KILL "$program"
} 2>/dev/null &
watcher=$!
trap 'kill -KILL "$program"; kill -KILL "$watcher"' HUP INT TERM
wait "$program"
code=$?
echo "$code" >exit.part && mv exit.part exit
wait "$watcher"
cd /
rm -rf "$folder"
rmdir "${folder%/*}" 2>/dev/null
exit 0
