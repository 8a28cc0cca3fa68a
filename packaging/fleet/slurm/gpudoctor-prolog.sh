#!/bin/sh
# Prolog of slurmd: a job does not begin on a node whose assigned devices cannot be used. Slurm then drains the node and queues the job again.
#
#   slurm.conf:  Prolog=/usr/local/sbin/gpudoctor-prolog.sh
#                PrologFlags=Alloc
#
# Only a certain answer stops a job: where gpudoctor is not installed, needs too long or cannot tell, the job begins.
# /etc/gpudoctor/fleet.conf may set GPUDOCTOR, as for gpudoctor-health-check.sh.
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
GPUDOCTOR=gpudoctor
if [ -r /etc/gpudoctor/fleet.conf ]; then
  # shellcheck source=/dev/null
  . /etc/gpudoctor/fleet.conf
fi
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0 # the job asked for no GPU
CUDA_VISIBLE_DEVICES=$SLURM_JOB_GPUS timeout 30 "$GPUDOCTOR" check --quick --device assigned >&2
[ $? = 1 ] && exit 1
exit 0
