#!/bin/sh
# The batch script of every training job: Slurm signals this process, so the job takes its place.
exec "$@"
