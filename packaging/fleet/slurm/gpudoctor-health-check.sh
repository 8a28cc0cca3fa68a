#!/bin/sh
# HealthCheckProgram of slurmd: leaves the row of this node in a folder that all nodes share; gpudoctor fleet add FOLDER takes the rows.
#
#   slurm.conf:  HealthCheckProgram=/usr/local/sbin/gpudoctor-health-check.sh
#                HealthCheckInterval=3600
#                HealthCheckNodeState=IDLE,CYCLE
#
# /etc/gpudoctor/fleet.conf may set:
#   ROWS=/shared/gpudoctor/rows    the folder; without it /var/lib/gpudoctor/rows
#   GPUDOCTOR=/opt/gpudoctor.pyz   how gpudoctor is called; without it gpudoctor
#   DRAIN=yes                      a node with an error takes no further job; a node on which a job runs is left alone
# slurmd ends this program after 60 seconds, so gpudoctor has 40. At its start slurmd waits for it.
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
ROWS=/var/lib/gpudoctor/rows
GPUDOCTOR=gpudoctor
DRAIN=no
if [ -r /etc/gpudoctor/fleet.conf ]; then
  # shellcheck source=/dev/null
  . /etc/gpudoctor/fleet.conf
fi
node=${SLURMD_NODENAME:-$(uname -n)}
node=${node%%.*}
case $node in '' | *[!A-Za-z0-9._-]*) exit 0 ;; esac
mkdir -p "$ROWS" || exit 0
new=$ROWS/.$node.$$
GPUDOCTOR_HOST=$node timeout 40 "$GPUDOCTOR" check --format row --output "$new" >/dev/null 2>&1
status=$?
if [ -s "$new" ]; then
  mv -f "$new" "$ROWS/$node.json" # readers see a whole row, the old one or the new one
else
  rm -f "$new"
fi
# 1: errors were found. Any other status (no answer in time, not installed) is no verdict on the node.
if [ "$status" = 1 ] && [ "$DRAIN" = yes ]; then
  jobs=$(squeue --noheader --nodelist "$node" --format %i 2>/dev/null) || exit 0
  if [ -z "$jobs" ]; then
    scontrol update NodeName="$node" State=DRAIN Reason="gpudoctor: errors; gpudoctor check on the node names them"
  fi
fi
exit 0
