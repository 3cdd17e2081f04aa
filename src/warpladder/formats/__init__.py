"""Files in, files out: readers and writers that know formats and no algorithms."""
