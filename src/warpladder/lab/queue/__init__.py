"""Jobs for the queue of a shared machine: SLURM, or the SGE that HB submits to.

Read `request` first (what a job asks for, and its script), then `schedulers` (what SLURM and SGE
call that, and what they say of a job), and `jobs` (folders of jobs: submitted, watched, collected).
"""
